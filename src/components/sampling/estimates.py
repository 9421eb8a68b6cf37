"""Transforms that make returns and advantages of rewards."""

from typing import Any

import torch as th

from components.episode_batch import EpisodeBatch
from components.sampling.fields import require_fields, with_more
from utils import rl_utils


def n_step(
    batch: EpisodeBatch, context: Any, steps: int, gamma: float | None = None, greedy_only: bool = False
) -> EpisodeBatch:
    """Each entry's first step with up to `steps` rewards, and the state after them (Sutton & Barto 2018, section 7.1).

    Rewards are those of the valid transitions from the first on, discounted and added up; `terminated` and
    `truncated` are those of the last one. With `greedy_only` they stop before an action that was not greedy, of any
    agent (the field `action_was_greedy`); the first action may be any. New constant fields, for `mini_race`:

    - `discount`, float32 `[B]`: what the value of the state after them counts, gamma to their number;
    - `n_steps`, int64 `[B]`: their number;
    - `rewards`, `[B, steps, ...]`: cumulative, entry j with j + 1 rewards; from `n_steps` on as the last one;
    - `gammas`, float32 `[B, steps]`: gamma to the power j + 1;
    - `terminal_actions`, float32 `[B]`: actions to the end by termination; infinite if it is not in these steps.

    Returns:
        a batch of two time steps.

    Raises:
        ConfigError: decisions do not say whether they were greedy, and `greedy_only` needs that.
    """
    gamma = context.args.gamma if gamma is None else gamma
    valid = rl_utils.valid_transitions(batch)[:, :steps].squeeze(2)
    counted = valid.clone()
    if greedy_only:
        require_fields(batch, f"{context.key}: n_step.greedy_only", ["action_was_greedy"])
        greedy = batch["action_was_greedy"][:, 1 : valid.size(1)].flatten(2).amin(dim=2)
        counted[:, 1:] *= greedy
    taken = counted.cumprod(dim=1)
    number = taken.sum(dim=1).clamp(min=1).long()
    entries = th.arange(len(number), device=number.device)
    exponents = th.arange(taken.size(1), device=taken.device)
    weights = taken * gamma**exponents
    rewards = batch["reward"]
    rewards = (rewards[:, : taken.size(1)] * weights.view(*weights.shape, *[1] * (rewards.dim() - 2))).cumsum(dim=1)
    places = th.stack([th.zeros_like(number), number], dim=1)
    data = {key: x[entries.unsqueeze(1), places] for key, x in batch.data.transition_data.items()}
    data["reward"][:, 0] = rewards[entries, number - 1]
    for end in ("terminated", "truncated"):
        if end in data:
            data[end][:, 0] = batch[end][entries, number - 1]
    ended = batch["terminated"][:, : taken.size(1)].squeeze(2) * valid.cumprod(dim=1)
    known = {
        "discount": gamma ** number.float(),
        "n_steps": number,
        "rewards": rewards,
        "gammas": (gamma ** (exponents + 1.0)).float().expand(len(number), -1),
        "terminal_actions": th.where(ended.any(dim=1), ended.argmax(dim=1) + 1.0, th.inf),
    }
    first = batch[:, :2]
    first.data.transition_data = data
    more = with_more(first, {}, known)
    more.scheme["terminal_actions"]["infinite"] = True
    return more


def returns(batch: EpisodeBatch, context: Any, gamma: float | None = None) -> EpisodeBatch:
    """Adds `returns`, `[B, T, n]`: discounted rewards to the end of the episode, or of the batch.

    Where that is no termination, the field `value`, if there is one, counts for what follows.
    """
    gamma = context.args.gamma if gamma is None else gamma
    rewards, mask = rl_utils.rewards_of(batch), rl_utils.valid_transitions(batch)
    following = _values(batch)[:, 1:] if "value" in batch.scheme else th.zeros_like(rewards)
    ended = rl_utils.terminations(batch)
    found = rl_utils.n_step_returns(rewards, ended, mask, following, gamma, max(1, rewards.size(1)))
    return with_more(batch, {"returns": _with_a_last_step(found)})


def gae(
    batch: EpisodeBatch, context: Any, gae_lambda: float, gamma: float | None = None, normalise: bool = False
) -> EpisodeBatch:
    """Adds `advantages` and `returns`, `[B, T, n]`, by the values in `value` (see `utils.rl_utils.gae`).

    Args:
        normalise: scale advantages by their mean and population deviation + 1e-5 over the valid transitions.
    """
    gamma = context.args.gamma if gamma is None else gamma
    mask = rl_utils.valid_transitions(batch)
    found, targets = rl_utils.gae(
        rl_utils.rewards_of(batch), rl_utils.terminations(batch), mask, _values(batch), gamma, gae_lambda
    )
    if normalise:
        counted = found[mask.expand_as(found) > 0]
        found = (found - counted.mean()) / (counted.std(correction=0) + 1e-5) * mask
    return with_more(batch, {"advantages": _with_a_last_step(found), "returns": _with_a_last_step(targets)})


def _values(batch: EpisodeBatch) -> th.Tensor:
    """`[B, T, n]`."""
    values = batch["value"]
    return values.squeeze(3) if values.dim() == 4 else values


def _with_a_last_step(x: th.Tensor) -> th.Tensor:
    """Zeros for the last step, from which no transition starts."""
    return th.cat([x, th.zeros_like(x[:, :1])], dim=1)
