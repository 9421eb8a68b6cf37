"""The controller of transformers over a team's agents, which decide one after another (MAT, Wen et al. 2022)."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch as th
import torch.nn.functional as F

from controllers.decisions import Decision, extras_of_policy
from controllers.inputs import PackedInputs, StepInputs
from controllers.policy_controller import PolicyMAC
from modules.agents import REGISTRY as agent_REGISTRY
from modules.agents.mat_agent import Memory
from modules.policies.policy import plain
from utils.tensors.schemes import action_fields
from utils.tensors.shared_rows import shared
from utils.tensors.tensor_trees import Tree


class MATMAC(PolicyMAC):
    """Observations of all agents -> distributions of actions, each given the actions of the agents before, and values.

    Shapes: B episodes, n agents, A outputs of a distribution. Outputs are `[..., n, A + 1]`, the value last. Where a
    batch has the actions already, all agents are computed at once (eq. 5); `decide` asks them in turn. There is no
    memory of earlier steps.
    """

    supports_packing = True

    def __init__(self, scheme, groups, args):
        self._as_inputs = action_fields(scheme)
        super().__init__(scheme, groups, args)
        # with the actions before as inputs, steps have an order
        self.memoryless = not self.inputs.sees_actions
        self._knows_actions = True

    def _random_share(self, args: Any) -> None:
        """What agents choose is drawn in turn, without random choices."""

    def decide(self, batch, t: int, t_env: int, rows=slice(None), test_mode: bool = False) -> Decision:
        """Actions at step `t` of the episodes `rows`, with the extras "log_prob", "entropy" and "value"."""
        if not self.agent.in_turn:
            return super().decide(batch, t, t_env, rows, test_mode)
        with th.no_grad():
            seen = self._seen(self._build_inputs(batch, t))[rows]
            masks = {mask: batch[mask][rows, t] for mask in self.policy.masks}
            links = self.agent.links()
            encoded, before = self.agent.encode(seen, links), self._first(seen)
            memory: Memory = {}
            outputs, actions = [], []
            for i in range(self.n_agents):  # each needs the actions of those before it
                its = slice(i, i + 1)
                outputs.append(self.agent.decode(seen[:, its], encoded[:, its], before, memory, links))
                policy = self.distribution(outputs[-1], {mask: legal[:, its] for mask, legal in masks.items()})
                actions.append(policy.mode() if test_mode and self.args.test_greedy else policy.sample())
                before = F.pad(self._as_seen(actions[-1]), (1, 0))
            joint = {path: th.cat([each[path] for each in actions], dim=1) for path in actions[0]}
            policy = self.distribution(th.cat(outputs, dim=1), masks)
        extras = extras_of_policy(policy, joint)
        extras["value"] = lambda: self.agent.value_head(encoded)
        if list(policy.branches) == ["actions"] and hasattr(policy.branches["actions"], "probs"):
            extras["policy"] = extras["probs"] = lambda: policy.branches["actions"].probs
        return Decision(self.policy.shaped(joint), extras)

    def forward(self, ep_batch, t: int, test_mode: bool = False) -> th.Tensor:
        """Outputs at step `t` of a batch that has its actions, `[B, n, A + 1]`."""
        actions = {path: plain(ep_batch[path][:, t], 2) for path in self.policy.branches}
        return self._outputs(self._build_inputs(ep_batch, t), actions, self._done(lambda key: ep_batch[key][:, t]))

    def unroll_packed(
        self, inputs: PackedInputs, avail_actions: Any = None, test_mode: bool = False
    ) -> tuple[th.Tensor, Tree]:
        """Outputs at the P filled steps of a batch, `[P, n, A + 1]`; zeros `[P, n, 1]` in place of hidden states."""
        batch, steps = inputs.batch, inputs.steps
        actions = {path: plain(steps.take(batch[path]), 2) for path in self.policy.branches}
        outputs = self._outputs(inputs.parts, actions, self._done(lambda key: steps.take(batch[key])))
        return outputs, outputs.new_zeros(*outputs.shape[:2], 1)

    def init_hidden(self, batch_size: int) -> None:
        """There is no memory: zeros `[B, n, 1]`."""
        self.hidden_states = next(self.parameters()).new_zeros(batch_size, self.n_agents, 1)

    @contextmanager
    def before_actions(self) -> Iterator[None]:
        known, self._knows_actions = self._knows_actions, False
        try:
            yield
        finally:
            self._knows_actions = known

    def _acting_outputs(self, batch, t: int, test_mode: bool) -> th.Tensor:
        with self.before_actions():
            return super()._acting_outputs(batch, t, test_mode)

    def _done(self, field: Callable[[str], th.Tensor]) -> list[th.Tensor]:
        """The actions of R steps as agents see last ones, `[R, n, K]`, if the agent's values see them and they are
        known."""
        if not (self.agent.values_see_actions and self._knows_actions):
            return []
        return [th.cat([field(key).float() for key in self._as_inputs], dim=-1)]

    def _outputs(self, inputs: StepInputs, actions: Mapping[str, th.Tensor], done: list[th.Tensor]) -> th.Tensor:
        """Of R time steps, `[R, n, A + 1]`, by all the actions of these, `[R, n]` or `[R, n, k]` each.

        `done`: see `_done`.
        """
        seen = self._seen(inputs)
        if not self.agent.in_turn:
            return shared(self.agent, seen, *done)
        others = F.pad(self._as_seen(actions)[:, :-1], (1, 0))
        return shared(self.agent, seen, th.cat([self._first(seen), others], dim=1))

    def _seen(self, inputs: StepInputs) -> th.Tensor:
        """By each agent, `[R, n, I]`."""
        parts = [part.flatten(1) for part in inputs.observations.values()]
        rows = th.cat([*parts, *([] if inputs.others is None else [inputs.others])], dim=1)
        return rows.unflatten(0, (-1, self.n_agents))

    def _first(self, seen: th.Tensor) -> th.Tensor:
        """What the first agent knows of actions: that there was none, `[R, 1, 1 + K]`."""
        return F.one_hot(seen.new_zeros(len(seen), 1, dtype=th.long), 1 + self._action_size).to(seen.dtype)

    def _as_seen(self, actions: Mapping[str, th.Tensor]) -> th.Tensor:
        """Actions as the agents after see them, `[R, m, K]`: choices one-hot, numbers in halves of their ranges."""
        parts = []
        for path, branch in self.policy.branches.items():
            if branch.n is not None:
                parts.append(F.one_hot(actions[path].long(), branch.n).float())
            else:
                centre, scale = self.policy.limits(path)
                parts.append((actions[path] - centre) / scale)
        return th.cat(parts, dim=-1)

    def _build_agents(self, input_shape: int) -> None:
        branches = self.policy.branches.values()
        self._action_size = sum(branch.numbers if branch.n is None else branch.n for branch in branches)
        self.agent = agent_REGISTRY[self.args.agent](self.inputs.shapes, self.args, self._action_size)

    def _initialise(self) -> None:
        """Its networks have initial weights of their own."""
