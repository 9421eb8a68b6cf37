"""Faults of environments in other processes, and how to respond."""

from dataclasses import dataclass

from utils.errors import MusterError


class EnvironmentWorkerError(MusterError):
    """An environment or its process raised, died or hung; the message has its number and its own traceback."""


@dataclass(frozen=True)
class Failure:
    """Why an environment did not obey a command: a traceback, or a message with the remedy.

    `incurable`: it breaks its contract, and would do so again after a restart.
    """

    text: str
    incurable: bool = False


@dataclass
class FaultPolicy:
    """The response to a fault.

    Args:
        restart: whether a failed environment or process is re-created, unless it raised before its first success; else
            a fault stops the run.
        max_restarts: the number of restarts in the whole run; one more fault stops it.
        timeout: seconds without an answer after which a process counts as hung; 0: never.
    """

    restart: bool = False
    max_restarts: int = 0
    timeout: float = 0.0


@dataclass
class Fault:
    """A failure, in a sentence and perhaps a traceback.

    `hosted`: the environments of its process. `index`: the one that raised, in a process that lives on; None if the
    process with all its environments is lost. `incurable`: a restart does not help.
    """

    hosted: list[int]
    text: str
    index: int | None = None
    incurable: bool = False

    @property
    def indices(self) -> list[int]:
        """The environments lost with it."""
        return self.hosted if self.index is None else [self.index]

    def warning(self, restarts: int, max_restarts: int) -> str:
        """The log message of restart number `restarts`, which recovered from it."""
        what = "process" if self.index is None else "environment"
        return (
            f"{self.text.rstrip()}\nA new {what} has taken its place (restart {restarts} of "
            f"max_worker_restarts={max_restarts}); an unfinished episode is dropped and played again."
        )

    def beyond(self, max_restarts: int) -> EnvironmentWorkerError:
        """The error to raise after the last of `max_restarts`."""
        return EnvironmentWorkerError(
            f"{self.text.rstrip()}\n\nEnvironments were restarted {max_restarts} times before, and "
            f"max_worker_restarts={max_restarts} allows no more. If faults are normal here, set max_worker_restarts "
            "higher; on_worker_fault=stop would have stopped at the first one."
        )
