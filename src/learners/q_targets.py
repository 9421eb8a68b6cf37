"""Values, means and targets that several learners share."""

from typing import Any

import torch as th

from utils.rl_utils import n_step_returns

# PyMARL's value of an illegal action: finite, since padding times a mask of 0 must stay 0
ILLEGAL = -9999999.0
# a sum of weights that divides nothing but 0
SMALLEST = 1e-30


def legal_values(values: th.Tensor, avail_actions: th.Tensor) -> th.Tensor:
    """Action values with illegal ones far below any legal one, same shape `[..., A]`."""
    return values.masked_fill(avail_actions == 0, ILLEGAL)


def gather_actions(values: th.Tensor, actions: th.Tensor) -> th.Tensor:
    """Values `[..., n, A]` of the actions `[..., n, 1]` -> `[..., n]`."""
    return values.gather(dim=-1, index=actions).squeeze(-1)


def masked_mean(x: th.Tensor, mask: th.Tensor) -> th.Tensor:
    """Mean of `x` over the entries where `mask`, of the same shape or a larger one, is 1; weighted by other values.

    Where the mask is 0 everywhere it is 0: nobody had a choice in these frames.
    """
    return (x * mask).sum() / mask.sum().clamp(min=SMALLEST)


def values_of_present(agent_qs: th.Tensor, unroll: Any) -> th.Tensor:
    """Values `[*steps, n]` of an unrolled batch for a mixer: 0 of agents that are not there."""
    if "present" not in unroll.batch.scheme:
        return agent_qs
    return agent_qs * unroll.take(unroll.batch["present"]).squeeze(-1)


def n_step_targets(
    rewards: th.Tensor, terminated: th.Tensor, mask: th.Tensor, values: th.Tensor, args: Any
) -> th.Tensor:
    """Returns of `q_nstep` rewards and the value after them, `[B, T, n]`.

    Episodes that were cut off continue with the value of their last state, terminated ones end. With
    `add_value_last_step` they are EPyMARL's: every entry is one episode up to the batch's last step, with rewards and
    values of 0 in padding, and ends with the value of that step (True) or without one (False).

    Args:
        rewards, terminated, mask: `[B, T, 1]` or, by agent, `[B, T, n]`.
        values: V of all states, `[B, T + 1, n]`.
    """
    steps = min(args.q_nstep, rewards.size(1))
    if args.add_value_last_step is None:
        return n_step_returns(rewards, terminated, mask, values[:, 1:], args.gamma, steps)
    always = th.ones_like(mask)
    reached = th.cat([mask[:, 1:], always[:, :1] * args.add_value_last_step], dim=1)
    return n_step_returns(rewards * mask, 1 - always, always, values[:, 1:] * reached, args.gamma, steps)
