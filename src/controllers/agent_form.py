"""The form of an agent's inputs: a row for each agent of each episode, or a separate axis for agents."""

import copy
from typing import Any

import torch as th

from controllers.hidden_states import for_all_agents


def wants_agent_axis(agent: Any, n_agents: int, input_shape: int, unless_clear: bool) -> bool:
    """Whether `agent` takes `[B, n, I]`, as PyMARL2's agents do, and not `[B * n, I]`, as PyMARL's.

    Both are tried on zeros with a copy, which changes neither weights nor random numbers.

    Args:
        agent: network with `init_hidden()` and `forward(inputs, hidden_states)`; None if it is not a single one.
        unless_clear: the answer if it takes neither.
    """
    rows = th.zeros(n_agents, input_shape)
    if rows.is_meta:
        return unless_clear  # built to count its weights: nothing will be put in
    if _takes(agent, rows, n_agents):
        return False
    return _takes(agent, rows.unsqueeze(0), n_agents) or unless_clear


def _takes(agent: Any, inputs: th.Tensor, n_agents: int) -> bool:
    with th.no_grad(), th.random.fork_rng(devices=[]):
        try:
            agent = copy.deepcopy(agent)
            agent(inputs, for_all_agents(agent.init_hidden(), 1, n_agents))
        except Exception:  # a user's network may raise anything on inputs of the wrong form
            return False
    return True
