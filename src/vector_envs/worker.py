"""The process that environments live in. It imports neither torch nor the learner."""

import multiprocessing
import os
import signal
import threading
import time
import traceback
from typing import Any, Protocol

import cloudpickle

from envs.validation import InvalidEnvironmentError
from utils.errors import MusterError
from vector_envs.faults import Failure
from vector_envs.generators import generators_state, load_generators_state, seed_generators
from vector_envs.step_arrays import EnvironmentRow, StepArrays
from vector_envs.worker_environment import WorkerEnvironment

# Seconds a worker gets to close its environments before it is ended
CLOSE_TIMEOUT = 5.0


class CloudpickleWrapper:
    """Carries what plain pickle cannot (lambdas, classes of plugins) to another process."""

    def __init__(self, x: Any):
        self.x = x

    def __getstate__(self) -> bytes:
        return cloudpickle.dumps(self.x)

    def __setstate__(self, pickled: bytes) -> None:
        import pickle

        self.x = pickle.loads(pickled)  # noqa: S301 - written by our own parent process


class WorkerPort(Protocol):
    """The worker's end of a transport."""

    def receive(self) -> tuple[str, list[int], Any]:
        """Wait for the next command: its name, the environments that it is for, and its argument.

        Raises:
            EOFError: the trainer is gone.
        """

    def prepare(self, env_info: dict[str, Any]) -> StepArrays:
        """Make the arrays of this worker's environments, a row for each, in order."""

    def answer(self, command: str, indices: list[int], answers: dict[int, Any], faults: dict[int, Failure]) -> None:
        """Tell the trainer that `command` is done: what environments have to say, and which failed and how."""

    def close(self) -> None:
        """Free what the port holds."""


def env_worker(
    port: WorkerPort,
    factories: CloudpickleWrapper,
    recreated: dict[int, dict[bool, int]],
    separate_test_env: bool,
    entropy: list[int] | None,
) -> None:
    """Serve the environments of `factories` (index -> {test_mode: factory}) until told to close.

    Ends with the trainer, too: at once if it waits for a command, and `CLOSE_TIMEOUT` later if an environment hangs.

    Args:
        recreated: index -> {test_mode: how often this environment was re-created before}.
        separate_test_env: whether tests play on environments of their own.
        entropy: of this process's global random generators; None: as the system seeds them.
    """
    _outlive_signals()
    trainer = multiprocessing.parent_process()
    threading.Thread(target=_end_after, args=(trainer,), daemon=True).start()
    if entropy is not None:
        seed_generators(entropy)
    hosted = {index: WorkerEnvironment(own, recreated[index], separate_test_env) for index, own in factories.x.items()}
    try:
        while True:
            command, indices, argument = port.receive()
            if command == "close":
                break
            answers: dict[int, Any] = {}
            faults: dict[int, Failure] = {}
            if command == "prepare":
                arrays = port.prepare(argument)
                for row, environment in enumerate(hosted.values()):
                    environment.row = EnvironmentRow(arrays, row)
            elif command == "seed_generators":
                seed_generators(argument)
            elif command == "generators_state":
                answers[indices[0]] = generators_state()
            elif command == "load_generators_state":
                load_generators_state(argument)
            else:
                for index in indices:
                    try:
                        answer = getattr(hosted[index], command)(argument)
                    except MusterError as error:  # says by itself what to do
                        faults[index] = Failure(str(error), isinstance(error, InvalidEnvironmentError))
                    except Exception:
                        faults[index] = Failure(traceback.format_exc())
                    else:
                        if answer is not None:
                            answers[index] = answer
            _answer(port, command, indices, answers, faults)
    except (EOFError, ConnectionError):
        pass  # the trainer is gone
    finally:
        for environment in hosted.values():
            environment.close()
        port.close()


def _answer(port: WorkerPort, command: str, indices: list[int], answers: dict, faults: dict) -> None:
    try:
        port.answer(command, indices, answers, faults)
    except ConnectionError:
        raise
    except Exception:  # an info that cannot be pickled
        failure = Failure(traceback.format_exc())
        port.answer(command, indices, {}, {**faults, **dict.fromkeys(answers, failure)})


def _outlive_signals() -> None:
    """Leave it to the trainer when this process ends, and be the first of a process group of its own.

    Ctrl-C reaches the processes of a terminal, and clusters send SIGTERM or SIGUSR1 to every process of a job; the
    trainer then closes its workers in good order. The group has whatever environments start, so that it can be ended
    with them.
    """
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # handlers, which what environments start does not inherit; ignoring would be inherited
    for name in ("SIGTERM", "SIGUSR1"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _do_nothing)
    if hasattr(signal, "pthread_sigmask"):
        # held back while this process started
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGUSR1})


def _do_nothing(*_: Any) -> None:
    pass


def _end_after(trainer: Any) -> None:
    """End this process when the trainer has ended, even if an environment never returns, with all that it started."""
    trainer.join()
    time.sleep(CLOSE_TIMEOUT)
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)
    os._exit(1)
