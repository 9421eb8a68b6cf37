"""What behaviours see and do."""

from collections.abc import Iterator, Mapping
from enum import Enum, IntEnum, IntFlag
from typing import NamedTuple

import numpy as np

from dots_simulator.groups import GroupSpec, Observation
from envs.dots.api.exceptions import UnityActionException

KINDS = ("continuous", "discrete")


class ActionTuple:
    """Actions of n agents.

    Args:
        continuous: `[n, floats]`, made float32; None: none.
        discrete: `[n, branches]`, made int32; None: none.

    Raises:
        UnityActionException: an array has not two axes, or both have different n.
    """

    def __init__(self, continuous: np.ndarray | None = None, discrete: np.ndarray | None = None):
        self._continuous: np.ndarray | None = None
        self._discrete: np.ndarray | None = None
        if continuous is not None:
            self.add_continuous(continuous)
        if discrete is not None:
            self.add_discrete(discrete)

    @property
    def continuous(self) -> np.ndarray | None:
        return self._continuous

    @property
    def discrete(self) -> np.ndarray | None:
        return self._discrete

    def add_continuous(self, continuous: np.ndarray) -> None:
        self._continuous = self._two_axes("continuous", np.asarray(continuous, dtype=np.float32), self._discrete)

    def add_discrete(self, discrete: np.ndarray) -> None:
        self._discrete = self._two_axes("discrete", np.asarray(discrete, dtype=np.int32), self._continuous)

    def __len__(self) -> int:
        return next((len(x) for x in (self._continuous, self._discrete) if x is not None), 0)

    def _two_axes(self, what: str, values: np.ndarray, other: np.ndarray | None) -> np.ndarray:
        if values.ndim != 2:
            raise UnityActionException(f"{what} actions have the shape {values.shape}; it must be (agents, size)")
        if other is not None and len(other) != len(values):
            raise UnityActionException(f"{what} actions are of {len(values)} agents, the others of {len(other)}")
        return values


class ActionSpec(NamedTuple):
    """What one agent does.

    Args:
        continuous_size: floats.
        discrete_branches: choices of each branch.
    """

    continuous_size: int
    discrete_branches: tuple[int, ...]

    @property
    def discrete_size(self) -> int:
        return len(self.discrete_branches)

    def is_discrete(self) -> bool:
        return self.discrete_size > 0 and self.continuous_size == 0

    def is_continuous(self) -> bool:
        return self.discrete_size == 0 and self.continuous_size > 0

    def empty_action(self, n_agents: int) -> ActionTuple:
        return ActionTuple(np.zeros((n_agents, self.continuous_size)), np.zeros((n_agents, self.discrete_size)))

    def random_action(self, n_agents: int) -> ActionTuple:
        """Uniform: floats from -1 to 1, and choices. From NumPy's global generator."""
        continuous = np.random.uniform(-1.0, 1.0, (n_agents, self.continuous_size))
        columns = [np.random.randint(0, size, (n_agents, 1)) for size in self.discrete_branches]
        return ActionTuple(continuous, np.concatenate(columns, axis=1) if columns else np.zeros((n_agents, 0)))

    def fitting(
        self, actions: "ActionTuple | np.ndarray", n_agents: int, name: str
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        """The continuous and the discrete actions of so many agents; None: none were given.

        Args:
            actions: with `continuous` and `discrete`, or an array where actions are of one kind.

        Raises:
            UnityActionException: of another number, another size, or another kind.
        """
        if not (hasattr(actions, "continuous") and hasattr(actions, "discrete")):
            actions = self._tuple_of(actions, name)
        for what, values, size in (
            ("continuous", actions.continuous, self.continuous_size),
            ("discrete", actions.discrete, self.discrete_size),
        ):
            if values is not None and values.shape != (n_agents, size) and (values.size or n_agents * size):
                raise UnityActionException(
                    f"The behavior {name} needs {what} actions of the shape {(n_agents, size)}, not {values.shape}"
                )
        return actions.continuous, actions.discrete

    def _tuple_of(self, actions: "np.ndarray", name: str) -> ActionTuple:
        kinds = [kind for kind, size in zip(KINDS, (self.continuous_size, self.discrete_size), strict=True) if size]
        example = f"ActionTuple({', '.join(f'{kind}=array' for kind in kinds or KINDS[:1])})"
        if len(kinds) > 1:
            raise UnityActionException(
                f"The behavior {name} has continuous and discrete actions and needs both, as {example}, "
                f"not {type(actions).__name__}"
            )
        values = np.asarray(actions) if isinstance(actions, np.ndarray | list | tuple) else None
        if values is None or values.dtype.kind not in "biuf":
            raise UnityActionException(
                f"The behavior {name} needs an array of {(kinds or KINDS)[0]} actions, or {example}, "
                f"not {type(actions).__name__}"
            )
        if kinds == ["discrete"]:
            if (values != np.trunc(values)).any():
                raise UnityActionException(
                    f"The behavior {name} needs discrete actions, which are whole numbers, not {values.ravel()[:8]}"
                )
            return ActionTuple(discrete=values)
        return ActionTuple(continuous=values)

    @staticmethod
    def create_continuous(continuous_size: int) -> "ActionSpec":
        return ActionSpec(continuous_size, ())

    @staticmethod
    def create_discrete(discrete_branches: tuple[int, ...]) -> "ActionSpec":
        return ActionSpec(0, tuple(discrete_branches))

    @staticmethod
    def create_hybrid(continuous_size: int, discrete_branches: tuple[int, ...]) -> "ActionSpec":
        return ActionSpec(continuous_size, tuple(discrete_branches))


class ActionType(Enum):
    """What all actions of a group are."""

    DISCRETE = 0
    CONTINUOUS = 1


class OneKind:
    """What follows from `action_type` and `action_shape`: the choices of each branch, or the number of floats."""

    action_type: ActionType
    action_shape: int | tuple[int, ...]

    def is_action_discrete(self) -> bool:
        return self.action_type == ActionType.DISCRETE

    def is_action_continuous(self) -> bool:
        return self.action_type == ActionType.CONTINUOUS

    @property
    def action_size(self) -> int:
        """Branches, or floats."""
        shape = self.action_shape
        return shape if isinstance(shape, int) else len(shape)

    @property
    def discrete_action_branches(self) -> tuple[int, ...] | None:
        """Choices of each branch; None: actions are continuous."""
        shape = self.action_shape
        return None if isinstance(shape, int) else shape

    def create_empty_action(self, n_agents: int) -> np.ndarray:
        """Zeros, int32 or float32 `[n_agents, action_size]`."""
        return np.zeros((n_agents, self.action_size), np.int32 if self.is_action_discrete() else np.float32)

    def create_random_action(self, n_agents: int) -> np.ndarray:
        """Uniform: choices, or floats from -1 to 1. From NumPy's global generator."""
        if self.is_action_discrete():
            return np.random.randint(0, self.action_shape, (n_agents, self.action_size)).astype(np.int32)
        return np.random.uniform(-1.0, 1.0, (n_agents, self.action_size)).astype(np.float32)


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
    def action_type(self) -> ActionType:  # type: ignore[override]
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
    def action_shape(self) -> int | tuple[int, ...]:  # type: ignore[override]
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
    observations = [_observation(i, seen) for i, seen in enumerate(spec.observations)]
    return BehaviorSpec(observations, ActionSpec(spec.continuous, spec.branches))


def _observation(i: int, seen: Observation) -> ObservationSpec:
    kind = ObservationType(seen.type) if seen.type in list(ObservationType) else ObservationType.DEFAULT
    # protocols leave it out: an index is a name
    properties = tuple(DimensionProperty(one & 7) for one in seen.properties[: len(seen.shape)])
    return ObservationSpec(seen.shape, properties, kind, f"obs_{i}")
