"""The worker process of environments. It imports neither torch nor the learner."""

import logging
import pickle
import random
import traceback
from typing import Any, Protocol

import cloudpickle
import numpy as np

from envs.contract.fields import EnvSpec
from envs.contract.infos import warn_once
from utils.errors import MusterError
from utils.plain_values import quoted
from vector_envs.faults import Failure
from vector_envs.step_arrays import StepArrays
from vector_envs.worker_environment import WorkerEnvironment


class CloudpickleWrapper:
    """Carries values that plain pickle cannot (lambdas, classes of plugins) to another process."""

    def __init__(self, x: Any):
        self.x = x

    def __getstate__(self) -> bytes:
        return cloudpickle.dumps(self.x)

    def __setstate__(self, ob: bytes) -> None:
        self.x = pickle.loads(ob)  # noqa: S301 - written by our own parent process


class WorkerPort(Protocol):
    """The worker's end of a transport."""

    def receive(self) -> tuple[str, list[int], Any]:
        """Wait for the next command: its name, its environments, and its argument.

        Raises:
            EOFError: the trainer is gone.
        """

    def prepare(self, spec: EnvSpec) -> dict[bool, StepArrays]:
        """Make the arrays of this worker's environments, a row for each, in order: of training and of tests."""

    def answer(self, command: str, indices: list[int], answers: dict[int, Any], faults: dict[int, Failure]) -> None:
        """Report to the trainer that `command` is done, with the environments' answers and failures."""

    def close(self) -> None:
        """Free the port's resources."""


class _ConsoleWhenNeeded(logging.Handler):
    """Sets up the console with the first message: most processes have none, and should start fast."""

    def emit(self, record: logging.LogRecord) -> None:
        from records.console_log import get_logger

        # it goes there, too: to the handlers of the logger above this one
        get_logger(over_others=True).setLevel(logging.WARNING)
        logging.getLogger("muster").removeHandler(self)


def show_messages() -> None:
    """Let what environments log in this process reach the console, in the form of the trainer's messages."""
    log = logging.getLogger("muster")
    log.setLevel(logging.INFO)
    log.addHandler(_ConsoleWhenNeeded())


def env_worker(
    port: WorkerPort,
    factories: CloudpickleWrapper,
    recreated: dict[int, dict[bool, int]],
    separate_test_env: bool,
    entropy: list[int] | None,
) -> None:
    """Let environments obey commands, each a method of `WorkerEnvironment` with one argument, until `close`.

    A worker that waits for a command also ends with the trainer; `ChildProcess` ends one whose environment hangs.

    Args:
        factories: index -> {test_mode: factory}.
        recreated: index -> {test_mode: how often this environment was re-created before}.
        separate_test_env: whether tests play on separate environments.
        entropy: of this process's global random generators; None: as the system seeds them.
    """
    show_messages()
    hosted = {index: WorkerEnvironment(own, recreated[index], separate_test_env) for index, own in factories.x.items()}
    if entropy is not None:
        seed_generators(entropy)
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
                    environment.prepare(arrays, row)
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
                    except MusterError as error:  # its message is enough, without a traceback
                        faults[index] = Failure(str(error), error.incurable)
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
        try:
            port.answer(command, indices, _portable(answers), faults)
        except ConnectionError:
            raise
        except Exception:
            failure = Failure(traceback.format_exc())
            port.answer(command, indices, {}, {**faults, **dict.fromkeys(answers, failure)})


def _portable(value: Any) -> Any:
    """Dictionaries without the entries that cannot be pickled, such as locks and open files; a warning names them."""
    if not isinstance(value, dict):
        pickle.dumps(value)
        return value
    kept = {}
    for key, entry in value.items():
        try:
            kept[key] = _portable(entry)
        except Exception as error:
            warn_once(f"The environment's info has {quoted(repr(key))}, which its process cannot send: {error}")
    return kept


def seed_generators(entropy: list[int]) -> None:
    """Seed `random` and `numpy.random`, from which some environments draw.

    Args:
        entropy: the run's seed, the first environment of the process, and how often the process was restarted.
    """
    words = np.random.SeedSequence(entropy).generate_state(8)
    random.seed(words[:4].tobytes())
    np.random.seed(words[4:])


def generators_state() -> dict[str, Any]:
    """Their states."""
    return {"python": random.getstate(), "numpy": np.random.get_state()}


def load_generators_state(state: dict[str, Any]) -> None:
    """Resume from where `generators_state` was taken; tuples may have become lists meanwhile."""
    version, numbers, gauss = state["python"]
    random.setstate((version, tuple(numbers), gauss))
    np.random.set_state(tuple(state["numpy"]))
