"""Actions of a behaviour's agents."""

from typing import NamedTuple

import numpy as np

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
        """Branches."""
        return len(self.discrete_branches)

    def is_discrete(self) -> bool:
        return self.discrete_size > 0 and self.continuous_size == 0

    def is_continuous(self) -> bool:
        return self.discrete_size == 0 and self.continuous_size > 0

    def empty_action(self, n_agents: int) -> ActionTuple:
        """Zeros."""
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
        """Actions of the only kind."""
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
