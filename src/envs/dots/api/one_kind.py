"""Actions of one kind, discrete or continuous, in the words of ML-Agents before it had both at once."""

from enum import Enum

import numpy as np


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
        return len(self.action_shape) if self.is_action_discrete() else self.action_shape

    @property
    def discrete_action_branches(self) -> tuple[int, ...] | None:
        """Choices of each branch; None: actions are continuous."""
        return self.action_shape if self.is_action_discrete() else None

    def create_empty_action(self, n_agents: int) -> np.ndarray:
        """Zeros, int32 or float32 `[n_agents, action_size]`."""
        return np.zeros((n_agents, self.action_size), np.int32 if self.is_action_discrete() else np.float32)

    def create_random_action(self, n_agents: int) -> np.ndarray:
        """Uniform: choices, or floats from -1 to 1. From NumPy's global generator."""
        if self.is_action_discrete():
            return np.random.randint(0, self.action_shape, (n_agents, self.action_size)).astype(np.int32)
        return np.random.uniform(-1.0, 1.0, (n_agents, self.action_size)).astype(np.float32)
