"""The n-step returns that `q_nstep` and `add_value_last_step` ask for."""

from typing import Any

import torch as th

from utils.rl_utils import n_step_returns


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
