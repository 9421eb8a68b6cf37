"""Side channels: messages that both sides exchange with every turn, each for a channel with a GUID.

The payload of a turn is any number of messages, one after another: GUID in .NET's order of bytes (16), int32 length,
body. Bodies are made of bool (1 byte), int32, float32, string (int32 length, ASCII) and list of floats (int32 length,
float32 each), little-endian.

`STATE` is an extension, in protocol 0.3.2 only: a simulator that can save and restore itself offers it. Its body is an
int32 kind, one of `STATE_KINDS`, and for some kinds bytes.

    offer    from the simulator, in its first answer that has rows: it knows the channel.
    save     from the trainer, in a query: what is your state?
    saved    from the simulator, in the answer: the state as bytes, which nobody else reads. It includes the rows that
             the simulator shows at that time, to which no actions have come.
    load     from the trainer, in a query: the bytes of a `saved`, perhaps of another process with the same program and
             arguments. The simulator becomes what it was, and writes the rows that it showed then, of every group,
             before it answers; a simulator that has shown no rows first registers its groups.
    loaded   from the simulator, in the answer, with no bytes; or with an ASCII sentence that says why it could not.

A trainer without the channel ignores the offer, a simulator without it never makes one.
"""

import struct
from collections.abc import Iterable
from uuid import UUID

from dots_simulator.layout import MAX_SIDE_BYTES, LayoutError

ENGINE_CONFIGURATION = UUID("e951342c-4f7e-11ea-b238-784f4387d1f7")
FLOAT_PROPERTIES = UUID("60ccf7d0-4f7e-11ea-b238-784f4387d1f7")
ENVIRONMENT_PARAMETERS = UUID("534c891e-810f-11ea-a9d0-822485860400")
STATISTICS = UUID("a1d8f7b7-cec8-50f9-b78b-d3e165a78520")
STATE = UUID("cfa7ec29-54cc-4f0c-b855-81781f71553c")
STATE_KINDS = {"offer": 0, "save": 1, "saved": 2, "load": 3, "loaded": 4}
# of statistics: what becomes of the values of several turns
AVERAGE, LATEST, SUM, HISTOGRAM = range(4)
# of ENGINE_CONFIGURATION: the int32 before the values, and their types
ENGINE_SETTINGS = {
    "resolution": (0, "ii"),
    "quality_level": (1, "i"),
    "time_scale": (2, "f"),
    "target_frame_rate": (3, "i"),
    "capture_frame_rate": (4, "i"),
}
# of ENVIRONMENT_PARAMETERS: the int32 between name and value
PARAMETER_FLOAT = 0
_HEAD = struct.Struct("<16si")


def framed(messages: Iterable[tuple[UUID, bytes]]) -> bytes:
    """The payload that carries messages, in their order."""
    return b"".join(_HEAD.pack(channel.bytes_le, len(body)) + body for channel, body in messages)


def unframed(payload: bytes) -> list[tuple[UUID, bytes]]:
    """The messages of a payload.

    Raises:
        LayoutError: it ends within a message.
    """
    if len(payload) > MAX_SIDE_BYTES:
        raise LayoutError(f"side channels carry {len(payload)} bytes; at most {MAX_SIDE_BYTES} are allowed")
    found, at = [], 0
    while at < len(payload):
        if at + _HEAD.size > len(payload):
            raise LayoutError(f"a side channel's message at {at} has {len(payload) - at} bytes of its head's 20")
        guid, length = _HEAD.unpack_from(payload, at)
        at += _HEAD.size
        channel = UUID(bytes_le=guid)
        if not 0 <= length <= len(payload) - at:
            raise LayoutError(
                f"a message of side channel {channel} at {at} is {length} bytes long; {len(payload) - at} are left"
            )
        found.append((channel, bytes(payload[at : at + length])))
        at += length
    return found


class BodyWriter:
    """Makes a message's body."""

    def __init__(self) -> None:
        self.body = bytearray()

    def boolean(self, value: bool) -> "BodyWriter":
        return self._pack("<?", value)

    def int32(self, value: int) -> "BodyWriter":
        return self._pack("<i", value)

    def float32(self, value: float) -> "BodyWriter":
        return self._pack("<f", value)

    def string(self, value: str) -> "BodyWriter":
        """
        Raises:
            LayoutError: it is not ASCII.
        """
        if not value.isascii():
            raise LayoutError(f"'{value}' is not ASCII, and side channels carry no other text")
        self.int32(len(value))
        return self.raw(value.encode("ascii"))

    def floats(self, values: Iterable[float]) -> "BodyWriter":
        values = list(values)
        self.int32(len(values))
        return self._pack(f"<{len(values)}f", *values)

    def raw(self, value: bytes) -> "BodyWriter":
        self.body += value
        return self

    def _pack(self, form: str, *values: object) -> "BodyWriter":
        self.body += struct.pack(form, *values)
        return self


class BodyReader:
    """Reads a message's body from its start.

    Raises:
        LayoutError: by every method, if the body ends before.
    """

    def __init__(self, body: bytes):
        self._body, self._at = bytes(body), 0

    @property
    def at_end(self) -> bool:
        """Whether nothing is left."""
        return self._at == len(self._body)

    def boolean(self) -> bool:
        return self._unpack("<?")[0]

    def int32(self) -> int:
        return self._unpack("<i")[0]

    def float32(self) -> float:
        return self._unpack("<f")[0]

    def string(self) -> str:
        """Bytes that are no ASCII become U+FFFD."""
        return self._take(self._count(1)).decode("ascii", "replace")

    def floats(self) -> list[float]:
        return list(self._unpack(f"<{self._count(4)}f"))

    def rest(self) -> bytes:
        """What has not been read."""
        return self._take(len(self._body) - self._at)

    def _count(self, size: int) -> int:
        count = self.int32()
        if not 0 <= count * size <= len(self._body) - self._at:
            raise LayoutError(f"a message's body names {count} items, and {len(self._body) - self._at} bytes are left")
        return count

    def _unpack(self, form: str) -> tuple:
        return struct.unpack(form, self._take(struct.calcsize(form)))

    def _take(self, size: int) -> bytes:
        if size > len(self._body) - self._at:
            raise LayoutError(f"a message's body of {len(self._body)} bytes ends before byte {self._at + size}")
        self._at += size
        return self._body[self._at - size : self._at]
