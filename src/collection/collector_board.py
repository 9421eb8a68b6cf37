"""What collectors say of themselves in shared memory, without messages."""

import time

import numpy as np

from utils.processes.shared_memory import NamelessMemory

STARTING, WAITING, PLAYING, SENDING = range(4)
WORDS = {STARTING: "starts", WAITING: "waits for its turn", PLAYING: "plays", SENDING: "waits to deliver a rollout"}


class CollectorBoard:
    """For each of `size` collectors: its state, the version of its rollout's weights, and when it last acted.

    Args:
        memory: of another process's board; None: new memory.

    Attributes:
        states, versions: int64 `[size]`; of a collector that does not play, the version is that of its next rollout.
        beats: float64 `[size]`, by the system's monotonic clock.
        steps: int64 `[size]`, of the environments in the rollout that is being played.
    """

    def __init__(self, size: int, memory: NamelessMemory | None = None):
        if memory is None:
            memory = NamelessMemory("muster-collectors")
            memory.grow(32 * size + 8)
        self.memory, buffer = memory, memory.map()
        self.states, self.versions = (np.frombuffer(buffer, np.int64, size, 8 * size * k) for k in (0, 1))
        self.beats = np.frombuffer(buffer, np.float64, size, 16 * size)
        self.steps = np.frombuffer(buffer, np.int64, size, 24 * size)
        self._stop = np.frombuffer(buffer, np.int64, 1, 32 * size)

    @property
    def stopping(self) -> bool:
        """Whether collectors are to stop playing."""
        return bool(self._stop[0])

    def stop(self) -> None:
        """Let all collectors stop playing, after the present step of their environments."""
        self._stop[0] = 1

    def enter(self, index: int, state: int) -> None:
        """A collector is in another state from now on."""
        self.states[index] = state
        self.beat(index)

    def beat(self, index: int) -> None:
        """A collector is alive."""
        self.beats[index] = time.monotonic()

    def silent(self, index: int) -> float:
        """Seconds since a collector was last seen alive."""
        return time.monotonic() - float(self.beats[index])
