"""What may go wrong with the stand-in for TrackMania."""

import os
import signal
from dataclasses import dataclass, field
from pathlib import Path

# every message of a race, and when it comes for the k-th time: at the start, in the middle, in the second race
STATES = [
    *[(name, 1) for name in ("connected", "run_step", "frame", "checkpoint_count")],
    *[(name, 1) for name in ("set_speed", "execute", "set_timeout", "toggle_interface")],
    *[(name, 2) for name in ("get_state", "rewind_in_place", "request_frame", "set_inputs")],
    *[("run_step", 57), ("frame", 7), ("get_state", 9), ("set_timeout", 2), ("rewind", 1), ("rewind", 2)],
]


class Dropped(Exception):
    """The stand-in lets go of its client."""


@dataclass
class Faults:
    """Faults; none of them by default.

    Args:
        listen_after, greet_after: seconds: connections are refused, and accepted ones wait for `connected`.
        at: the name of a message; the `number`-th one of it, sent or received, has the fault `do`: close, half (of the
            message is sent, and then nothing), silence, garbage (is sent instead), kill (this process).
        then: the faults that follow this one, each (at, number, do); messages are counted from the fault before.
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
    then: list = field(default_factory=list)
    once: str = ""
    flags: int = 0xFF
    echo_twice: bool = False
    late_frame: bool = False
    finish_at: int | None = None
    menus: bool = True
    checkpoints: int = 1
    _seen: int = field(default=0, repr=False)
    # how many have happened
    struck: int = field(default=0, repr=False)

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
        """Do it, in place of sending `message`."""
        do = self.do
        if self.then:
            (self.at, self.number, self.do), self._seen = self.then.pop(0), 0
        if do == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if do == "half":
            game.connection.sendall(message[: max(len(message) // 2, 1)])
        if do == "garbage":
            game.connection.sendall(b"\xef\xbe\xad\xde" * 64)
        if do == "close":
            game.connection.close()
        self.struck += 1
        raise Dropped(do)
