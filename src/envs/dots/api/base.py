"""What all environments of ML-Agents' API have in common, and its names for plain types."""

from abc import ABC, abstractmethod

AgentId = int
GroupId = int
BehaviorName = str
AgentGroup = str


class BaseEnv(ABC):
    """An environment of ML-Agents, of any version."""

    @abstractmethod
    def step(self) -> None:
        """Let agents act as was set, up to the next decisions."""

    @abstractmethod
    def reset(self) -> None:
        """Let all agents begin new episodes."""

    @abstractmethod
    def close(self) -> None:
        """End the simulator."""
