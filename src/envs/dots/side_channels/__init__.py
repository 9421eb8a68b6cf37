"""Side channels: messages that travel with the turns, beside what agents see and do."""

from typing import Any

from envs.dots.side_channels.base import IncomingMessage, OutgoingMessage, RawBytesChannel, SideChannel
from envs.dots.side_channels.builtin import (
    EngineConfig,
    EngineConfigurationChannel,
    EnvironmentParametersChannel,
    EnvironmentStats,
    FloatPropertiesChannel,
    StatsAggregationMethod,
    StatsSideChannel,
)
from envs.dots.side_channels.manager import SideChannelManager
from utils.config.registry import Registry

# of plugins: REGISTRY["mine"] = MyChannel, and env_args.side_channels=[mine]
REGISTRY = Registry("side channel")


def carried(env_args: dict[str, Any]) -> dict[str, Any]:
    """The arguments of an environment, with the classes of plugins' channels in place of their names."""
    return {**env_args, "side_channels": [*map(_class_of, env_args.get("side_channels") or [])]}


def _class_of(name: Any) -> Any:
    if isinstance(name, type):  # carried already
        return name
    return REGISTRY[name]


__all__ = [
    "REGISTRY",
    "EngineConfig",
    "EngineConfigurationChannel",
    "EnvironmentParametersChannel",
    "EnvironmentStats",
    "FloatPropertiesChannel",
    "IncomingMessage",
    "OutgoingMessage",
    "RawBytesChannel",
    "SideChannel",
    "SideChannelManager",
    "StatsAggregationMethod",
    "StatsSideChannel",
]
