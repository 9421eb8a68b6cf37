"""The client's end of the link: turns that the game opens, and that must be echoed exactly once."""

import contextlib
import socket
import time
from typing import Any

from envs.trackmania.messages import BLOCK, BY_NAME, BY_NUMBER, CLIENT, GAME, NUMBER, PIXELS, SCALARS, encoded

PIXEL_BYTES = 4


class GameLost(Exception):
    """The game is gone, hangs, or its bytes make no sense: the connection cannot be used any more."""


class TurnError(RuntimeError):
    """The client has used a turn that is over, or has not ended one: a mistake in the program."""


class Turn:
    """A message of the game, which waits until `echo`.

    `name`, `values`: of the message, by the names in `messages.MESSAGES`. Commands are sent together: with the next
    question, with the echo, or by `flush`.
    """

    def __init__(self, link: "GameLink", name: str, values: dict[str, Any]):
        self._link, self.name, self.values = link, name, values

    def send(self, name: str, *values: Any) -> None:
        """Give a command."""
        self._require_open()
        if BY_NAME[name].sender != CLIENT or BY_NAME[name].reply:
            raise TurnError(f"{name} is not a command")
        self._link.note(name, values)

    def ask(self, name: str) -> Any:
        """The answer to a question."""
        self._require_open()
        if not BY_NAME[name].reply:
            raise TurnError(f"{name} has no answer")
        self._link.note(name, ())
        return self._link.answer(name)

    def flush(self) -> None:
        self._require_open()
        self._link.flush()

    def echo(self) -> None:
        self._require_open()
        self._link.end(self)

    def _require_open(self) -> None:
        if not self._link.is_open(self):
            raise TurnError(f"the turn {self.name} is over")


class GameLink:
    """An exact reader and writer on a connected socket, which `close` closes.

    All methods but `close` raise `GameLost`: the connection is closed, short, reset or silent for `timeout` seconds of
    a whole message or answer, or sends nonsense.
    """

    def __init__(self, connection: socket.socket, timeout: float):
        self._socket, self.timeout = connection, timeout
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._turn: Turn | None = None
        self._outgoing = bytearray()
        self._pixels = 0  # of the last requested frame

    def turn(self) -> Turn:
        """Wait for the game's next message."""
        if self._turn is not None:
            raise TurnError(f"the turn {self._turn.name} has not been echoed")
        deadline = time.monotonic() + self.timeout
        number = self._scalar("i32", deadline)
        message = BY_NUMBER.get(number)
        if message is None or message.sender != GAME:
            raise GameLost(f"it sent a message of type {number}, which it does not have: its bytes are out of step")
        values = {name: self._value(kind, 0, deadline) for name, kind in message.payload}
        self._turn = Turn(self, message.name, values)
        return self._turn

    def is_open(self, turn: Turn) -> bool:
        """Whether the game waits in this turn."""
        return self._turn is turn

    def note(self, name: str, values: tuple) -> None:
        self._outgoing += encoded(name, *values)
        if name == "request_frame":
            self._pixels = values[0] * values[1]

    def answer(self, name: str) -> Any:
        self.flush()
        message = BY_NAME[name]
        return self._value(message.reply, message.most, time.monotonic() + self.timeout)

    def end(self, turn: Turn) -> None:
        """Echo a turn."""
        self._outgoing += NUMBER.pack(BY_NAME[turn.name].number)
        self._turn = None
        self.flush()

    def flush(self) -> None:
        data, self._outgoing = self._outgoing, bytearray()
        try:
            self._socket.settimeout(self.timeout)
            self._socket.sendall(data)
        except OSError as error:
            raise _lost(error, self.timeout) from None

    def close(self) -> None:
        """Let the game run at its own speed, without a client; may be called twice."""
        with contextlib.suppress(OSError):
            self._socket.settimeout(1.0)
            self._socket.sendall(self._outgoing + encoded("set_speed", 1.0) + encoded("shutdown"))
        self._outgoing.clear()
        self._turn = None
        self._socket.close()

    def _value(self, kind: str, most: int, deadline: float) -> Any:
        if kind == PIXELS:
            if not self._pixels:
                raise GameLost("it sent a frame that was never requested")
            return self._exactly(PIXEL_BYTES * self._pixels, deadline)
        if kind != BLOCK:
            return self._scalar(kind, deadline)
        size = self._scalar("i32", deadline)
        if not 0 <= size <= most:
            raise GameLost(f"it announced {size} bytes, where 0 to {most} are possible")
        return self._exactly(size, deadline)

    def _scalar(self, kind: str, deadline: float) -> Any:
        packer = SCALARS[kind]
        return packer.unpack(self._exactly(packer.size, deadline))[0]

    def _exactly(self, size: int, deadline: float) -> bytearray:
        data = bytearray(size)
        view, done = memoryview(data), 0
        while done < size:
            try:
                self._socket.settimeout(max(deadline - time.monotonic(), 1e-3))
                got = self._socket.recv_into(view[done:])
            except OSError as error:
                raise _lost(error, self.timeout) from None
            if got == 0:
                raise GameLost(f"it closed the connection{' in the middle of a message' if done else ''}")
            done += got
        return data


def _lost(error: OSError, seconds: float) -> GameLost:
    if isinstance(error, TimeoutError | BlockingIOError):
        return GameLost(f"it hangs: no message for {seconds:g} seconds (env_args.game_timeout)")
    return GameLost(f"the connection is lost: {error.strerror or error}")
