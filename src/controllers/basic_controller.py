"""The controller that shares one network between all agents."""

import os

import numpy as np
import torch as th

from checkpoints.model_files import load_weights, save_weights
from components.action_selectors import REGISTRY as action_REGISTRY
from components.packing import PackedSteps
from controllers.agent_inputs import wants_agent_axis
from controllers.packed_inputs import PackedInputs
from controllers.unroll import inherits_with, unroll_by_steps
from modules.agents import REGISTRY as agent_REGISTRY
from utils.config import with_defaults
from utils.rl_utils import episode_starts


class BasicMAC:
    """Observations (+ last actions, + agent ids) of all agents -> outputs of the shared agent -> actions.

    Shapes: B episodes, T steps, n agents, A actions, H hidden units. With `agent_output_type: pi_logits` the
    outputs are probabilities with an epsilon floor; with `q` they are action values.
    """

    def __init__(self, scheme, groups, args):
        self.args = args = with_defaults(args)
        self.n_agents = args.n_agents
        input_shape = self._get_input_shape(scheme)
        self._build_agents(input_shape)
        own_forward = type(self).forward is not BasicMAC.forward
        self._agent_axis = wants_agent_axis(
            getattr(self, "agent", None), self.n_agents, input_shape, unless_clear=own_forward
        )
        self.agent_output_type = args.agent_output_type
        self.action_selector = action_REGISTRY[args.action_selector](args)
        self.hidden_states = None
        self._acting = False
        # what agents see while acting, one tensor for each number of episodes, written anew at every step
        self._acting_inputs: dict[tuple[int, th.device], th.Tensor] = {}

    def select_actions(self, ep_batch, t_ep: int, t_env: int, bs=slice(None), test_mode: bool = False):
        """Actions at step `t_ep` of the episodes `bs`: int64 `[len(bs), n]`. No gradient is kept.

        What the selector returns is returned: of some, the actions and their probabilities. If the batch has a field
        "probs", a selector's `probabilities` fill it: actions and `{"probs": [len(bs), n, A]}`.
        """
        with th.no_grad():
            if hasattr(self.action_selector, "anneal"):
                self.action_selector.anneal(t_env)
            avail_actions = ep_batch["avail_actions"][:, t_ep]
            self._acting = True
            try:
                agent_outputs = self.forward(ep_batch, t_ep, test_mode=test_mode)
            finally:
                self._acting = False
            asked = agent_outputs[bs], avail_actions[bs]
            chosen = self.action_selector.select_action(*asked, t_env, test_mode=test_mode)
            if "probs" in ep_batch.scheme and hasattr(self.action_selector, "probabilities"):
                return chosen, {"probs": self.action_selector.probabilities(*asked)}
            return chosen

    def forward(self, ep_batch, t: int, test_mode: bool = False) -> th.Tensor:
        """Outputs at step `t`, `[B, n, A]`; advances `hidden_states`."""
        agent_inputs = self._build_inputs(ep_batch, t)
        agent_outs, self.hidden_states = self.agent(agent_inputs, self.hidden_states)
        agent_outs = agent_outs.reshape(ep_batch.batch_size, self.n_agents, -1)
        return self._finish_outputs(agent_outs, ep_batch["avail_actions"][:, t], test_mode)

    def unroll(self, ep_batch, test_mode: bool = False) -> tuple[th.Tensor, th.Tensor | None]:
        """`init_hidden` and `forward` at every step: outputs `[B, T, n, A]` and hidden states `[B, T, n, H]`.

        An agent with an `unroll` of its own gets all steps at once, unless a subclass builds its inputs or its
        outputs in its own way, step by step.
        """
        by_steps = self._goes_its_own_way() or self._agent_axis
        if by_steps or not inherits_with(type(self.agent), "unroll", "forward"):
            return unroll_by_steps(self, ep_batch, test_mode=test_mode)
        self.init_hidden(ep_batch.batch_size)
        inputs = self._build_inputs(ep_batch, None)
        outs, hidden = self.agent.unroll(inputs, self.hidden_states)
        self.hidden_states = hidden[-1]
        # agents unroll time-first
        shape = (ep_batch.max_seq_length, ep_batch.batch_size, self.n_agents, -1)
        outs, hidden = (x.reshape(shape).transpose(0, 1) for x in (outs, hidden))
        return self._finish_outputs(outs, ep_batch["avail_actions"], test_mode), hidden

    def packed_inputs(self, ep_batch) -> PackedInputs | None:
        """Inputs for `unroll_packed`; None if it does not know these agents or inputs, or if steps are missing."""
        agent = type(self.agent)
        if self._goes_its_own_way() or self._agent_axis or not inherits_with(type(self), "unroll_packed", "unroll"):
            return None
        if not inherits_with(agent, "unroll_packed", "unroll") or not inherits_with(agent, "unroll_packed", "forward"):
            return None
        if "hidden_before" in ep_batch.scheme:
            steps = PackedSteps.of_rollout(ep_batch["filled"], episode_starts(ep_batch))
        else:
            steps = PackedSteps.of(ep_batch["filled"])
        if steps is None:
            return None
        steps = steps.to(ep_batch["obs"].device)
        return PackedInputs.of(ep_batch, steps, self.args.obs_last_action, self.args.obs_agent_id)

    def unroll_packed(self, inputs: PackedInputs, avail_actions: th.Tensor, test_mode: bool = False) -> th.Tensor:
        """As `unroll`, but only at the P filled steps of a batch: outputs `[P, n, A]`.

        Args:
            inputs: of this controller, or of another that sees the same.
            avail_actions: of those steps, `[P, n, A]`.
        """
        self.init_hidden(inputs.steps.sizes[0])
        self.hidden_states = inputs.hidden_at_start(self.hidden_states)
        sizes = [size * self.n_agents for size in inputs.steps.sizes]
        outs, _ = self.agent.unroll_packed(inputs.through(self.agent.fc1), sizes, self.hidden_states)
        return self._finish_outputs(outs.view(avail_actions.shape), avail_actions, test_mode)

    def _goes_its_own_way(self) -> bool:
        """Whether a subclass builds its inputs or its outputs in a way of its own."""
        return any(getattr(type(self), name) is not getattr(BasicMAC, name) for name in ("forward", "_build_inputs"))

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
        """Set `hidden_states` to the agent's initial ones, `[B, n, H]`; None if it has no memory."""
        hidden = self.agent.init_hidden()
        self.hidden_states = None if hidden is None else hidden.unsqueeze(0).expand(batch_size, self.n_agents, -1)

    def parameters(self):
        return self.agent.parameters()

    def load_state(self, other_mac: "BasicMAC") -> None:
        """Copy the weights of `other_mac`."""
        self.agent.load_state_dict(other_mac.agent.state_dict())

    def cuda(self) -> None:
        self.agent.cuda()

    def save_models(self, path: str) -> None:
        """Write `agent.th` into the folder `path`."""
        save_weights(self.agent, os.path.join(path, "agent.th"))

    def load_models(self, path: str) -> None:
        """Read `agent.th` from the folder `path`."""
        load_weights(self.agent, os.path.join(path, "agent.th"))

    def _build_agents(self, input_shape: int) -> None:
        self.agent = agent_REGISTRY[self.args.agent](input_shape, self.args)

    def _build_inputs(self, batch, t: int | None) -> th.Tensor:
        """Inputs of the shared agent at step `t`, `[B * n, I]`, or at all steps, time first: `[T, B * n, I]`.

        An agent that takes an axis of agents gets `[B, n, I]`; it is asked step by step.
        """
        if self._acting:
            return self._write_acting_inputs(batch, t)
        # all steps go through the same code as one step, with a time axis in front
        all_steps = t is None
        obs = batch["obs"].transpose(0, 1) if all_steps else batch["obs"][:, t].unsqueeze(0)
        length, batch_size = obs.shape[:2]
        inputs = [obs]
        if self.args.obs_last_action:
            onehot = batch["actions_onehot"]
            if all_steps:
                last = th.cat([th.zeros_like(onehot[:, :1]), onehot[:, :-1]], dim=1).transpose(0, 1)
            else:
                last = (onehot[:, t - 1] if t > 0 else th.zeros_like(onehot[:, t])).unsqueeze(0)
            inputs.append(last)
        if self.args.obs_agent_id:
            inputs.append(th.eye(self.n_agents, device=obs.device).expand(length, batch_size, -1, -1))
        rows = th.cat([x.reshape(length, batch_size * self.n_agents, -1) for x in inputs], dim=-1)
        return rows if all_steps else self._in_agents_form(rows.squeeze(0))

    def _in_agents_form(self, rows: th.Tensor) -> th.Tensor:
        return rows.unflatten(0, (-1, self.n_agents)) if self._agent_axis else rows

    def _write_acting_inputs(self, batch, t: int) -> th.Tensor:
        """`_build_inputs` at step `t`, in a tensor that the next step overwrites."""
        obs, onehot = batch["obs"][:, t].flatten(2), batch["actions_onehot"]
        key = (len(obs), obs.device)
        if key not in self._acting_inputs:
            parts = [th.zeros_like(obs)]
            if self.args.obs_last_action:
                parts.append(th.zeros_like(onehot[:, t]))
            if self.args.obs_agent_id:
                parts.append(th.eye(self.n_agents, device=obs.device).expand(len(obs), -1, -1))
            self._acting_inputs[key] = th.cat(parts, dim=-1)
        inputs = self._acting_inputs[key]
        end = obs.size(-1)
        inputs[..., :end] = obs
        if self.args.obs_last_action:
            inputs[..., end : end + onehot.size(-1)] = onehot[:, t - 1] if t > 0 else 0
        return self._in_agents_form(inputs.flatten(0, 1))

    def _get_input_shape(self, scheme) -> int:
        input_shape = int(np.prod(scheme["obs"]["vshape"]))
        if self.args.obs_last_action:
            input_shape += scheme["actions_onehot"]["vshape"][0]
        if self.args.obs_agent_id:
            input_shape += self.n_agents
        return input_shape
