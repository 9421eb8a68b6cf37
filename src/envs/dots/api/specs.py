"""What behaviours see and do."""

from collections.abc import Iterator, Mapping
from enum import IntEnum, IntFlag
from typing import NamedTuple

from dots_simulator.groups import GroupSpec, Observation
from envs.dots.api.actions import ActionSpec


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


class BehaviorSpec(NamedTuple):
    """Observations and actions of a behaviour's agents."""

    observation_specs: list[ObservationSpec]
    action_spec: ActionSpec


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
