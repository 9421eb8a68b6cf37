"""The controller of environments of entities: one network sees all entities and acts for all actors."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import torch as th
import torch.nn as nn

from components.one_copy import received
from components.packing import AllSteps, PackedSteps
from controllers import REGISTRY
from controllers.decisions import Decision, extras_of_policy
from controllers.one_network import OneNetwork
from modules.agents import REGISTRY as agent_REGISTRY
from modules.critics.entity_values import take_in
from modules.entities.fields import EntityFields, Field
from modules.policies.distributions import ILLEGAL, Categorical, Joint
from utils.config.merging import with_defaults
from utils.tensors.devices import to_device
from utils.tensors.shared_rows import is_sharing, shared_slices


@dataclass
class EntityFrames:
    """The filled frames of a batch: the arguments of a network, and where they are.

    `of`: the same arguments of some of the frames.
    """

    steps: PackedSteps | AllSteps
    lead: tuple[int, ...]
    arguments: dict[str, Any]
    of: Callable[[slice], dict[str, Any]]


class EntityMAC(OneNetwork):
    """Entities of a frame -> logits of each slot's choices and, with `critic: trunk`, the frame's value.

    Shapes: B episodes, T steps, n slots (`envs.entities.layout`), A choices. Outputs are `[..., n, A]`, or `A + 1` with
    the value, the same in all slots. There is no memory.
    """

    # its learner may take frames in any order; one value for all slots
    supports_decide = memoryless = one_value = True

    def __init__(self, scheme, groups, args):
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self.fields = EntityFields(scheme)
        self.n_agents, self.agent_output_type = args.n_agents, args.agent_output_type
        self.has_values = args.critic == "trunk"
        heads = {"value": 1} if self.has_values else {}
        self.agent = agent_REGISTRY[args.agent](self.fields, args, heads)
        self.hidden_states = None
        # fields that it sees, beside those of every controller
        self.input_fields = self.fields.paths

    @th.inference_mode()
    def decide(self, batch, t: int, t_env: int, rows=slice(None), test_mode: bool = False) -> Decision:
        """Actions at step `t` of the episodes `rows`, with the extras "log_prob", "entropy" and, if it has, "value"."""
        if not isinstance(rows, slice):
            rows = to_device(th.as_tensor(rows), batch["filled"].device)
        outputs = self._outputs(self._arguments(lambda key: batch[key][rows, t]))
        policy = self.distribution(outputs, {"avail_actions": batch["avail_actions"][rows, t]})
        actions = policy.mode() if test_mode and self.args.test_greedy else policy.sample()
        extras = extras_of_policy(policy, actions)
        if self.has_values:
            extras["value"] = lambda: outputs[..., -1:]
        extras["policy"] = extras["probs"] = lambda: policy.branches["actions"].probs
        return Decision(actions, extras)

    def select_actions(self, ep_batch, t_ep: int, t_env: int, bs=slice(None), test_mode: bool = False) -> th.Tensor:
        """PyMARL's call: actions `[len(bs), n]`."""
        return self.decide(ep_batch, t_ep, t_env, bs, test_mode).actions["actions"]

    def forward(self, ep_batch, t: int, test_mode: bool = False) -> th.Tensor:
        """Outputs at step `t`, `[B, n, A (+ 1)]`."""
        return self._outputs(self._arguments(lambda key: ep_batch[key][:, t]))

    def unroll(self, ep_batch, test_mode: bool = False) -> tuple[th.Tensor, th.Tensor]:
        """Outputs at all steps, `[B, T, n, A (+ 1)]`; zeros `[B, T, n, 1]` in place of hidden states."""
        outputs = self._outputs(self._arguments(lambda key: ep_batch[key].flatten(0, 1)))
        outputs = outputs.unflatten(0, (ep_batch.batch_size, ep_batch.max_seq_length))
        return outputs, outputs.new_zeros(*outputs.shape[:3], 1)

    def packed_inputs(self, ep_batch) -> EntityFrames:
        """The filled frames of a batch, for `unroll_packed`."""
        size, length = ep_batch.batch_size, ep_batch.max_seq_length
        course = ep_batch.course()
        filled = course["filled"].flatten() > 0
        steps: PackedSteps | AllSteps = AllSteps()
        lead: tuple[int, ...] = (size, length)
        seen, here = (lambda key: ep_batch[key].flatten(0, 1)), (lambda key: course[key].flatten(0, 1))
        if not filled.all():
            rows = filled.nonzero().squeeze(1)
            packed = steps = PackedSteps(to_device(rows, ep_batch["filled"].device), [], size, length)
            lead, seen = (len(rows),), (lambda key: packed.take(ep_batch[key]))
            here = lambda key: course[key].flatten(0, 1)[rows]  # noqa: E731

        def of(frames: slice) -> dict[str, Any]:
            return self._arguments(lambda key: seen(key)[frames], lambda key: here(key)[frames])

        return EntityFrames(steps, lead, self._arguments(seen, here), of)

    def unroll_packed(
        self, inputs: EntityFrames, avail_actions: th.Tensor | None = None, test_mode: bool = False
    ) -> tuple[th.Tensor, th.Tensor]:
        """As `unroll`, at the frames of `packed_inputs`."""
        if is_sharing():
            outputs = shared_slices(lambda frames: self._outputs(inputs.of(frames)), prod(inputs.lead), self.agent)
        else:
            outputs = self._outputs(inputs.arguments)
        outputs = outputs.unflatten(0, inputs.lead)
        return outputs, outputs.new_zeros(*outputs.shape[:-1], 1)

    def distribution(self, outputs: th.Tensor, masks: Mapping[str, th.Tensor]) -> Joint:
        """The distribution of choices, by outputs `[..., n, A (+ 1)]` and the legal ones, "avail_actions"."""
        return Joint({"actions": Categorical(outputs[..., : self.fields.n_choices], masks["avail_actions"])})

    def values(self, outputs: th.Tensor) -> th.Tensor:
        """The values among the outputs, `[..., n]`."""
        return outputs[..., -1]

    def init_hidden(self, batch_size: int) -> None:
        """There is no memory: zeros `[B, n, 1]`."""
        self.hidden_states = next(self.parameters()).new_zeros(batch_size, self.n_agents, 1)

    def take_in(self, batch: Any, mask: th.Tensor) -> None:
        """Count the entities of a batch of T steps where `mask` `[B, T, 1]` is not 0 in their normalisation."""
        take_in(self.agent, self.fields, batch, mask)

    def _arguments(self, field: Field, here: Field | None = None) -> dict[str, Any]:
        """Of the network, by fields `[R, ...]`, and `here` those of them that it reads in main memory, if known."""
        here = here or self._brought(field)
        return self.fields.seen(field, here) | self.fields.offered(here)

    def _brought(self, field: Field) -> Field:
        """The fields that the network reads in main memory: from a GPU, for which this waits once."""
        if field("actors").device.type == "cpu":
            return field
        arrays = received([field(key) for key in self.fields.placing])
        return dict(zip(self.fields.placing, map(th.from_numpy, arrays), strict=True)).__getitem__

    def _outputs(self, arguments: dict[str, Any]) -> th.Tensor:
        """Outputs of R frames, `[R, n, A (+ 1)]`."""
        logits, heads = self.agent(**arguments)
        rows = next(iter(logits.values())).size(0)
        parts = []
        for name in self.fields.actions:
            of_action = logits[name]
            missing = self.fields.n_choices - of_action.size(-1)
            parts.append(nn.functional.pad(of_action, (0, missing), value=ILLEGAL) if missing else of_action)
        outputs = parts[0] if len(parts) == 1 else th.cat(parts, dim=1)
        if not self.has_values:
            return outputs
        return th.cat([outputs, heads["value"].view(rows, 1, 1).expand(-1, self.fields.n_slots, 1)], dim=-1)
