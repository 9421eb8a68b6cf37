"""What behaviours see and do."""

from collections.abc import Iterator, Mapping
from enum import IntEnum, IntFlag
from typing import NamedTuple

from dots_simulator.groups import GroupSpec, Observation
from envs.dots.api.actions import ActionSpec
from envs.dots.api.exceptions import UnityActionException
from envs.dots.api.one_kind import ActionType, OneKind


class DimensionProperty(IntFlag):
    """Of one axis of an observation."""

    UNSPECIFIED = 0
    NONE = 1
    TRANSLATIONAL_EQUIVARIANCE = 2
    VARIABLE_SIZE = 4


class ObservationType(IntEnum):
    """What an observation is."""

    DEFAULT = 0
    GOAL_SIGNAL = 1


class ObservationSpec(NamedTuple):
    """One observation of an agent."""

    shape: tuple[int, ...]
    dimension_property: tuple[DimensionProperty, ...]
    observation_type: ObservationType
    name: str


class _BehaviorFields(NamedTuple):
    observation_specs: list[ObservationSpec]
    action_spec: ActionSpec


class BehaviorSpec(OneKind, _BehaviorFields):
    """Observations and actions of a behaviour's agents; what `OneKind` adds is of those whose actions are of one."""

    @property
    def observation_shapes(self) -> list[tuple[int, ...]]:
        return [one.shape for one in self.observation_specs]

    @property
    def action_type(self) -> ActionType:
        """
        Raises:
            UnityActionException: actions are of both kinds.
        """
        if self.action_spec.discrete_size and self.action_spec.continuous_size:
            raise UnityActionException(
                f"Actions are of both kinds here, {self.action_spec.continuous_size} floats and the branches "
                f"{self.action_spec.discrete_branches}: see action_spec."
            )
        return ActionType.DISCRETE if self.action_spec.discrete_size else ActionType.CONTINUOUS

    @property
    def action_shape(self) -> int | tuple[int, ...]:
        discrete = self.action_type == ActionType.DISCRETE
        return self.action_spec.discrete_branches if discrete else self.action_spec.continuous_size


class BehaviorMapping(Mapping[str, BehaviorSpec]):
    """Behaviours by name; it does not change."""

    def __init__(self, specs: Mapping[str, BehaviorSpec]):
        self._specs = dict(specs)

    def __getitem__(self, behavior: str) -> BehaviorSpec:
        return self._specs[behavior]

    def __iter__(self) -> Iterator[str]:
        return iter(self._specs)

    def __len__(self) -> int:
        return len(self._specs)


def behaviour_of(spec: GroupSpec) -> BehaviorSpec:
    """The same in these words."""
    observations = [_observation(i, seen) for i, seen in enumerate(spec.observations)]
    return BehaviorSpec(observations, ActionSpec(spec.continuous, spec.branches))


def _observation(i: int, seen: Observation) -> ObservationSpec:
    kind = ObservationType(seen.type) if seen.type in iter(ObservationType) else ObservationType.DEFAULT
    # protocols leave it out: an index is a name
    properties = tuple(DimensionProperty(one & 7) for one in seen.properties[: len(seen.shape)])
    return ObservationSpec(seen.shape, properties, kind, f"obs_{i}")
