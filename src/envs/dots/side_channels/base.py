"""A side channel, in the words of the package mlagents_envs."""

import uuid

from dots_simulator.channels import BodyReader, BodyWriter


class OutgoingMessage(BodyWriter):
    """A message under way to the simulator; values are written one after another."""

    write_bool, write_int32, write_float32 = BodyWriter.boolean, BodyWriter.int32, BodyWriter.float32
    write_float32_list, write_string = BodyWriter.floats, BodyWriter.string

    @property
    def buffer(self) -> bytes:
        return bytes(self.body)

    def set_raw_bytes(self, buffer: bytes) -> None:
        """Bytes instead of values. Raises ValueError: values were written."""
        if self.body:
            raise ValueError("set_raw_bytes() of a message that has values already")
        self.raw(buffer)


class IncomingMessage(bytes):
    """A message from the simulator; values are read one after another. Beyond the end they are the defaults.

    It is bytes as well, which channels got before there were messages (mlagents_envs 0.14).
    """

    def __init__(self, buffer: bytes):
        self._reader = BodyReader(buffer)

    def read_bool(self, default_value: bool = False) -> bool:
        return self._read(self._reader.boolean, default_value)

    def read_int32(self, default_value: int = 0) -> int:
        return self._read(self._reader.int32, default_value)

    def read_float32(self, default_value: float = 0.0) -> float:
        return self._read(self._reader.float32, default_value)

    def read_float32_list(self, default_value: list[float] | None = None) -> list[float]:
        return self._read(self._reader.floats, [] if default_value is None else default_value)

    def read_string(self, default_value: str = "") -> str:
        return self._read(self._reader.string, default_value)

    def get_raw_bytes(self) -> bytes:
        return bytes(self)

    def _read(self, read, default):
        return default if self._reader.at_end else read()


class SideChannel:
    """One channel: queue messages for the simulator, receive its.

    Args:
        channel_id: GUID, on which both sides agree.
    """

    def __init__(self, channel_id: uuid.UUID):
        self._channel_id = channel_id
        self.message_queue: list[bytes] = []

    @property
    def channel_id(self) -> uuid.UUID:
        return self._channel_id

    def on_message_received(self, msg: IncomingMessage) -> None:
        """Called with each message of the simulator, in their order."""
        raise NotImplementedError(f"{type(self).__name__} does not define on_message_received()")

    def queue_message_to_send(self, msg: OutgoingMessage | bytes) -> None:
        """Send a message with the next turn; bytes, as before there were messages, are its body."""
        self.message_queue.append(msg.buffer if isinstance(msg, OutgoingMessage) else bytes(msg))


class RawBytesChannel(SideChannel):
    """Bytes, both ways."""

    def __init__(self, channel_id: uuid.UUID):
        super().__init__(channel_id)
        self._received: list[bytes] = []

    def on_message_received(self, msg: IncomingMessage) -> None:
        self._received.append(msg.get_raw_bytes())

    def get_and_clear_received_messages(self) -> list[bytes]:
        """What has arrived since the last call."""
        received, self._received = self._received, []
        return received

    def send_raw_data(self, data: bytes) -> None:
        """Send with the next turn."""
        message = OutgoingMessage()
        message.set_raw_bytes(data)
        self.queue_message_to_send(message)
