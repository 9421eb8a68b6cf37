"""Side channels from the simulator's side: what the trainer has said, and what it will hear with the next turn."""

from collections.abc import Callable
from uuid import UUID

from dots_simulator.channels import (
    AVERAGE,
    ENGINE_CONFIGURATION,
    ENGINE_SETTINGS,
    ENVIRONMENT_PARAMETERS,
    FLOAT_PROPERTIES,
    PARAMETER_FLOAT,
    STATISTICS,
    BodyReader,
    BodyWriter,
    framed,
    unframed,
)

# a message of mlagents-envs up to 0.15: all settings in one, in this order
_ALL_SETTINGS_BYTES = 20


class Messages:
    """The channels of one simulator.

    A message of a channel that nobody listens to is kept until the next messages come: who starts to listen meanwhile
    still gets it.
    """

    def __init__(self) -> None:
        # of the engine: resolution (width, height), quality_level, time_scale, target_frame_rate, capture_frame_rate
        self.engine: dict[str, float | tuple[float, float]] = {}
        self.parameters: dict[str, float] = {}
        self.properties: dict[str, float] = {}
        self._out: list[tuple[UUID, bytes]] = []
        self._kept: list[tuple[UUID, bytes]] = []
        self._listeners: dict[UUID, Callable[[bytes], None]] = {
            ENGINE_CONFIGURATION: self._configure,
            ENVIRONMENT_PARAMETERS: self._set_parameter,
            FLOAT_PROPERTIES: self._set_property,
        }

    def listen(self, channel: UUID, receive: Callable[[bytes], None]) -> None:
        """Call a function with every message of a channel.

        Raises:
            ValueError: another function listens.
        """
        if channel in self._listeners:
            raise ValueError(f"side channel {channel} has a listener already")
        self._listeners[channel] = receive
        kept, self._kept = self._kept, []
        self._deliver(kept)

    def send(self, channel: UUID, body: bytes | bytearray) -> None:
        """Send a message with the next turn."""
        self._out.append((channel, bytes(body)))

    def send_statistic(self, key: str, value: float, aggregation: int = AVERAGE) -> None:
        """Let the trainer log a number.

        Args:
            aggregation: what it makes of several: channels.AVERAGE, LATEST, SUM or HISTOGRAM.
        """
        self.send(STATISTICS, BodyWriter().string(key).float32(value).int32(aggregation).body)

    def set_property(self, key: str, value: float) -> None:
        """Set a float property on both sides."""
        self.properties[key] = value
        self.send(FLOAT_PROPERTIES, BodyWriter().string(key).float32(value).body)

    def take(self) -> bytes:
        """The payload of the next turn."""
        if not self._out:
            return b""
        out, self._out = self._out, []
        return framed(out)

    def receive(self, payload: bytes) -> None:
        """The trainer's payload.

        Raises:
            LayoutError: it is no such payload.
        """
        kept, self._kept = self._kept, []
        for channel, _ in kept:
            print(f"a side channel that this simulator does not know: {channel}", flush=True)
        self._deliver(unframed(payload))

    def _deliver(self, messages: list[tuple[UUID, bytes]]) -> None:
        for channel, body in messages:
            if channel in self._listeners:
                self._listeners[channel](body)
            else:
                self._kept.append((channel, body))

    def _configure(self, body: bytes) -> None:
        reader = BodyReader(body)
        if len(body) == _ALL_SETTINGS_BYTES:
            settings = [("resolution", "ii"), ("quality_level", "i"), ("time_scale", "f"), ("target_frame_rate", "i")]
        else:
            kind = reader.int32()
            settings = [(name, form) for name, (number, form) in ENGINE_SETTINGS.items() if number == kind]
        for name, form in settings:
            values = tuple(reader.int32() if letter == "i" else reader.float32() for letter in form)
            self.engine[name] = (values[0], values[1]) if len(values) > 1 else values[0]

    def _set_parameter(self, body: bytes) -> None:
        reader = BodyReader(body)
        key, kind = reader.string(), reader.int32()
        if kind == PARAMETER_FLOAT:
            self.parameters[key] = reader.float32()
        else:
            print(f"environment parameter {key} is no number but a sampler, which this simulator ignores", flush=True)

    def _set_property(self, body: bytes) -> None:
        reader = BodyReader(body)
        key = reader.string()
        self.properties[key] = reader.float32()
