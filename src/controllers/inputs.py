"""The inputs of agents: the fields of the batch's scheme that are observations, last actions, and agent ids."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import torch as th
import torch.nn as nn

from components.episode_batch import EpisodeBatch
from components.fixed_batch import FixedBatch
from components.packing import PackedSteps, RolloutSteps
from components.sampling.listed import listed_names
from components.sampling.parts import before_steps
from controllers.hidden_states import fields_before, memory_before
from modules.unshared import linear
from utils.errors import ConfigError
from utils.rl_utils import episode_starts
from utils.tensors.schemes import (
    AGENTS,
    BEFORE,
    action_fields,
    as_numbers,
    as_seen,
    categories_of,
    centred,
    field_before,
    is_rollout,
    observed_fields,
    seen_shape,
    shape_of,
)
from utils.tensors.tensor_trees import Tree, leaves, map_tree


def known_before_steps(
    batch: EpisodeBatch, memory: Tree, initial: Tree, starts: th.Tensor, steps: th.Tensor
) -> dict[str, th.Tensor]:
    """The inputs from before some steps of a rollout, by its fields: `[B, K, n, ...]`.

    Args:
        batch: a rollout of T steps.
        memory: the controller's after every step, leaves `[B, T, n, H]`.
        initial: its memory before a first step, leaves `[B, n, ...]`.
        starts: where memories start within the rollout, bool `[B, T]` or by agent `[B, T, n]`.
        steps: int64 `[K]`.
    """
    first = fields_before(initial, batch.batch_size, batch.groups[AGENTS])
    after = {f"{BEFORE}/{path}" if path else BEFORE: leaf for path, leaf in leaves(memory)}
    for key in action_fields(batch.scheme):
        after[field_before(key)], first[field_before(key)] = batch[key], th.zeros_like(batch[key][:, 0])
    return {key: before_steps(x, batch[key], first[key], starts, steps) for key, x in after.items()}


@dataclass
class StepInputs:
    """The inputs of N agents, part by part.

    `observations`: field -> float32 `[N, *shape]`, pictures (uint8) scaled to [0, 1], categories one-hot.
    `others`: last actions, the means of the others' and agent ids, as far as agents see them, `[N, E]`, or None.
    `kept`: what is not hidden from the agents, of themselves and of the entities they see, for networks that look at
    entities: bool `[N, 1 + entities]`; None: everything.
    """

    observations: dict[str, th.Tensor]
    others: th.Tensor | None
    kept: th.Tensor | None = None

    @property
    def rows(self) -> th.Tensor:
        """All of it side by side, `[N, I]`."""
        parts = [part.flatten(1) for part in self.observations.values()]
        return th.cat(parts if self.others is None else [*parts, self.others], dim=1)

    def through(self, layer: nn.Linear) -> th.Tensor:
        """Outputs of `layer`, which takes the observations first and then the others: `[N, H]`.

        Each part goes through its columns of the layer's weights, which saves concatenating the parts.
        """
        parts = [part.flatten(1) for part in self.observations.values()]
        if self.others is None:
            return layer(parts[0] if len(parts) == 1 else th.cat(parts, dim=1))
        *of_observations, of_others = layer.weight.split([x.size(1) for x in (*parts, self.others)], dim=-1)
        outputs = linear(self.others, of_others, layer.bias)
        for part, weights in zip(parts, of_observations, strict=True):
            outputs = outputs + linear(part, weights)
        return outputs


@dataclass
class RowInputs:
    """The inputs of N agents, side by side: `rows` `[N, I]`."""

    rows: th.Tensor

    def through(self, layer: nn.Linear) -> th.Tensor:
        """Outputs of `layer`: `[N, H]`."""
        return layer(self.rows)


@dataclass
class PackedInputs:
    """The inputs of agents at the P filled `steps` of a batch: `parts`, of P * n agents."""

    batch: EpisodeBatch
    steps: PackedSteps | RolloutSteps
    parts: StepInputs

    def hidden_at_start(self, initial: Tree) -> Tree:
        """The memory before the first step of each of S sequences, from the `initial` one; leaves `[S, n, ...]`."""
        if not is_rollout(self.batch):
            return initial
        return map_tree(self.steps.at_start, memory_before(self.batch, initial), initial)


class AgentInputs:
    """Builds the inputs of agents from a batch: observations, last actions, agent ids.

    Args:
        scheme: of the batches.
        args: `n_agents`; `obs_last_action`, `obs_mean_action` and `obs_agent_id` say whether agents see these;
            `sample_transforms`, whether pictures are centred.
    """

    def __init__(self, scheme: Mapping[str, dict], args: Any):
        self._scheme, self.n_agents, self._agent_id = scheme, args.n_agents, args.obs_agent_id
        self._observed = observed_fields(scheme)
        self._actions = action_fields(scheme) if args.obs_last_action else []
        # that they see the mean of over the others; one agent alone has none
        self._means = action_fields(scheme) if args.obs_mean_action and self.n_agents > 1 else []
        # whose inputs
        self._agents = slice(None)
        self._ids_of: tuple | None = None
        # of fields that are normalised
        self.normalisers: Mapping[str, Any] = {}
        # what the unit makes of samples
        self._centres = "normalise_image" in listed_names(args.sample_transforms)

    def of_agent(self, i: int) -> "AgentInputs":
        """The inputs of agent i alone, from batches that have no other."""
        if self._means:
            raise ConfigError(
                "obs_mean_action=True: agents that are updated one after another do not see the others' actions. Use "
                "update_order=together."
            )
        own = copy.copy(self)
        own._agents, own._ids_of = slice(i, i + 1), None
        return own

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of each observation; and of all others together, "others", if there are any."""
        shapes = {key: seen_shape(self._scheme[key]) for key in self._observed}
        seen = [*self._actions, *self._means]
        others = sum(prod(shape_of(self._scheme[key])) for key in seen) + self._id_size
        return {**shapes, "others": (others,)} if others else shapes

    @cached_property
    def size(self) -> int:
        """I, how many numbers one agent sees."""
        return sum(map(prod, self.shapes.values()))

    @property
    def order(self) -> tuple[dict[str, int], dict[str, int], int]:
        """What stands side by side: the observations and the actions before, each with its size, and that of the id."""
        actions = {key: prod(shape_of(self._scheme[key])) for key in self._actions}
        return {key: prod(seen_shape(self._scheme[key])) for key in self._observed}, actions, self._id_size

    @property
    def sees_actions(self) -> bool:
        """Whether what an agent sees depends on what was done before."""
        return bool(self._actions or self._means)

    @property
    def sees_others(self) -> bool:
        """Whether what an agent sees depends on what the others did."""
        return bool(self._means)

    @property
    def _id_size(self) -> int:
        return self.n_agents * self._agent_id

    def at(self, batch: EpisodeBatch, t: int) -> th.Tensor:
        """Side by side at step `t`: `[B * n, I]`."""
        return self._rows(_OneStep(batch, t)).flatten(0, 1)

    def all_steps(self, batch: EpisodeBatch) -> th.Tensor:
        """Side by side at all steps, time first: `[T, B * n, I]`."""
        return self._rows(_AllSteps(batch)).flatten(1, 2)

    def parts_at(self, batch: EpisodeBatch, t: int) -> StepInputs:
        """Part by part at step `t`: of B * n agents."""
        return self._parts(_OneStep(batch, t))

    def all_parts(self, batch: EpisodeBatch) -> StepInputs:
        """Part by part at all steps, time first: of T * B * n agents."""
        return self._parts(_AllSteps(batch))

    def packed(self, batch: EpisodeBatch, steps: PackedSteps | RolloutSteps) -> PackedInputs:
        """Part by part at the P filled steps of a batch, or at all of them."""
        of = _EveryStep(batch, steps) if isinstance(steps, RolloutSteps) else _FilledSteps(batch, steps)
        return PackedInputs(batch, steps, self._parts(of))

    def _rows(self, steps: "_OneStep | _AllSteps") -> th.Tensor:
        observations = [_in_one_axis(x, steps) for x in self._observations(steps).values()]
        return th.cat([*observations, *self._others(steps)], dim=-1)

    def _parts(self, steps: "_OneStep | _AllSteps | _FilledSteps") -> StepInputs:
        agents = len(steps.lead)
        observations = {key: x.flatten(0, agents) for key, x in self._observations(steps).items()}
        others = self._others(steps)
        return StepInputs(observations, th.cat(others, dim=-1).flatten(0, agents) if others else None)

    def _observations(self, steps: "_OneStep | _AllSteps | _FilledSteps") -> dict[str, th.Tensor]:
        observations = {key: self._numbers(key, steps.now(key)) for key in self._observed}
        for key, norm in self.normalisers.items():
            observations[key] = norm.normalize(observations[key])
        return observations

    def _numbers(self, key: str, x: th.Tensor) -> th.Tensor:
        info = self._scheme[key]
        return centred(x) if self._centres and x.dtype == th.uint8 and not categories_of(info) else as_seen(info, x)

    def _others(self, steps: "_OneStep | _AllSteps | _FilledSteps") -> list[th.Tensor]:
        others = [self._before(key, steps) for key in self._actions]
        for key in self._means:
            actions = self._before(key, steps)
            others.append((actions.sum(dim=-2, keepdim=True) - actions) / (self.n_agents - 1))
        if self._agent_id:
            others.append(self._ids(steps))
        return others

    @staticmethod
    def _before(key: str, steps: "_OneStep | _AllSteps | _FilledSteps") -> th.Tensor:
        """The actions before, `[*steps.lead, n, I]`."""
        return _in_one_axis(as_numbers(steps.before(key)), steps)

    def _ids(self, steps: "_OneStep | _AllSteps | _FilledSteps") -> th.Tensor:
        """Agent ids, one-hot: `[*steps.lead, n, n]`, or those of one agent."""
        if steps.captured:  # a graph keeps nothing of another one, nor gives to it
            return self._one_hot(steps)
        if (steps.lead, steps.device) != self._ids_of:  # of acting, they are the same at every step
            self._ids_of = (steps.lead, steps.device)
            self._last_ids = self._one_hot(steps)
        return self._last_ids

    def _one_hot(self, steps: "_OneStep | _AllSteps | _FilledSteps") -> th.Tensor:
        return th.eye(self.n_agents, device=steps.device)[self._agents].expand(*steps.lead, -1, -1)


def actions_before(batch: EpisodeBatch, key: str) -> th.Tensor:
    """The actions before each step, `[B, T, n, ...]`: zeros before the first step of an episode."""
    actions = batch[key]
    if not is_rollout(batch):
        return th.cat([th.zeros_like(actions[:, :1]), actions[:, :-1]], dim=1)
    before = th.cat([batch[field_before(key)].unsqueeze(1), actions[:, :-1]], dim=1)
    return before.masked_fill(episode_starts(batch).unflatten(1, (-1, *[1] * (before.dim() - 2))), 0)


class _OneStep:
    """Fields `[B, n, ...]` at step `t`, and the actions before it."""

    def __init__(self, batch: EpisodeBatch, t: int):
        self.captured = isinstance(batch, FixedBatch)
        self._batch, self._t = batch, t
        self.lead, self.device = (batch.batch_size,), batch["filled"].device

    def now(self, key: str) -> th.Tensor:
        return self._batch[key][:, self._t]

    def before(self, key: str) -> th.Tensor:
        actions = self._batch[key]
        return actions[:, self._t - 1] if self._t > 0 else th.zeros_like(actions[:, 0])


class _AllSteps:
    """Fields `[T, B, n, ...]` at all steps of whole episodes, and the actions before each."""

    captured = False

    def __init__(self, batch: EpisodeBatch):
        self._batch = batch
        self.lead, self.device = (batch.max_seq_length, batch.batch_size), batch["filled"].device

    def now(self, key: str) -> th.Tensor:
        return self._batch[key].transpose(0, 1)

    def before(self, key: str) -> th.Tensor:
        actions = self._batch[key].transpose(0, 1)
        return th.cat([th.zeros_like(actions[:1]), actions[:-1]])


class _FilledSteps:
    """Fields `[P, n, ...]` at the filled steps of a batch, and the actions before each."""

    captured = False

    def __init__(self, batch: EpisodeBatch, steps: Any):
        self._batch, self._steps = batch, steps
        self.lead, self.device = (sum(steps.sizes),), batch["filled"].device

    def now(self, key: str) -> th.Tensor:
        return self._steps.take(self._batch[key])

    def before(self, key: str) -> th.Tensor:
        actions, steps = self._batch[key], self._steps
        first = steps.sizes[0]
        flat = actions.reshape(-1, *actions.shape[2:])
        before = self._batch[field_before(key)] if steps.continued is not None else None
        at_start = steps.at_start(before, flat.new_zeros(first, *flat.shape[1:]))
        return th.cat([at_start, flat.index_select(0, steps.places[first:] - 1)])


class _EveryStep(_FilledSteps):
    """The same at all steps, as graphs see them."""

    captured = True

    def before(self, key: str) -> th.Tensor:
        return self._steps.take(actions_before(self._batch, key))


def _in_one_axis(x: th.Tensor, steps: "_OneStep | _AllSteps | _FilledSteps") -> th.Tensor:
    """`[*lead, n, ...]` -> `[*lead, n, I]`."""
    axes = len(steps.lead) + 2
    return x if x.dim() == axes else x.flatten(axes - 1)
