"""The form of an agent's inputs: a row for each agent of each episode, or a separate axis for agents.

And where agents with weights of their own have their rows.
"""

import copy
from typing import Any

import torch as th

from controllers.hidden_states import for_all_agents
from controllers.inputs import StepInputs
from modules.unshared import FIRST, LAST_BUT_ONE, PerAgent, rows_in, weights_of
from utils.errors import ConfigError
from utils.tensors.tensor_trees import leaves, map_tree

# of the trial; more than one, and odd, so that rows of episodes are not taken for those of agents
EPISODES = 3


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


def find_own_rows(agent: Any, shared: Any, n_agents: int, shapes: Any, agent_axis: bool) -> None:
    """Find out which rows of its inputs an unshared network's layers take for whose, and let it compute by that.

    Its outputs are compared with those of a network for each agent, on random inputs, with copies in the mode of tests.

    Args:
        agent: the network; its layers may see inputs of more axes than it takes itself.
        shared: the same one, with weights that all agents share.
        shapes: I, how many numbers an agent sees; or the shape of each part, for an agent that takes parts.
        agent_axis: whether it takes `[B, n, I]`.

    Raises:
        ConfigError: with neither order of rows, agents have their own weights only.
    """
    if next(agent.parameters()).is_meta:
        return  # built to count its weights: nothing will be put in
    trial, alone = copy.deepcopy(agent).eval(), copy.deepcopy(shared).eval()
    with th.no_grad(), th.random.fork_rng(devices=[]):
        inputs = _random_inputs(shapes, EPISODES * n_agents)
        for weight in trial.parameters():  # at first all agents have the same, in some layers
            weight.add_(th.randn_like(weight))
        try:
            expected = [_separately(alone, trial, i, n_agents, inputs, agent_axis) for i in range(n_agents)]
        except Exception:  # a user's network may know the number of agents: it cannot be one of a single agent
            if _layers_see_rows(trial, inputs, n_agents, agent_axis):
                return
            expected = []
        for axis in (LAST_BUT_ONE, FIRST):
            rows_in(trial, axis)
            try:
                found = _outputs(trial, inputs, EPISODES, n_agents, agent_axis)
            except Exception:  # rows that do not divide among the agents
                continue
            if expected and all(_equal(_of_agent(found, i, n_agents), own) for i, own in enumerate(expected)):
                rows_in(agent, axis)
                return
    raise ConfigError(
        f"share_params=False: {type(agent).__name__} lets agents compute with the weights of others. Its layers take "
        "[rows, F], [..., rows, F] or [rows, ..., F], where row b * n + i is that of agent i of n. Use "
        "share_params=True."
    )


def _layers_see_rows(trial: Any, inputs: Any, n_agents: int, agent_axis: bool) -> bool:
    """Whether all inputs of its layers are `[rows, F]`, or as it takes them itself."""
    axes: set[int] = set()
    layers = [module for module in trial.modules() if isinstance(module, PerAgent)]
    hooks = [layer.register_forward_pre_hook(lambda _, given: axes.add(given[0].dim())) for layer in layers]
    try:
        _outputs(trial, inputs, EPISODES, n_agents, agent_axis)
    except Exception:  # as in `wants_agent_axis`
        return True
    finally:
        for hook in hooks:
            hook.remove()
    return max(axes, default=2) <= 2 + agent_axis


def _random_inputs(shapes: Any, rows: int) -> Any:
    th.default_generator.manual_seed(0)  # of the CPU only: a GPU's generator is not forked here
    if isinstance(shapes, int):
        return th.randn(rows, shapes)
    parts = {key: th.rand(rows, *shape) for key, shape in shapes.items()}
    others = parts.pop("others", None)
    return StepInputs(parts, others)


def _rows_of(inputs: Any, which: slice) -> Any:
    if isinstance(inputs, th.Tensor):
        return inputs[which]
    others = None if inputs.others is None else inputs.others[which]
    return StepInputs({key: x[which] for key, x in inputs.observations.items()}, others)


def _outputs(agent: Any, inputs: Any, episodes: int, n_agents: int, agent_axis: bool) -> list[th.Tensor]:
    """Outputs and memory after a step, from a random memory: `[rows, ...]` each."""
    initial = for_all_agents(agent.init_hidden(), episodes, n_agents)
    th.default_generator.manual_seed(1)  # an agent that draws random numbers draws the same
    inputs = inputs.unflatten(0, (episodes, n_agents)) if agent_axis else inputs
    outputs, memory = agent(inputs, initial)
    rows = episodes * n_agents
    return [x.reshape(rows, -1) for x in (outputs, *(leaf for _, leaf in leaves(map_tree(th.Tensor.detach, memory))))]


def _separately(alone: Any, agent: Any, i: int, n_agents: int, inputs: Any, agent_axis: bool) -> list[th.Tensor]:
    """Of agent i, by a network of its own."""
    alone.load_state_dict(weights_of(agent, i), strict=False)  # constants are alike
    return _outputs(alone, _rows_of(inputs, slice(i, None, n_agents)), EPISODES, 1, agent_axis)


def _of_agent(outputs: list[th.Tensor], i: int, n_agents: int) -> list[th.Tensor]:
    return [x[i::n_agents] for x in outputs]


def _equal(ones: list[th.Tensor], others: list[th.Tensor]) -> bool:
    return all(th.allclose(one, other, rtol=1e-3, atol=1e-4) for one, other in zip(ones, others, strict=True))
