"""Side channels: messages that travel with the turns, beside what agents see and do."""

from envs.dots.side_channels.base import IncomingMessage, OutgoingMessage, RawBytesChannel, SideChannel
from envs.dots.side_channels.builtin import (
    EngineConfigurationChannel,
    EnvironmentParametersChannel,
    FloatPropertiesChannel,
    StatsAggregationMethod,
    StatsSideChannel,
)
from envs.dots.side_channels.manager import SideChannelManager
from utils.registry import Registry

# of plugins: REGISTRY["mine"] = MyChannel, and env_args.side_channels=[mine]
REGISTRY = Registry("side channel")

__all__ = [
    "REGISTRY",
    "EngineConfigurationChannel",
    "EnvironmentParametersChannel",
    "FloatPropertiesChannel",
    "IncomingMessage",
    "OutgoingMessage",
    "RawBytesChannel",
    "SideChannel",
    "SideChannelManager",
    "StatsAggregationMethod",
    "StatsSideChannel",
]
