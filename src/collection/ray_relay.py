"""A collector on another machine: an actor of Ray's that is the parent of the collector's process there.

The collector is the same process as on one machine, with its pipe and its shared memory; the actor passes its messages
on. So whatever an environment does to its process, the actor answers, and the pool's watch works as it does at home.
The learner sends this module by value: nothing of Muster is imported before `Relay` has found it.
"""

import os
import sys
import threading
import time
from typing import Any

# seconds until an actor says that it is alive, when its collector has nothing to say
HEARTBEAT = 1.0
# of Ray's workers, which a spawned process would import
PROGRAM = "default_worker.py"
# seconds between looks at its board, which tells with which weights it plays
LOOK = 0.01


class Relay:
    """The actor.

    Args:
        source: the folder `src/` of Muster.
        path: where Python looks for modules in the learner's process.
        job: a pickled `collection.collector_process.Job`.
        index, size: of the collector, and how many there are.
        name: of its process.
        block: bytes of `collection.weights.SharedWeights`.
    """

    def __init__(self, source: str, path: list[str], job: Any, index: int, size: int, name: str, block: int):
        self._fault = ""
        if not os.path.isdir(os.path.join(source, "collection")):
            host = os.uname().nodename
            self._fault = f"{host} has no {source}: every machine needs Muster at the same path."
            return
        sys.path[:0] = [one for one in path if one not in sys.path]
        from collection.collector_board import CollectorBoard
        from collection.ray_child import collect_pickled
        from utils.processes.child_process import CONTEXT, ChildProcess
        from utils.processes.shared_memory import NamelessMemory

        main = vars(sys.modules["__main__"])
        if os.path.basename(main.get("__file__") or "") == PROGRAM:
            del main["__file__"]
        self._memory = NamelessMemory("muster-weights")
        self._memory.grow(block)
        self._block = memoryview(self._memory.map())
        self._board, self._index = CollectorBoard(size), index
        self._lock = threading.Lock()
        # messages by their number, until all before them were sent and the weights that they need are there
        self._waiting: dict[int, tuple[Any, int]] = {}
        self._sent, self._version = 0, 0
        # of the board, when it was read last, and when the learner last heard of it
        self._seen = self._told = (0, 0)
        self._connection, theirs = CONTEXT.Pipe()
        arguments = (theirs, bytes(job), self._memory, self._board.memory)
        self._process = ChildProcess(collect_pickled, arguments, name, has_children=True)
        theirs.close()

    def tell(self, number: int, message: Any, version: int) -> None:
        """Pass a message to the collector, after those with smaller numbers, and with weights of this version.

        Args:
            message: pickled, uint8 `[n]`.
        """
        if not self._fault:
            with self._lock:
                self._waiting[number] = message, version
                self._pass_on()

    def stop_playing(self) -> None:
        """Let the collector stop after the present step of its environments."""
        if not self._fault:
            self._board.stop()

    def weights(self, version: int, block: Any) -> None:
        """Give the collector weights, uint8 `[block]`, if they are newer than those it has."""
        if self._fault or version <= self._version:
            return
        import fcntl

        fcntl.lockf(self._memory.descriptor, fcntl.LOCK_EX)
        try:
            self._block[:] = memoryview(block)
        finally:
            fcntl.lockf(self._memory.descriptor, fcntl.LOCK_UN)
        with self._lock:
            self._version = version
            self._pass_on()

    def heard(self) -> dict[str, Any]:
        """What the collector says, once it says anything, or after `HEARTBEAT`.

        Returns:
            `messages`: pickled, uint8 `[n]` each. `state`, `version`, `silent`: of the board, noted when all rollouts
            that were played before are among the messages. `gone`: how the process ended. `fault`: why there is none.
            `niceness`, `host`: of the machine.
        """
        import numpy as np

        messages: list[Any] = []
        about: dict[str, Any] = {
            "niceness": os.nice(0),
            "host": os.uname().nodename,
            "fault": self._fault,
            "gone": "",
            "messages": messages,
        }
        if self._fault:
            time.sleep(HEARTBEAT)
            return about
        end = time.monotonic() + HEARTBEAT
        try:
            while True:
                # messages first: no rollout that is older than what the board shows is still to come
                while self._connection.poll(0 if messages else LOOK):
                    messages.append(np.frombuffer(self._connection.recv_bytes(), np.uint8))
                self._note(about)
                news = messages or self._seen != self._told or time.monotonic() > end
                if news and not self._connection.poll(0):
                    break
            self._told = self._seen
        except (EOFError, OSError):
            about["gone"] = self._process.ended()
        return about

    def end(self, seconds: float) -> None:
        """Wait for the collector's end for so long, then kill it."""
        if not self._fault:
            self._process.end(seconds)

    def _pass_on(self) -> None:
        while self._sent in self._waiting and self._waiting[self._sent][1] <= self._version:
            message, _ = self._waiting.pop(self._sent)
            self._sent += 1
            try:
                self._connection.send_bytes(memoryview(message))
            except OSError:  # found out about by `heard`
                return

    def _note(self, about: dict[str, Any]) -> None:
        # before the state: a rollout that begins between the two shows as one that has not begun
        version, state = int(self._board.versions[self._index]), int(self._board.states[self._index])
        about.update(version=version, state=state, silent=self._board.silent(self._index))
        self._seen = version, state
