"""What may go wrong with the stand-in for TrackMania."""

import os
import signal
from dataclasses import dataclass, field
from pathlib import Path


class Dropped(Exception):
    """The stand-in lets go of its client."""


@dataclass
class Faults:
    """Faults; none of them by default.

    Args:
        listen_after, greet_after: seconds: connections are refused, and accepted ones wait for `connected`.
        at: the name of a message; the `number`-th one of it, sent or received, has the fault `do`: close, half (of the
            message is sent, and then nothing), silence, garbage (is sent instead), kill (this process).
        once: a file that is made when it happens, and keeps it from happening again; "": it happens once.
        flags: of the states.
        echo_twice: the turn of the `number`-th message `at` needs two echoes.
        late_frame: a frame is sent although its request was taken back.
        finish_at: the car finishes in the tick after this time, ms.
        menus: the game is in its menus at first.
        checkpoints: the number of checkpoints in states; 0: empty lists.
    """

    listen_after: float = 0.0
    greet_after: float = 0.0
    at: str = ""
    number: int = 1
    do: str = ""
    once: str = ""
    flags: int = 0xFF
    echo_twice: bool = False
    late_frame: bool = False
    finish_at: int | None = None
    menus: bool = True
    checkpoints: int = 1
    _seen: int = field(default=0, repr=False)

    def happens(self, name):
        """Whether it happens at this message."""
        if name != self.at or (self.once and Path(self.once).exists()):
            return False
        self._seen += 1
        if self._seen != self.number:
            return False
        if self.once:
            Path(self.once).touch()
        return True

    def strike(self, game, message):
        """Do it, in the place of sending `message`."""
        if self.do == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.do == "half":
            game.connection.sendall(message[: max(len(message) // 2, 1)])
        if self.do == "garbage":
            game.connection.sendall(b"\xef\xbe\xad\xde" * 64)
        if self.do == "close":
            game.connection.close()
        raise Dropped(self.do)
