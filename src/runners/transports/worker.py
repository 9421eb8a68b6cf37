"""The process that environments live in. It imports neither torch nor the learner."""

import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, Protocol

import cloudpickle

from replays.offered import offered
from replays.plain import plain, plain_info
from runners.transports.arrays import EnvironmentRow, StepArrays
from utils.errors import MusterError

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

    def answer(self, command: str, indices: list[int], answers: dict[int, Any], faults: dict[int, str]) -> None:
        """Tell the trainer that `command` is done: what environments have to say, and which failed and how."""

    def close(self) -> None:
        """Free what the port holds."""


class HostedEnvironment:
    """Environment number `index` of the run, and if `separate_test_env` a second one for tests; made when needed."""

    def __init__(self, factories: dict[bool, Callable], separate_test_env: bool):
        self._factories = factories
        self._separate = separate_test_env
        self._made: dict[bool, Any] = {}
        self._env: Any = None
        self._info: dict = {}
        self.row: EnvironmentRow | None = None

    def reset(self, test_mode: bool) -> None:
        """Begin an episode."""
        self._env = self._environment(test_mode)
        self._env.reset()
        self.row.write_observed(self._env)

    def step(self, _) -> dict | None:
        """Do what the row's actions say; the info if the episode has ended."""
        reward, terminated, info = self._env.step(self.row.actions())
        self._info = info
        self.row.write_outcome(float(reward), bool(terminated), bool(terminated and info.get("episode_limit", False)))
        self.row.write_observed(self._env)
        return info if terminated else None

    def get_env_info(self, _) -> dict:
        """The environment's sizes."""
        return self._environment(False).get_env_info()

    def show(self, name: str) -> dict[str, Any]:
        """What the environment offers for replays by that name, and its last info; or why there is nothing."""
        try:
            return {"shown": plain(offered(self._env, name)), "info": plain_info(self._info)}
        except NotImplementedError as error:
            return {"refusal": str(error)}
        except Exception as error:  # a replay that fails is not a reason to end the run
            return {"refusal": f"{type(error).__name__}: {error}"}

    def save_replay(self, _) -> str | None:
        """Save a replay of the last episode; or why there is none."""
        try:
            (self._env or self._environment(False)).save_replay()
        except NotImplementedError as error:
            return str(error)
        return None

    def close(self) -> None:
        """Close what was made."""
        for env in self._made.values():
            env.close()

    def _environment(self, test_mode: bool) -> Any:
        key = test_mode and self._separate
        if key not in self._made:
            self._made[key] = self._factories[key]()
        return self._made[key]


def env_worker(port: WorkerPort, factories: CloudpickleWrapper, separate_test_env: bool) -> None:
    """Serve the environments of `factories` (index -> {test_mode: factory}) until told to close.

    Ends with the trainer, too: at once if it waits for a command, and `CLOSE_TIMEOUT` later if an environment hangs.
    """
    # Ctrl-C reaches the whole process group; the trainer then closes its workers in good order
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        # held back while this process started
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_end_after, args=(multiprocessing.parent_process(),), daemon=True).start()
    hosted = {index: HostedEnvironment(own, separate_test_env) for index, own in factories.x.items()}
    try:
        while True:
            command, indices, argument = port.receive()
            if command == "close":
                break
            answers: dict[int, Any] = {}
            faults: dict[int, str] = {}
            if command == "prepare":
                arrays = port.prepare(argument)
                for row, environment in enumerate(hosted.values()):
                    environment.row = EnvironmentRow(arrays, row)
            else:
                for index in indices:
                    try:
                        answer = getattr(hosted[index], command)(argument)
                    except MusterError as error:  # says by itself what to do
                        faults[index] = str(error)
                    except Exception:
                        faults[index] = traceback.format_exc()
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
        port.answer(command, indices, {}, {**faults, **dict.fromkeys(answers, traceback.format_exc())})


def _end_after(trainer: Any) -> None:
    """End this process when the trainer has ended, even if an environment never returns."""
    trainer.join()
    time.sleep(CLOSE_TIMEOUT)
    os._exit(1)
