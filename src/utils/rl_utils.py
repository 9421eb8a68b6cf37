"""Targets and masks: what every learner needs, once."""

import torch as th


def valid_transitions(batch) -> th.Tensor:
    """Mask of the transitions that were really taken: float `[B, T - 1, 1]` for a batch of T columns.

    A transition counts if its step was filled and the episode had not ended before it. That leaves out the
    closing state, which is filled but where nothing was done: it follows a terminal step, or it is the last
    filled column of an episode that was truncated, whether at the episode limit or before it (PyMARL counts
    the latter, and trains on padding).
    """
    filled = batch["filled"].float()
    terminated = batch["terminated"].float()
    mask = filled[:, :-1].clone()
    mask[:, 1:] *= 1 - terminated[:, :-2]
    # a step that did not end the episode has a successor
    mask *= th.maximum(filled[:, 1:], terminated[:, :-1])
    if "truncated" in batch.scheme:
        mask[:, 1:] *= 1 - batch["truncated"][:, :-2].float()
    return mask


def episode_starts(batch) -> th.Tensor:
    """Where an episode begins within a rollout, its first column apart: bool `[B, T]` for a batch of T columns.

    A step that ends an episode is followed by the closing state, and that by the first state of the next episode.
    """
    ended = batch["terminated"].bool()
    if "truncated" in batch.scheme:
        ended = ended | batch["truncated"].bool()
    starts = th.zeros_like(ended)
    starts[:, 2:] = ended[:, :-2]
    return starts.squeeze(2)


def td_lambda_returns(
    rewards: th.Tensor,
    terminated: th.Tensor,
    mask: th.Tensor,
    next_values: th.Tensor,
    gamma: float,
    td_lambda: float,
) -> th.Tensor:
    """TD(lambda) targets (Sutton & Barto 2018, eq. 12.20, computed backwards).

    G[t] = r[t] + gamma (1 - terminated[t]) ((1 - lambda) V[t+1] + lambda G[t+1]), where G[t+1] is V[t+1] after
    the last valid transition, so that an episode that was truncated bootstraps from its last state.

    Args:
        rewards, terminated, mask: `[B, T, 1]`.
        next_values: V[t+1], `[B, T, n]`, n the number of agents or 1.

    Returns:
        `[B, T, n]`; 0 where the mask is.
    """
    returns = th.zeros_like(next_values)
    following = next_values[:, -1]
    for t in reversed(range(next_values.size(1))):
        value = next_values[:, t]
        if t + 1 < next_values.size(1):
            following = th.where(mask[:, t + 1] > 0, returns[:, t + 1], value)
        ahead = (1 - td_lambda) * value + td_lambda * following
        target = rewards[:, t] + gamma * (1 - terminated[:, t]) * ahead
        returns[:, t] = th.where(mask[:, t] > 0, target, 0.0)
    return returns


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
