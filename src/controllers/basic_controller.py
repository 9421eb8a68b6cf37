"""The controller that shares one network between all agents."""

import copy
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import torch as th

from components.action_selectors import REGISTRY as action_REGISTRY
from components.decision_fields import remembered_fields
from components.fixed_batch import FixedBatch
from components.packing import PackedSteps
from controllers import REGISTRY
from controllers.agent_form import find_own_rows, wants_agent_axis
from controllers.contract import unroll_by_steps
from controllers.decisions import Decision, Extra, best_of, extras_of_choice
from controllers.hidden_states import for_all_agents
from controllers.inputs import AgentInputs, PackedInputs, RowInputs
from controllers.one_network import OneNetwork
from controllers.prepared import PreparedPasses
from controllers.unroll import all_steps, sequences_with_starts
from envs.contract.fields import EXPLORES
from modules.agents import REGISTRY as agent_REGISTRY
from modules.noisy import has_noise, reset_noise
from modules.policies.distributions import Categorical, Joint
from modules.unshared import unshare
from utils.config.merging import with_defaults
from utils.rl_utils import legal_policy, memory_starts
from utils.tensors.contracts import require_outputs, require_shape
from utils.tensors.schemes import is_rollout
from utils.tensors.shared_rows import shared_sequences
from utils.tensors.tensor_trees import Tree, is_tree, map_tree

if TYPE_CHECKING:  # a file of PyMARL's may take its place, which has no such name
    from components.action_selectors import ActionSelector


class BasicMAC(OneNetwork):
    """Observations (+ last actions, + agent ids) of all agents -> outputs of the shared agent -> actions.

    Shapes: B episodes, T steps, n agents, A actions, H hidden units. With `agent_output_type: pi_logits` the
    outputs are probabilities with an epsilon floor; with `q` they are action values.
    """

    # whether outputs of all steps may be computed at once, and those of filled steps alone; whether to call `decide`
    supports_unroll = supports_packing = supports_decide = True
    # whether acting may take a prepared pass in place of `forward`
    supports_prepared = True
    # the agent before it had weights for each agent, while that is being checked
    _shared_agent: Any = None

    def __init_subclass__(cls, **options: Any) -> None:
        """A subclass with its own inputs or outputs is unrolled step by step; one with its own `select_actions` acts by
        that."""
        super().__init_subclass__(**options)
        if "supports_unroll" not in vars(cls):
            cls.supports_unroll = cls.forward is BasicMAC.forward and cls._build_inputs is BasicMAC._build_inputs
        if "supports_prepared" not in vars(cls):
            cls.supports_prepared = cls.forward is BasicMAC.forward and cls._build_inputs is BasicMAC._build_inputs
        if "supports_packing" not in vars(cls):
            cls.supports_packing = cls.supports_unroll and cls.unroll is BasicMAC.unroll
        if "supports_decide" not in vars(cls):
            own_decision = cls.decide is not BasicMAC.decide
            cls.supports_decide = own_decision or cls.select_actions is BasicMAC.select_actions

    def __init__(self, scheme, groups, args):
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self.n_agents = args.n_agents
        # whether batches keep its memory after each decision
        self.keeps_memory = args.keep_memory
        self.inputs = AgentInputs(scheme, args)
        input_shape = self._get_input_shape(scheme)
        self._build_agents(input_shape)
        self._noisy = has_noise(self.agent)
        self._takes_parts = getattr(self.agent, "takes_parts", False)
        self._agent_axis = not self._takes_parts and wants_agent_axis(
            self.agent, self.n_agents, input_shape, unless_clear=type(self).forward is not BasicMAC.forward
        )
        if self._shared_agent is not None:
            shapes = self.inputs.shapes if self._takes_parts else input_shape
            find_own_rows(self.agent, self._shared_agent, self.n_agents, shapes, self._agent_axis)
            self._shared_agent = None
        self.agent_output_type = args.agent_output_type
        self.action_selector = self._build_selector()
        self.hidden_states = None
        self._prepared = PreparedPasses(self)

    def select_actions(self, ep_batch, t_ep: int, t_env: int, bs=slice(None), test_mode: bool = False):
        """Actions at step `t_ep` of the episodes `bs`: int64 `[len(bs), n]`. No gradient is kept.

        Returns the selector's value: for some, the actions and their probabilities. If the batch has fields for extras
        of the decision, returns the actions and a dict of the available ones.
        """
        fields = [key for key, info in ep_batch.scheme.items() if info.get("decision")]
        returned, *asked = self._choose(ep_batch, t_ep, t_env, bs, test_mode)
        if not fields:
            return returned
        decision = self._explained(returned, *asked)
        return decision.actions["actions"], {key: decision.extra(key) for key in fields if key in decision.extras}

    def decide(self, batch, t: int, t_env: int, rows=slice(None), test_mode: bool = False) -> Decision:
        """The actions at step `t` of the episodes `rows`, with their extras. No gradient is kept."""
        return self._explained(*self._choose(batch, t, t_env, rows, test_mode))

    def _choose(self, batch, t: int, t_env: int, rows, test_mode: bool) -> tuple[Any, th.Tensor, th.Tensor]:
        """The selector's value, and its arguments: outputs and legal actions of the episodes `rows`."""
        self.anneal(t_env)
        with th.no_grad():  # as a decorator, it takes twice as long
            outputs = self._acting_outputs(batch, t, test_mode)
            legal = self._choices(batch, t)
            if not (isinstance(rows, slice) and rows == slice(None)):
                outputs, legal = outputs[rows], legal[rows]
            before = self._remembered_before(batch, t, rows)
            chosen = self.action_selector.select_action(outputs, legal, t_env, test_mode=test_mode, **before)
            if isinstance(chosen, th.Tensor) and chosen.shape != outputs.shape[:2]:
                sizes = {"B": outputs.size(0), "n": outputs.size(1)}
                require_shape(f"the action selector {type(self.action_selector).__name__}", chosen, sizes)
        if not test_mode and EXPLORES in batch.scheme and self.agent_output_type == "q":
            chosen = th.where(batch[EXPLORES][rows, t].squeeze(-1) > 0, chosen, best_of(outputs, legal))
        return chosen, outputs, legal

    def _remembered_before(self, batch, t: int, rows) -> dict[str, dict]:
        """What a selector that remembers gets beside its arguments; nothing at the start, or in batches without it."""
        if not self.decision_fields or t == 0 or any(key not in batch.scheme for key in self.decision_fields):
            return {}
        return {"before": {key: batch[key][rows, t - 1].squeeze(-1) for key in ("actions", *self.decision_fields)}}

    def _choices(self, batch, t: int) -> th.Tensor:
        """The actions that agents choose from at step `t`, whose outputs are there, `[B, n, A]`."""
        return batch["avail_actions"][:, t]

    def _explained(self, returned: Any, outputs: th.Tensor, avail_actions: th.Tensor) -> Decision:
        decision = Decision.of(returned)
        probs = decision.extras.get("probs")
        if probs is None and hasattr(self.action_selector, "probabilities"):
            probs = partial(self.action_selector.probabilities, outputs, avail_actions)
        known: dict[str, Extra] = {"policy" if self.agent_output_type == "pi_logits" else "q_values": outputs}
        if "actions" in decision.actions:
            known |= extras_of_choice(outputs, avail_actions, decision.actions["actions"], probs)
        if self.decision_fields:
            known |= {key: value.unsqueeze(-1) for key, value in self.action_selector.remembered.items()}
        decision.extras = {**known, **decision.extras}
        return decision

    def distribution(self, outputs: th.Tensor, masks: Mapping[str, th.Tensor]) -> Joint:
        """The distribution of actions that probabilities `[..., n, A]` from `forward` are.

        `masks`: the legal choices, "avail_actions" `[..., n, A]`.
        """
        return Joint({"actions": Categorical.of_probs(legal_policy(outputs, masks["avail_actions"]))})

    def forward(self, ep_batch, t: int, test_mode: bool = False) -> th.Tensor:
        """Outputs at step `t`, `[B, n, A]`; advances `hidden_states`."""
        self._draw_noise(test_mode)
        agent_inputs = self._build_inputs(ep_batch, t)
        returned = self.agent(agent_inputs, self.hidden_states)
        agent_outs, self.hidden_states = self._pair(returned, ep_batch.batch_size)
        agent_outs = agent_outs.reshape(ep_batch.batch_size, self.n_agents, -1)
        return self._finish_outputs(agent_outs, self._legal(ep_batch, t), test_mode)

    def _acting_outputs(self, batch, t: int, test_mode: bool) -> th.Tensor:
        """As `forward`, by the prepared pass of the network if it has one (`controllers.prepared`)."""
        advanced = self._prepared.step(batch, t, self.hidden_states)
        if advanced is None:
            return self.forward(batch, t, test_mode=test_mode)
        outputs, self.hidden_states = advanced
        if self.agent_output_type != "pi_logits" and type(self)._finish_outputs is BasicMAC._finish_outputs:
            return outputs  # as they are
        return self._finish_outputs(outputs, self._legal(batch, t), test_mode)

    def unroll(self, ep_batch, test_mode: bool = False) -> tuple[th.Tensor, Tree]:
        """`init_hidden` and `forward` at every step: outputs `[B, T, n, A]`, hidden states `[B, T, n, H]` (or a tree).

        An agent that can be unrolled gets all steps at once, unless a subclass has its own inputs or outputs.
        """
        if not self.supports_unroll or not self._agent_supports_packing():
            return unroll_by_steps(self, ep_batch, test_mode=test_mode)
        self._draw_noise(test_mode)
        length, batch_size = ep_batch.max_seq_length, ep_batch.batch_size
        rows = batch_size * self.n_agents
        self.init_hidden(batch_size)
        if self._takes_parts:
            inputs = self.inputs.all_parts(ep_batch)
        else:
            inputs = RowInputs(self.inputs.all_steps(ep_batch).flatten(0, 1))
        outs, hidden = self._sequences(self.agent.encode(inputs), [rows] * length)
        self.hidden_states = map_tree(lambda x: x[-rows:], hidden)
        # agents unroll time first
        batch_first = lambda x: x.reshape(length, batch_size, self.n_agents, -1).transpose(0, 1)  # noqa: E731
        outs, hidden = batch_first(outs), map_tree(batch_first, hidden)
        return self._finish_outputs(outs, self._legal(ep_batch, slice(None)), test_mode), hidden

    def packed_inputs(self, ep_batch) -> PackedInputs | None:
        """Inputs for `unroll_packed`; None if these agents cannot be unrolled so, or if steps are missing."""
        if not self.supports_packing or not self._agent_supports_packing():
            return None
        if isinstance(ep_batch, FixedBatch):
            return self.inputs.packed(ep_batch, all_steps(ep_batch))
        course = ep_batch.course()
        if is_rollout(ep_batch):
            starts = memory_starts(course)
            if starts.dim() > 2:  # each agent has its own
                if is_tree(self.agent.init_hidden()):
                    return None
                starts = starts.new_zeros(starts.shape[:2])
            steps = PackedSteps.of_rollout(course["filled"], starts)
        else:
            steps = PackedSteps.of(course["filled"])
        return None if steps is None else self.inputs.packed(ep_batch, steps.to(ep_batch["filled"].device))

    def unroll_packed(
        self, inputs: PackedInputs, avail_actions: Any, test_mode: bool = False
    ) -> tuple[th.Tensor, Tree]:
        """As `unroll`, but only at the P filled steps of a batch: outputs `[P, n, A]`, hidden states `[P, n, H]`.

        Args:
            inputs: of this controller, or of another that sees the same.
            avail_actions: of those steps, `[P, n, A]`.
        """
        self._draw_noise(test_mode)
        self.init_hidden(inputs.steps.sizes[0])
        initial = self.hidden_states
        self.hidden_states = inputs.hidden_at_start(initial)
        sizes = [size * self.n_agents for size in inputs.steps.sizes]
        encoded = self.agent.encode(inputs.parts)
        if inputs.steps.starts is None:
            outs, hidden = self._sequences(encoded, sizes)
        else:
            outs, hidden = sequences_with_starts(self.agent, encoded, inputs.steps.starts, self.hidden_states, initial)
        outs, hidden = map_tree(lambda x: x.unflatten(0, (-1, self.n_agents)), (outs, hidden))
        return self._finish_outputs(outs, avail_actions, test_mode), hidden

    def _draw_noise(self, test_mode: bool) -> None:
        """Of an agent with noisy layers, for a pass of training; tests go by the mean weights."""
        if not self._noisy:
            return
        self.agent.train(not test_mode)
        if not test_mode:
            reset_noise(self.agent)

    def _sequences(self, encoded: th.Tensor, sizes: list[int]) -> tuple[th.Tensor, Tree]:
        """The agent's `sequence`, from the present hidden states."""
        returned = shared_sequences(self.agent.sequence, encoded, sizes, self.hidden_states, together=self.n_agents)
        return self._pair(returned, sum(sizes) // self.n_agents)

    def _pair(self, returned: Any, rows: int) -> tuple[th.Tensor, Tree]:
        return require_outputs(f"agent={self.args.agent}", returned, rows, self.n_agents, self.args.n_actions)

    def _agent_supports_packing(self) -> bool:
        return getattr(self.agent, "supports_packing", False) and not self._agent_axis

    def _finish_outputs(self, agent_outs: th.Tensor, avail_actions: th.Tensor, test_mode: bool) -> th.Tensor:
        """Policy logits `[..., A]` -> probabilities, with an epsilon floor unless testing; values stay as they are."""
        if self.agent_output_type != "pi_logits":
            return agent_outs
        legal_only = self.args.mask_before_softmax
        if legal_only:
            agent_outs = agent_outs.masked_fill(avail_actions == 0, -1e10)
        agent_outs = th.softmax(agent_outs, dim=-1)
        epsilon = getattr(self.action_selector, "epsilon", 0.0)
        if test_mode or epsilon == 0.0:
            return agent_outs
        # with probability epsilon the action is a uniformly random one
        choices = avail_actions.sum(dim=-1, keepdim=True).float() if legal_only else agent_outs.size(-1)
        agent_outs = (1 - epsilon) * agent_outs + epsilon / choices
        return agent_outs.masked_fill(avail_actions == 0, 0.0) if legal_only else agent_outs

    def init_hidden(self, batch_size: int) -> None:
        """Set `hidden_states` to the agent's initial ones, `[B, n, H]` or a tree; None if it has no memory."""
        self.hidden_states = for_all_agents(self.agent.init_hidden(), batch_size, self.n_agents)

    def _build_agents(self, input_shape: int) -> None:
        agent = agent_REGISTRY[self.args.agent]
        self.agent = agent(self.inputs.shapes if getattr(agent, "takes_parts", False) else input_shape, self.args)
        if not self.args.share_params:
            # what agents of the user's own do with their rows is found out
            known = self.args.agent in agent_REGISTRY and agent_REGISTRY.entry(self.args.agent).declared
            self._shared_agent = None if known else copy.deepcopy(self.agent)
            unshare(self.agent, self.n_agents, "agents")
            if hasattr(self.agent, "initialise"):
                self.agent.initialise()

    def _build_selector(self) -> "ActionSelector | None":
        self.decision_fields = remembered_fields(self.args.action_selector)
        return action_REGISTRY[self.args.action_selector](self.args)

    def _legal(self, batch, t: int | slice) -> Any:
        """For `_finish_outputs`."""
        return batch["avail_actions"][:, t]

    def _build_inputs(self, batch, t: int) -> Any:
        """Inputs of the shared agent at step `t`: `[B * n, I]`, or `[B, n, I]` for one that takes an axis of agents.

        An agent that takes parts gets `StepInputs`.
        """
        if self._takes_parts:
            return self.inputs.parts_at(batch, t)
        rows = self.inputs.at(batch, t)
        return rows.unflatten(0, (-1, self.n_agents)) if self._agent_axis else rows

    def _get_input_shape(self, scheme) -> int:
        return self.inputs.size
