"""What a run asks of a controller beyond PyMARL's contract, and the answers of one that knows nothing of it."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch as th

from components.episode_batch import EpisodeBatch
from controllers.hidden_states import by_agent, fields_before, has_rows
from utils.completed import Completed
from utils.tensors.schemes import AGENTS, action_fields, field_before
from utils.tensors.tensor_trees import Tree, map_tree


class Controller:
    """The base of the built-in controllers. PyMARL's have `init_hidden`, `forward`, `select_actions` and weights.

    Attributes:
        hidden_states: the memory of all agents after the last step, `[B, n, H]` or a tree of such; None: there is none.
        supports_decide: `decide(batch, t, t_env, rows, test_mode)` is called in place of `select_actions`.
        supports_packing: `unroll_packed` gives the outputs of some steps only.
        supports_prepared: acting may take a prepared pass in place of `forward` (`controllers.prepared`).
        memoryless: its learner may take steps in any order.
        keeps_memory: batches have its memory after each decision.
        one_value: its network has one value of the environment, the same for every agent.
        input_fields: that it sees, beside observations, states and actions.
        normalisers: of the fields that it normalises.
        decision_fields: that batches must have of its decisions, as a learner's `batch_fields` declares them.
        taken_over: groups of agents that another model plays since the last rollout (`TeamControllers.renewed`).
        counts_episodes: its memory is laid out by the number of episodes that the last `init_hidden` was given.
    """

    agent: Any = None
    action_selector: Any = None
    hidden_states: Tree = None
    supports_decide = supports_packing = supports_prepared = False
    memoryless = keeps_memory = one_value = counts_episodes = False
    input_fields: Sequence[str] = ()
    normalisers: Mapping[str, Any] = {}
    decision_fields: Mapping[str, Mapping[str, Any]] = {}
    taken_over: frozenset[str] = frozenset()

    def known_before(self, hidden: Tree, acting: EpisodeBatch) -> dict[str, th.Tensor]:
        """Its inputs from before the present step of B environments, as fields of a rollout, `[B, n, ...]` each.

        Its memory `hidden`, and the actions before, which are in the first step of `acting`: zeros at the start of an
        episode.
        """
        memory = fields_before(hidden, acting.batch_size, acting.groups[AGENTS])
        return memory | {field_before(key): acting[key][:, 0] for key in action_fields(acting.scheme)}

    def before_actions(self) -> AbstractContextManager:
        """While it lasts, outputs are those of decisions, which do not know the actions of their step."""
        return nullcontext()

    def unroll(self, ep_batch: EpisodeBatch) -> tuple[th.Tensor, Tree]:
        """`init_hidden` and `forward` at every step: outputs `[B, T, n, A]`, hidden states `[B, T, n, H]`."""
        return unroll_by_steps(self, ep_batch)

    def packed_inputs(self, ep_batch: EpisodeBatch) -> Any:
        """Inputs for `unroll_packed`; None if it cannot be unrolled so."""
        return None

    def anneal(self, t_env: int) -> None:
        """Let the selector explore as much as it does after `t_env` steps."""
        if hasattr(self.action_selector, "anneal"):
            self.action_selector.anneal(t_env)

    @property
    def epsilons(self) -> dict[str, float]:
        """How much it explores, as statistics: "epsilon" if its selector has one."""
        epsilon = getattr(self.action_selector, "epsilon", None)
        return {} if epsilon is None else {"epsilon": epsilon}


class PlainController(Completed, Controller):
    """A controller of PyMARL's, or of the user's own."""


def controller(mac: Any) -> Any:
    """The controller itself; one of the user's own has from `Controller` what it lacks."""
    return mac if isinstance(mac, Controller) else PlainController.of(mac)


def unroll_by_steps(mac: Any, batch: EpisodeBatch, **options: Any) -> tuple[th.Tensor, Tree]:
    """`mac.init_hidden`, then `mac.forward(batch, t, **options)` at every step.

    Hidden states are collected where `hidden_states` has a row for each agent; a controller may keep its memory
    otherwise.
    """
    mac = controller(mac)
    mac.init_hidden(batch.batch_size)
    outputs, hidden = [], []
    for t in range(batch.max_seq_length):
        outputs.append(mac.forward(batch, t=t, **options))
        n_agents = outputs[-1].size(1)
        if has_rows(mac.hidden_states, batch.batch_size * n_agents):
            hidden.append(by_agent(mac.hidden_states, batch.batch_size, n_agents))
    return th.stack(outputs, dim=1), stacked(hidden) if hidden else None


def stacked(states: list[Tree]) -> Tree:
    """The memories of T steps, leaves `[B, n, H]`, as `[B, T, n, H]`."""
    return map_tree(lambda *leaves: th.stack(leaves, dim=1), *states)
