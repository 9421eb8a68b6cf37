"""Values, means and targets that several learners share."""

from typing import Any

import torch as th

from controllers.unroll import BatchUnroll
from utils.rl_utils import discount_of, legal_policy, rewards_of, td_lambda_returns, terminations
from utils.tensors.contracts import require_shape

# PyMARL's value of an illegal action: finite, since padding times a mask of 0 must stay 0
ILLEGAL = -9999999.0
# a sum of weights that divides nothing but 0
SMALLEST = 1e-30
# rewards and targets of Q-learning, `[B, T - 1, 1 or n]` each
Learned = tuple[th.Tensor, th.Tensor]


def legal_values(values: th.Tensor, avail_actions: th.Tensor) -> th.Tensor:
    """Action values with illegal ones far below any legal one, same shape `[..., A]`."""
    return values.masked_fill(avail_actions == 0, ILLEGAL)


def gather_actions(values: th.Tensor, actions: th.Tensor) -> th.Tensor:
    """Values `[..., n, A]` of the actions `[..., n, 1]` -> `[..., n]`."""
    return values.gather(dim=-1, index=actions).squeeze(-1)


def soft_mean(values: th.Tensor, chooser: th.Tensor, temperature: float) -> th.Tensor:
    """The mean of values `[*steps, n, A]` under the chooser's softmax (mean-field Q, Yang et al. 2018, eq. 10)."""
    return ((chooser / temperature).softmax(dim=-1) * values).sum(dim=-1)


def masked_mean(x: th.Tensor, mask: th.Tensor) -> th.Tensor:
    """Mean of `x` over the entries where `mask`, of the same shape or a larger one, is 1; weighted by other values.

    Where the mask is 0 everywhere it is 0: nobody had a choice in these frames.
    """
    return (x * mask).sum() / mask.sum().clamp(min=SMALLEST)


def episode_priorities(td_error: th.Tensor, mask: th.Tensor) -> th.Tensor:
    """Of episodes, `[B]`: the sum of their absolute errors by the root of their number (PyMARL2)."""
    return (td_error.abs() * mask).flatten(1).sum(dim=1) / mask.flatten(1).sum(dim=1).clamp(min=1).sqrt()


def lambda_returns(batch: Any, mask: th.Tensor, following: th.Tensor, gamma: float, td_lambda: float) -> th.Tensor:
    """TD(lambda) returns `[B, T, 1]` of a batch of T + 1 steps, from values of the team after each step."""
    discount = discount_of(batch, gamma)
    return td_lambda_returns(rewards_of(batch), terminations(batch), mask, following, discount, td_lambda)


def policies(learner: Any, batch: Any) -> th.Tensor:
    """The probabilities of legal actions that the learner's policies have at all steps of a batch, `[B, T, n, A]`."""
    unroll = BatchUnroll(batch, learner.mac)
    return unroll.spread(legal_policy(learner._forward(unroll.outputs, learner.mac), unroll.avail_actions))


def mix(learner: Any, mixer: Any, agent_qs: th.Tensor, states: th.Tensor, *seen: th.Tensor) -> th.Tensor:
    """The team's values `[B, T, 1]` by a mixer, of the agents' `[B, T, n]` and of states `[B, T, S]`.

    `seen`: what else the mixer takes, see `learners.mixing`.

    Raises:
        MusterError: the mixer returns another shape.
    """
    mixed = learner._forward(mixer, agent_qs, states, *seen)
    sizes = {"B": agent_qs.size(0), "T": agent_qs.size(1), "1": 1}
    require_shape(f"mixer={learner.args.mixer}", mixed, sizes)
    return mixed


def values_of_present(agent_qs: th.Tensor, unroll: Any) -> th.Tensor:
    """Values `[*steps, n]` of an unrolled batch for a mixer: 0 of agents that are not there."""
    if "present" not in unroll.batch.scheme:
        return agent_qs
    return agent_qs * unroll.take(unroll.batch["present"]).squeeze(-1)
