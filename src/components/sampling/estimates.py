"""Units that make returns and advantages of rewards."""

from typing import Any

import torch as th

from components.episode_batch import EpisodeBatch
from components.sampling.fields import with_more
from utils import rl_utils


def n_step(batch: EpisodeBatch, info: Any, steps: int, gamma: float | None = None) -> EpisodeBatch:
    """Rows' first step with up to `steps` rewards, and the state after them (Sutton & Barto 2018, section 7.1).

    Rewards are those of the valid transitions from the first on, discounted and added up; `terminated` and
    `truncated` are those of the last one. The constant field `discount`, float32 `[B]`, is what the value of the state
    after them counts: gamma to their number.

    Returns:
        a batch of two columns.
    """
    gamma = info.args.gamma if gamma is None else gamma
    valid = rl_utils.valid_transitions(batch)[:, :steps].squeeze(2)
    taken = valid.cumprod(dim=1)
    number = taken.sum(dim=1).clamp(min=1).long()
    rows = th.arange(len(number), device=number.device)
    weights = taken * gamma ** th.arange(taken.size(1), device=taken.device)
    rewards = batch["reward"]
    total = (rewards[:, : taken.size(1)] * weights.view(*weights.shape, *[1] * (rewards.dim() - 2))).sum(dim=1)
    columns = th.stack([th.zeros_like(number), number], dim=1)
    data = {key: x[rows.unsqueeze(1), columns] for key, x in batch.data.transition_data.items()}
    data["reward"][:, 0] = total
    for end in ("terminated", "truncated"):
        if end in data:
            data[end][:, 0] = batch[end][rows, number - 1]
    first = batch[:, :2]
    first.data.transition_data = data
    return with_more(first, {}, {"discount": gamma ** number.float()})


def returns(batch: EpisodeBatch, info: Any, gamma: float | None = None) -> EpisodeBatch:
    """Adds `returns`, `[B, T, n]`: discounted rewards to the end of the episode, or of the batch.

    Where that is no termination, the field `value`, if there is one, counts for what follows.
    """
    gamma = info.args.gamma if gamma is None else gamma
    rewards, mask = rl_utils.rewards_of(batch), rl_utils.valid_transitions(batch)
    following = _values(batch)[:, 1:] if "value" in batch.scheme else th.zeros_like(rewards)
    ended = rl_utils.terminations(batch)
    found = rl_utils.n_step_returns(rewards, ended, mask, following, gamma, max(1, rewards.size(1)))
    return with_more(batch, {"returns": _with_a_last_column(found)})


def gae(
    batch: EpisodeBatch, info: Any, gae_lambda: float, gamma: float | None = None, normalise: bool = False
) -> EpisodeBatch:
    """Adds `advantages` and `returns`, `[B, T, n]`, by the values in `value` (see `utils.rl_utils.gae`).

    Args:
        normalise: scale advantages by their mean and population deviation + 1e-5 over the valid transitions.
    """
    gamma = info.args.gamma if gamma is None else gamma
    mask = rl_utils.valid_transitions(batch)
    found, targets = rl_utils.gae(
        rl_utils.rewards_of(batch), rl_utils.terminations(batch), mask, _values(batch), gamma, gae_lambda
    )
    if normalise:
        counted = found[mask.expand_as(found) > 0]
        found = (found - counted.mean()) / (counted.std(correction=0) + 1e-5) * mask
    return with_more(batch, {"advantages": _with_a_last_column(found), "returns": _with_a_last_column(targets)})


def _values(batch: EpisodeBatch) -> th.Tensor:
    """`[B, T, n]`."""
    values = batch["value"]
    return values.squeeze(3) if values.dim() == 4 else values


def _with_a_last_column(x: th.Tensor) -> th.Tensor:
    """Zeros for the last column, from which no transition starts."""
    return th.cat([x, th.zeros_like(x[:, :1])], dim=1)
