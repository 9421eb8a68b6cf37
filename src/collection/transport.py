"""How collectors are started, and how messages get to them and back: by pipes, on this machine."""

import logging
from collections.abc import Callable, Iterable
from multiprocessing import connection
from typing import Any, Protocol

import numpy as np

from collection.collector_board import CollectorBoard
from collection.collector_process import Job, collect
from collection.weights import SharedWeights
from utils.processes import child_process


class Transport(Protocol):
    """What a pool needs of it.

    Attributes:
        board: what collectors say of themselves.
    """

    board: CollectorBoard

    def start(self, job: Job) -> tuple[Any, Any]:
        """Start a collector: returns what has `send`, `recv`, `poll` and `close` of a connection, and its process.

        The process has `died`, `hangs`, `end` and `kill` of `utils.processes.child_process.ChildProcess`.
        """

    def publish(self) -> None:
        """Called after the learner's weights have changed."""

    def stop_playing(self) -> None:
        """Let collectors stop after the present step of their environments, as `CollectorBoard.stop` does."""

    def wait(self, connections: Iterable[Any], seconds: float) -> list[Any]:
        """The connections with a message or an end, once there is one, or after so long."""

    def versions(self, before: np.ndarray) -> np.ndarray:
        """The versions of the weights of those that play, after all messages there were have been received.

        Args:
            before: those of the board, int64 `[size]`, before they were received.
        """

    def close(self) -> None:
        """Called at the end, when all collectors have ended; may be called twice."""


class InProcesses:
    """Collectors are processes of this machine: child processes with a pipe each, and shared memory.

    Args: see `collection.collector_pool.CollectorPool`.
    """

    def __init__(self, job: Job, weights: SharedWeights, options: dict[str, Any], console: logging.Logger):
        self.board, self._weights = CollectorBoard(job.size), weights

    def start(self, job: Job) -> tuple[Any, Any]:
        ours, theirs = child_process.CONTEXT.Pipe()
        arguments = (theirs, job, self._weights.memory, self.board.memory)
        process = child_process.ChildProcess(collect, arguments, f"collector-{job.index}", has_children=True)
        # with our copy closed, its end is the end of the pipe
        theirs.close()
        return ours, process

    def publish(self) -> None:
        """Nothing: collectors look at the shared memory by themselves."""

    def stop_playing(self) -> None:
        self.board.stop()

    def wait(self, connections: Iterable[Any], seconds: float) -> list[Any]:
        return connection.wait(list(connections), seconds)

    def versions(self, before: np.ndarray) -> np.ndarray:
        """Those from before: one that began meanwhile counts as older than it is."""
        return before

    def close(self) -> None:
        """Nothing remains."""


def transport_of(name: str) -> Callable[..., Transport]:
    """What makes the transport that the key `collectors.transport` names."""
    if name == "ray":
        from collection.ray_transport import OnRay

        return OnRay
    return InProcesses
