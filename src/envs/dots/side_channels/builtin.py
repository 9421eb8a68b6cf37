"""The channels that every build has, in the words of the package mlagents_envs."""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, NamedTuple

from dots_simulator.channels import (
    AVERAGE,
    ENGINE_CONFIGURATION,
    ENGINE_SETTINGS,
    ENVIRONMENT_PARAMETERS,
    FLOAT_PROPERTIES,
    HISTOGRAM,
    LATEST,
    PARAMETER_FLOAT,
    STATISTICS,
    SUM,
)
from envs.dots.side_channels.base import IncomingMessage, OutgoingMessage, SideChannel


class EngineConfig(NamedTuple):
    """What `EngineConfigurationChannel.set_configuration_parameters` takes."""

    width: int | None = None
    height: int | None = None
    quality_level: int | None = None
    time_scale: float | None = None
    target_frame_rate: int | None = None
    capture_frame_rate: int | None = None

    @staticmethod
    def default_config() -> "EngineConfig":
        """What ML-Agents trains with."""
        return EngineConfig(80, 80, 1, 20.0, -1, 60)


class EngineConfigurationChannel(SideChannel):
    """How the engine runs, to the simulator."""

    def __init__(self) -> None:
        super().__init__(ENGINE_CONFIGURATION)

    def on_message_received(self, msg: IncomingMessage) -> None:
        """Nothing comes back."""

    def set_configuration_parameters(
        self,
        width: int | None = None,
        height: int | None = None,
        quality_level: int | None = None,
        time_scale: float | None = None,
        target_frame_rate: int | None = None,
        capture_frame_rate: int | None = None,
    ) -> None:
        """Set those that are given.

        Args:
            width, height: of the window, in pixels; both or none.
            quality_level: from 0.
            time_scale: seconds of simulation in one; builds clamp it to 1 .. 100.
            target_frame_rate, capture_frame_rate: frames a second; -1: as fast as possible.

        Raises:
            ValueError: one of width and height.
        """
        if (width is None) != (height is None):
            raise ValueError("set_configuration_parameters() needs both width and height, or neither")
        if width is not None and height is not None:
            self._send("resolution", width, height)
        values = {
            "quality_level": quality_level,
            "time_scale": time_scale,
            "target_frame_rate": target_frame_rate,
            "capture_frame_rate": capture_frame_rate,
        }
        for name, value in values.items():
            if value is not None:
                self._send(name, value)

    def set_configuration(self, config: EngineConfig) -> None:
        self.set_configuration_parameters(**config._asdict())

    def set(self, settings: Mapping[str, Any]) -> None:
        self.set_configuration_parameters(**settings)

    def _send(self, name: str, *values: float) -> None:
        kind, types = ENGINE_SETTINGS[name]
        message = OutgoingMessage()
        message.write_int32(kind)
        for form, value in zip(types, values, strict=True):
            if form == "f":
                message.write_float32(value)
            else:
                message.write_int32(int(value))
        self.queue_message_to_send(message)


class EnvironmentParametersChannel(SideChannel):
    """Numbers that a simulator's tasks depend on, to the simulator."""

    def __init__(self) -> None:
        super().__init__(ENVIRONMENT_PARAMETERS)

    def on_message_received(self, msg: IncomingMessage) -> None:
        """Nothing comes back."""

    def set_float_parameter(self, key: str, value: float) -> None:
        message = OutgoingMessage()
        message.write_string(key)
        message.write_int32(PARAMETER_FLOAT)
        message.write_float32(value)
        self.queue_message_to_send(message)


class FloatPropertiesChannel(SideChannel):
    """Numbers by name, both ways."""

    def __init__(self, channel_id: Any = None) -> None:
        super().__init__(FLOAT_PROPERTIES if channel_id is None else channel_id)
        self._properties: dict[str, float] = {}

    def on_message_received(self, msg: IncomingMessage) -> None:
        key = msg.read_string()
        self._properties[key] = msg.read_float32()

    def set_property(self, key: str, value: float) -> None:
        self._properties[key] = value
        message = OutgoingMessage()
        message.write_string(key)
        message.write_float32(value)
        self.queue_message_to_send(message)

    def get_property(self, key: str) -> float | None:
        """The last value that either side has set."""
        return self._properties.get(key)

    def list_properties(self) -> list[str]:
        return list(self._properties)

    def get_property_dict_copy(self) -> dict[str, float]:
        return dict(self._properties)


class StatsAggregationMethod(IntEnum):
    """What becomes of the values of several turns."""

    AVERAGE = AVERAGE
    MOST_RECENT = LATEST
    SUM = SUM
    HISTOGRAM = HISTOGRAM


EnvironmentStats = Mapping[str, list[tuple[float, StatsAggregationMethod]]]
# distinct names that one simulator may report: more are a mistake, and every one would be a column of a log
MOST_STATISTICS = 1000


class StatsSideChannel(SideChannel):
    """Statistics of the simulator."""

    def __init__(self) -> None:
        super().__init__(STATISTICS)
        self._stats: dict[str, list[tuple[float, StatsAggregationMethod]]] = {}

    def on_message_received(self, msg: IncomingMessage) -> None:
        key, value, method = msg.read_string(), msg.read_float32(), msg.read_int32()
        if key in self._stats or len(self._stats) < MOST_STATISTICS:
            known = method if method in list(StatsAggregationMethod) else AVERAGE
            self._stats.setdefault(key, []).append((value, StatsAggregationMethod(known)))

    def get_and_reset_stats(self) -> dict[str, list[tuple[float, StatsAggregationMethod]]]:
        """What has arrived since the last call."""
        stats, self._stats = self._stats, {}
        return stats

    def state_dict(self) -> dict[str, list[list[float]]]:
        return {key: [[value, int(method)] for value, method in entries] for key, entries in self._stats.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._stats = {
            key: [(value, StatsAggregationMethod(method)) for value, method in entries]
            for key, entries in state.items()
        }

    def figures(self) -> dict[str, float]:
        """One number for each name, of what has arrived since the last call."""
        found = {}
        for key, entries in self.get_and_reset_stats().items():
            values, method = [value for value, _ in entries], entries[-1][1]
            if method == StatsAggregationMethod.MOST_RECENT:
                found[key] = values[-1]
            elif method == StatsAggregationMethod.SUM:
                found[key] = sum(values)
            else:
                found[key] = sum(values) / len(values)
        return found
