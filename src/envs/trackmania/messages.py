"""The messages between TMInterface's plugin and its client: client, stand-in and docs are made from this table.

Scalars are little-endian. A message is its number as i32 and its payload, and nothing else frames it; a reply has no
number.
"""

import struct
from dataclasses import dataclass
from typing import Any

GAME, CLIENT = "game", "client"
# a block is its number of bytes as i32, and these; pixels are as many as were requested, 4 bytes each, without a length
BLOCK, PIXELS = "block", "pixels"
SCALARS = {
    "i32": struct.Struct("<i"),
    "u32": struct.Struct("<I"),
    "f32": struct.Struct("<f"),
    "u8": struct.Struct("<B"),
}
NUMBER = SCALARS["i32"]
MOST_STATE, MOST_INPUTS = 2**20, 2**24  # bytes of a reply


@dataclass(frozen=True)
class Message:
    """One kind of message."""

    number: int  # its type on the wire
    name: str
    sender: str  # GAME: it opens a turn, which the client ends by echoing its number. CLIENT: a command or a question
    payload: tuple[tuple[str, str], ...] = ()  # names and kinds of what follows the number
    reply: str = ""  # the kind of the game's answer; "": there is none
    most: int = 0  # bytes of a block in the reply
    effect: str = ""  # a sentence for people


def _game(number: int, name: str, effect: str, *payload: tuple[str, str]) -> Message:
    return Message(number, name, GAME, payload, effect=effect)


def _client(number: int, name: str, effect: str, *payload: tuple[str, str], reply: str = "", most: int = 0) -> Message:
    return Message(number, name, CLIENT, payload, reply, most, effect)


COUNTS = (("current", "i32"), ("target", "i32"))
PRESSED = tuple((name, "u8") for name in ("left", "right", "accelerate", "brake"))
MESSAGES = (
    _game(1, "run_step", "before a tick whose race time is a multiple of the step period, ms", ("time", "i32")),
    _game(2, "checkpoint_count", "a checkpoint; the finish if current is target", *COUNTS),
    _game(3, "lap_count", "a lap", *COUNTS),
    _game(4, "frame", "the requested frame, BGRA, row by row", ("pixels", PIXELS)),
    _game(5, "connected", "the client was accepted, and the game is past its start"),
    _client(6, "set_speed", "factor of the game's speed; 0: frozen", ("speed", "f32")),
    _client(7, "rewind", "continue from this state", ("state", BLOCK)),
    _client(8, "rewind_in_place", "save and restore the present state"),
    _client(9, "get_state", "the simulation state", reply=BLOCK, most=MOST_STATE),
    _client(10, "set_inputs", "pressed (1) or not, until changed", *PRESSED),
    _client(11, "give_up", "restart the race, with its countdown"),
    _client(12, "prevent_finish", "the game does not register the finish"),
    _client(13, "shutdown", "the game forgets the client; ends an open turn"),
    _client(14, "execute", "a command of the console", ("command", BLOCK)),
    _client(15, "set_timeout", "ms that the game waits in later turns", ("milliseconds", "u32")),
    _client(16, "race_finished", "whether the race is finished", reply="i32"),
    _client(17, "request_frame", "one frame, once", ("width", "i32"), ("height", "i32")),
    _client(18, "reset_camera", "reset the camera"),
    _client(19, "set_step_period", "ms between run steps", ("milliseconds", "i32")),
    _client(20, "cancel_frame", "take the request of a frame back"),
    _client(21, "toggle_interface", "show (1) or hide (0) the interface of races", ("shown", "i32")),
    _client(22, "in_menus", "whether the game is in its menus", reply="i32"),
    _client(23, "get_inputs", "the inputs of the race so far, as text", reply=BLOCK, most=MOST_INPUTS),
)
BY_NAME = {message.name: message for message in MESSAGES}
BY_NUMBER = {message.number: message for message in MESSAGES}


def encoded(name: str, *values: Any) -> bytes:
    """A message with its payload; text in a block is UTF-8, and its length that of the bytes."""
    message = BY_NAME[name]
    parts = [NUMBER.pack(message.number)]
    for (_, kind), value in zip(message.payload, values, strict=True):
        parts.append(packed(kind, value))
    return b"".join(parts)


def packed(kind: str, value: Any) -> bytes:
    """One value of a payload or a reply."""
    if kind in SCALARS:
        return SCALARS[kind].pack(value)
    data = value.encode() if isinstance(value, str) else bytes(value)
    return NUMBER.pack(len(data)) + data if kind == BLOCK else data


def table() -> str:
    """The messages as a table in Markdown."""
    lines = ["| no | message | from | payload | reply | meaning |", "| --- | --- | --- | --- | --- | --- |"]
    for one in MESSAGES:
        payload = ", ".join(f"{kind} {name}" for name, kind in one.payload)
        lines.append(f"| {one.number} | `{one.name}` | {one.sender} | {payload} | {one.reply} | {one.effect} |")
    return "\n".join(lines)
