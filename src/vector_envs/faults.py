"""What can happen to environments in other processes, and what shall follow."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from utils.errors import MusterError

if TYPE_CHECKING:
    from vector_envs.process import WorkerProcess


class EnvironmentWorkerError(MusterError):
    """An environment or its process raised, died or hung; the message has its number and its own traceback."""


@dataclass(frozen=True)
class Failure:
    """Why an environment did not do what it was told: a traceback, or a message that says what to do.

    `incurable`: it breaks its contract, and would again after a restart.
    """

    text: str
    incurable: bool = False


@dataclass
class FaultPolicy:
    """What follows on a fault.

    Args:
        restart: whether what failed is created anew, unless it raised before it ever worked; else a fault stops all.
        max_restarts: faults of the whole run that are borne; one more stops it.
        timeout: seconds without an answer after which a process counts as hung; 0: never.
    """

    restart: bool = False
    max_restarts: int = 0
    timeout: float = 0.0


@dataclass
class Fault:
    """What failed, in a sentence and perhaps a traceback.

    `index`: the environment that raised, in a process that lives on; None if the process with all its environments
    is lost. `incurable`: a restart is no remedy.
    """

    worker: "WorkerProcess"
    text: str
    index: int | None = None
    incurable: bool = False

    @property
    def indices(self) -> list[int]:
        """The environments that are gone with it."""
        return self.worker.indices if self.index is None else [self.index]

    def warning(self, restarts: int, max_restarts: int) -> str:
        """What is logged when it has been made good by restart number `restarts`."""
        what = "a new process has" if self.index is None else "it has"
        return (
            f"{self.text.rstrip()}\n{what.capitalize()} taken its place (restart {restarts} of "
            f"max_worker_restarts={max_restarts}); an unfinished episode is dropped and played again."
        )

    def beyond(self, max_restarts: int) -> EnvironmentWorkerError:
        """What is raised if `max_restarts` have been used up."""
        return EnvironmentWorkerError(
            f"{self.text.rstrip()}\n\nEnvironments were restarted {max_restarts} times before, and "
            f"max_worker_restarts={max_restarts} allows no more. If faults are normal here, set max_worker_restarts "
            "higher; on_worker_fault=stop would have stopped at the first one."
        )
