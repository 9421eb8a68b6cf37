"""Targets and masks, common to all learners."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch as th
import torch.nn.functional as F

from utils.numbers.running_statistics import RunningMeanStd  # noqa: F401 - PyMARL2 has it here
from utils.tensors.recurrence import from_the_end


def valid_transitions(batch, by_agent: bool = False) -> th.Tensor:
    """Mask of the transitions that were really taken: float `[B, T - 1, 1]` for a batch of T steps.

    A transition counts if its step was filled and the episode had not ended before it. That leaves out the
    closing state, which is filled but where nothing was done: it follows a terminal step, or it is the last
    filled step of an episode that was truncated, whether at the episode limit or before it (PyMARL counts
    the latter, and trains on padding).

    With `by_agent`, a batch that knows more of its agents ("present", "agents/terminated", "agents/truncated",
    `[B, T, n, 1]` each) has a mask `[B, T - 1, n]`: an agent's transition counts if the agent was present, had not
    ended in the step before, and either ends here by termination or is present in the next step, which after a
    truncation holds its closing observation.
    """
    filled = batch["filled"].float()
    terminated = batch["terminated"].float()
    # a step that did not end the episode has a successor
    mask = filled[:, :-1] * th.maximum(filled[:, 1:], terminated[:, :-1])
    if filled.size(1) > 2:  # single transitions have nothing before them
        mask[:, 1:] *= 1 - terminated[:, :-2]
        if "truncated" in batch.scheme:
            mask[:, 1:] *= 1 - batch["truncated"][:, :-2].float()
    if not by_agent:
        return mask
    for key in ("agents/terminated", "agents/truncated"):
        if key in batch.scheme:
            ended = batch[key].squeeze(3).float()
            mask = mask * (1 - th.cat([th.zeros_like(ended[:, :1]), ended[:, :-2]], dim=1))
    if "present" in batch.scheme:
        present = batch["present"].squeeze(3).float()
        mask = mask * present[:, :-1] * th.maximum(present[:, 1:], terminations(batch, by_agent=True))
    return mask


def terminations(batch, by_agent: bool = False) -> th.Tensor:
    """1 at the steps after which there is nothing to come: float `[B, T - 1, 1]` for a batch of T steps.

    With `by_agent`, a batch with "agents/terminated" has `[B, T - 1, n]`: the agent or the whole episode ended.
    """
    terminated = batch["terminated"][:, :-1].float()
    if by_agent and "agents/terminated" in batch.scheme:
        return th.maximum(terminated, batch["agents/terminated"][:, :-1].squeeze(3).float())
    return terminated


def rewards_of(batch) -> th.Tensor:
    """The rewards of a batch of T steps: the team's `[B, T - 1, 1]`, or those of its agents `[B, T - 1, n]`."""
    rewards = batch["reward"][:, :-1]
    return rewards.squeeze(3) if rewards.dim() == 4 else rewards


def discount_of(batch, gamma: float) -> float | th.Tensor:
    """What the value of the next step counts: `gamma`, or the field "discount" of n-step samples, `[B, 1]`."""
    return batch["discount"].unsqueeze(1) if "discount" in batch.scheme else gamma


def episode_starts(batch) -> th.Tensor:
    """The starts of episodes within a rollout, without its first step: bool `[B, T]` for a batch of T steps.

    A step that ends an episode is followed by the closing state, and that by the first state of the next episode. A
    step that is not filled is of an episode that was lost; the next episode starts after it. A part of a rollout has
    its starts in the field "starts" (`components.sampling.parts`).
    """
    if "starts" in batch.scheme:
        return batch["starts"].bool().squeeze(2)
    ended = batch["terminated"].bool()
    if "truncated" in batch.scheme:
        ended = ended | batch["truncated"].bool()
    starts = th.zeros_like(ended)
    starts[:, 2:] = ended[:, :-2]
    filled = batch["filled"].bool()
    starts[:, 1:] |= filled[:, 1:] & ~filled[:, :-1]
    return starts.squeeze(2)


def memory_starts(batch) -> th.Tensor:
    """`episode_starts`, bool `[B, T]`; of agents that are streams, `[B, T, n]`: where `begins` says that they start."""
    if "starts" in batch.scheme:
        starts = batch["starts"].bool()
        return starts.squeeze(2) if starts.size(2) == 1 else starts
    return batch["begins"].bool().squeeze(3) if "begins" in batch.scheme else episode_starts(batch)


def td_lambda_returns(
    rewards: th.Tensor,
    terminated: th.Tensor,
    mask: th.Tensor,
    next_values: th.Tensor,
    gamma: float | th.Tensor,
    td_lambda: float | th.Tensor,
) -> th.Tensor:
    """TD(lambda) targets (Sutton & Barto 2018, eq. 12.20, computed backwards).

    G[t] = r[t] + gamma (1 - terminated[t]) ((1 - lambda) V[t+1] + lambda G[t+1]), where G[t+1] is V[t+1] after
    the last valid transition: a truncated episode bootstraps from its last state.

    Args:
        rewards, terminated, mask: `[B, T, 1]` or, by agent, `[B, T, n]`.
        next_values: V[t+1], `[B, T, n]`, n the number of agents or 1.
        gamma: one for all, or of each episode, `[B, 1]` (`discount_of`).
        td_lambda: one for all, or of each step, `[B, T, n]`.

    Returns:
        `[B, T, n]`; 0 where the mask is.
    """
    gamma = gamma.unsqueeze(1) if isinstance(gamma, th.Tensor) else gamma
    valid = mask > 0
    # what does not need the step after is computed for all steps at once
    parts = (rewards, gamma * (1 - terminated), (1 - td_lambda) * next_values, next_values, valid)
    find = _lambda_returns_by_steps if next_values.device.type == "cpu" else _lambda_returns_by_doubling
    return th.where(valid, find(*parts, td_lambda).to(next_values.dtype), 0.0)


def _lambda_returns_by_steps(
    rewards: th.Tensor,
    discount: th.Tensor,
    share: th.Tensor,
    values: th.Tensor,
    valid: th.Tensor,
    td_lambda: float | th.Tensor,
) -> th.Tensor:
    of_steps = [td_lambda] if isinstance(td_lambda, th.Tensor) else []
    parts = [x.transpose(0, 1) for x in (rewards, discount, share, values, valid, *of_steps)]
    # a call of NumPy's takes a fraction of one of torch's, and both round alike
    in_numpy = not any(x.requires_grad for x in parts)
    where: Any = np.where if in_numpy else th.where
    by_step: Iterator[list[Any]] = (list(x.numpy() if in_numpy else x) for x in parts)
    reward, discounts, shares, value, counts, *rest = by_step
    lambdas = rest[0] if rest else [td_lambda] * len(value)
    returns: list[Any] = []
    for t in reversed(range(len(value))):
        following = where(counts[t + 1], returns[-1], value[t]) if returns else value[t]
        returns.append(reward[t] + discounts[t] * (shares[t] + lambdas[t] * following))
    return th.from_numpy(np.stack(returns[::-1], axis=1)) if in_numpy else th.stack(returns[::-1], dim=1)


def _lambda_returns_by_doubling(
    rewards: th.Tensor,
    discount: th.Tensor,
    share: th.Tensor,
    values: th.Tensor,
    valid: th.Tensor,
    td_lambda: float | th.Tensor,
) -> th.Tensor:
    """The same up to rounding, in few operations: on a GPU, each takes longer than its arithmetic."""
    goes_on = valid & F.pad(valid[:, 1:], (0, 0, 0, 1))
    ends = rewards + discount * (share + td_lambda * values.masked_fill(goes_on, 0.0))
    # steps that do not count are left out, whatever they have
    return from_the_end((td_lambda * discount).masked_fill(~goes_on, 0.0)[:, :-1], th.where(valid, ends, 0.0))


def n_step_returns(
    rewards: th.Tensor, terminated: th.Tensor, mask: th.Tensor, next_values: th.Tensor, gamma: float, n_steps: int
) -> th.Tensor:
    """Returns of `n_steps` rewards and the value after them (Sutton & Barto 2018, eq. 7.1).

    G[t] = r[t] + gamma r[t+1] + ... + gamma^m V[t+m], where m is `n_steps` or, if there are fewer, the number of
    valid transitions from t on; without the value if the last of them is terminal.

    Args:
        rewards, terminated, mask: `[B, T, 1]` or, by agent, `[B, T, n]`.
        next_values: V[t+1], `[B, T, n]`, n the number of agents or 1.
        n_steps: 1 or more.

    Returns:
        `[B, T, n]`; 0 where the mask is.
    """
    discount = gamma * (1 - terminated)
    goes_on = th.zeros_like(next_values, dtype=th.bool)
    goes_on[:, :-1] = mask[:, 1:] > 0
    returns = rewards + discount * next_values
    for _ in range(n_steps - 1):
        later = th.cat([returns[:, 1:], next_values[:, -1:]], dim=1)
        returns = rewards + discount * th.where(goes_on, later, next_values)
    return th.where(mask > 0, returns, 0.0)


def gae(
    rewards: th.Tensor, terminated: th.Tensor, mask: th.Tensor, values: th.Tensor, gamma: float, gae_lambda: float
) -> tuple[th.Tensor, th.Tensor]:
    """Generalised advantage estimates (Schulman et al. 2016, eq. 16) and the TD(lambda) returns behind them.

    A[t] = delta[t] + gamma lambda A[t+1] with delta[t] = r[t] + gamma V[t+1] - V[t] is G[t] - V[t]. Nothing follows a
    terminal step; an episode that was truncated bootstraps from its last state.

    Args:
        rewards, terminated, mask: `[B, T, 1]` or, by agent, `[B, T, n]`.
        values: V of all states, `[B, T + 1, n]`, n the number of agents or 1.

    Returns:
        advantages and returns, `[B, T, n]`; 0 where the mask is.
    """
    returns = td_lambda_returns(rewards, terminated, mask, values[:, 1:], gamma, gae_lambda)
    return th.where(mask > 0, returns - values[:, :-1], 0.0), returns


def build_td_lambda_targets(
    rewards: th.Tensor,
    terminated: th.Tensor,
    mask: th.Tensor,
    target_qs: th.Tensor,
    n_agents: int,
    gamma: float,
    td_lambda: float,
) -> th.Tensor:
    """PyMARL's call of `td_lambda_returns`: `target_qs` `[B, T + 1, n]` are the values of all states, V[0] unused."""
    return td_lambda_returns(rewards, terminated, mask, target_qs[:, 1:], gamma, td_lambda)


def legal_policy(policy: th.Tensor, avail_actions: th.Tensor) -> th.Tensor:
    """Probabilities `[..., A]` over the legal actions only, of sum 1; zeros where nothing is legal (padding)."""
    legal = policy.masked_fill(avail_actions == 0, 0.0)
    total = legal.sum(dim=-1, keepdim=True)
    return legal / total.masked_fill(total == 0, 1.0)


def build_q_lambda_targets(
    rewards: th.Tensor,
    terminated: th.Tensor,
    mask: th.Tensor,
    exp_qvals: th.Tensor,
    qvals: th.Tensor,
    gamma: float,
    td_lambda: float,
) -> th.Tensor:
    """Q(lambda) targets (Harutyunyan et al. 2016), in PyMARL2's call: `td_lambda_returns` with corrected rewards.

    A step's reward is r[t] + E[t] - Q[t]: plus the policy's expected value of the state, minus the chosen action's.

    Args:
        rewards, terminated, mask: `[B, T, 1]`.
        exp_qvals: E, the values of the states under the target policy, `[B, T + 1, n]`.
        qvals: Q, the values of the actions taken, `[B, T + 1, n]`.

    Returns:
        `[B, T, n]`; 0 where the mask is.
    """
    corrected = rewards + exp_qvals[:, :-1] - qvals[:, :-1]
    return td_lambda_returns(corrected, terminated, mask, exp_qvals[:, 1:], gamma, td_lambda)


def build_gae_targets(
    rewards: th.Tensor, masks: th.Tensor, values: th.Tensor, gamma: float, lambd: float
) -> tuple[th.Tensor, th.Tensor]:
    """Generalised advantage estimates (Schulman et al. 2016, eq. 16) and their returns, in PyMARL2's call.

    A[t] = delta[t] + gamma lambda masks[t] A[t+1] with delta[t] = r[t] + gamma masks[t] V[t+1] - V[t].

    Args:
        rewards: `[B, T, ...]`.
        masks: 1 where something follows the step: where it was taken and did not end the episode. PyMARL2's PPO passes
            the mask of taken steps, hence its terminal steps bootstrap.
        values: V, `[B, T + 1, ...]`.

    Returns:
        advantages, and advantages + values: both `[B, T, ...]`.
    """
    now, following = values[:, :-1], values[:, 1:]
    deltas = rewards + gamma * masks * following - now
    if now.device.type != "cpu":
        advantages = from_the_end(gamma * lambd * masks[:, :-1], deltas)
        return advantages, advantages + now
    advantages = th.zeros_like(now)
    later = th.zeros_like(now[:, 0])
    for t in reversed(range(now.size(1))):
        later = deltas[:, t] + gamma * lambd * masks[:, t] * later
        advantages[:, t] = later
    return advantages, advantages + now


def build_target_q(
    td_q: th.Tensor, target_q: th.Tensor, mac: th.Tensor, mask: th.Tensor | None, gamma: float, td_lambda: float, n: int
) -> th.Tensor:
    """Tree-backup targets of n steps (Precup et al. 2000; DOP, Wang et al. 2021), in PyMARL2's call.

    Q[t] + sum over k < n of (gamma lambda)^k delta[t+k] prod_{j=1..k} pi[t+j].

    Args:
        td_q: delta, expected TD errors `[B, T, ...]`; 0 in padding.
        target_q: Q, the values of the actions taken, `[B, T, ...]`.
        mac: pi, the probabilities of the actions taken, `[B, T + 1, ...]`.
        mask: not used; `td_q` is masked.

    Returns:
        `[B, T, ...]`.
    """
    length = td_q.size(1)
    targets = target_q.clone()
    weight = th.ones_like(td_q)
    for k in range(min(n, length)):
        # weight[:, t]: how likely the k actions after step t are, for the steps that have k others after them
        targets[:, : length - k] += (gamma * td_lambda) ** k * weight * td_q[:, k:]
        weight = weight[:, :-1] * mac[:, k + 1 : length]
    return targets


def categorical_entropy(probs: th.Tensor) -> th.Tensor:
    """Entropy in nats of distributions `[..., A]` -> `[...]`; weights are scaled to sum 1, rows of zeros have 0.

    Raises:
        ValueError: a single action.
    """
    _require_choice(probs)
    total = probs.sum(dim=-1, keepdim=True)
    probs = probs / total.masked_fill(total == 0, 1.0)
    # a floor for the logarithm: actions of probability 0 leave no NaN in the gradient
    return -(probs * probs.clamp(min=th.finfo(probs.dtype).eps).log()).sum(dim=-1)


def multinomial_entropy(logits: th.Tensor) -> th.Tensor:
    """Entropy in nats of the softmax of logits `[..., A]` -> `[...]`.

    Raises:
        ValueError: a single action.
    """
    _require_choice(logits)
    return categorical_entropy(th.softmax(logits, dim=-1))


def _require_choice(actions: th.Tensor) -> None:
    if actions.size(-1) < 2:
        raise ValueError(f"An entropy needs two actions at least, not {actions.size(-1)}.")
