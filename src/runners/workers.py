"""Environments in other processes, over pipes. A worker imports neither torch nor the learner."""

import contextlib
import multiprocessing
import signal
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any

import cloudpickle

from utils.errors import MusterError

# Seconds a worker gets to close its environment before it is ended
CLOSE_TIMEOUT = 5.0


class EnvironmentWorkerError(MusterError):
    """An environment's process raised or died; the message has its number and its own traceback."""


class CloudpickleWrapper:
    """Carries what plain pickle cannot (lambdas, classes of plugins) to another process."""

    def __init__(self, x: Any):
        self.x = x

    def __getstate__(self) -> bytes:
        return cloudpickle.dumps(self.x)

    def __setstate__(self, pickled: bytes) -> None:
        import pickle

        self.x = pickle.loads(pickled)  # noqa: S301 - written by our own parent process


class EnvironmentWorkers:
    """One process for each environment, answering calls in any number at once.

    Args:
        factories: for each environment, {test_mode: factory}; a worker makes each at most once, when needed.
        separate_test_env: whether tests play on an environment of their own.
    """

    def __init__(self, factories: Sequence[dict[bool, Callable]], separate_test_env: bool):
        # spawn: a forked copy of a process with torch's threads may hang, and would keep its siblings' pipes open
        context = multiprocessing.get_context("spawn")
        self.connections: list[Connection] = []
        self.processes: list = []
        try:
            for index, environments in enumerate(factories):
                ours, theirs = context.Pipe()
                arguments = (theirs, CloudpickleWrapper(environments), separate_test_env)
                process = context.Process(target=env_worker, args=arguments, name=f"env-{index}", daemon=True)
                process.start()
                # with our copy closed, the end of the worker is the end of the pipe
                theirs.close()
                self.connections.append(ours)
                self.processes.append(process)
        except BaseException:
            self.close()
            raise

    def call(self, indices: Sequence[int], command: str, arguments: Sequence[Any] | None = None) -> list[Any]:
        """Send `command` to the environments `indices` and return their answers, in the same order.

        Raises:
            EnvironmentWorkerError: one of them raised or died.
        """
        arguments = [None] * len(indices) if arguments is None else arguments
        for index, argument in zip(indices, arguments, strict=True):
            try:
                self.connections[index].send((command, argument))
            except (BrokenPipeError, ConnectionError):
                self._raise_fault(index, command)
        return [self._receive(index, command) for index in indices]

    def _receive(self, index: int, command: str) -> Any:
        try:
            failed, answer = self.connections[index].recv()
        except (EOFError, ConnectionError):
            raise self._death(index, command) from None
        if failed:
            raise EnvironmentWorkerError(f"Environment {index} failed in {command}():\n\n{answer}")
        return answer

    def _raise_fault(self, index: int, command: str) -> None:
        # the pipe is broken; if the worker could still say why, its last words are in it
        if self.connections[index].poll():
            self._receive(index, command)
        raise self._death(index, command)

    def _death(self, index: int, command: str) -> EnvironmentWorkerError:
        process = self.processes[index]
        process.join(timeout=1)
        code = process.exitcode
        how = f"killed by {signal.Signals(-code).name}" if code is not None and code < 0 else f"exit code {code}"
        return EnvironmentWorkerError(
            f"Environment {index}'s process (pid {process.pid}) died in {command}(): {how}. "
            "It left no traceback; look for its own output above, and for the system's out-of-memory log."
        )

    def close(self) -> None:
        """Close every environment and end every process, at the latest after `CLOSE_TIMEOUT`; may be called twice."""
        for connection in self.connections:
            with contextlib.suppress(OSError, ValueError):
                connection.send(("close", None))
        for process in self.processes:
            process.join(timeout=CLOSE_TIMEOUT)
            if process.is_alive():
                process.terminate()
                process.join(timeout=1)
            if process.is_alive():
                process.kill()
                process.join()
        for connection in self.connections:
            connection.close()
        self.connections, self.processes = [], []


def env_worker(remote: Connection, factories: CloudpickleWrapper, separate_test_env: bool) -> None:
    """Serve one environment until told to close, or until the trainer is gone."""
    # Ctrl-C reaches the whole process group; the trainer then closes its workers in good order
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    environments: dict[bool, Any] = {}

    def environment(test_mode: bool) -> Any:
        key = test_mode and separate_test_env
        if key not in environments:
            environments[key] = factories.x[key]()
        return environments[key]

    env_of_episode = None
    try:
        while True:
            command, argument = remote.recv()
            if command == "close":
                break
            try:
                if command == "reset":
                    env_of_episode = environment(argument)
                    env_of_episode.reset()
                    answer: Any = _observed(env_of_episode)
                elif command == "step":
                    reward, terminated, info = env_of_episode.step(argument)
                    answer = {
                        "reward": float(reward),
                        "terminated": bool(terminated),
                        "info": info if terminated else {},
                        "observed": _observed(env_of_episode),
                    }
                elif command == "get_env_info":
                    answer = environment(False).get_env_info()
                elif command == "save_replay":
                    answer = _save_replay(env_of_episode or environment(False))
                else:
                    raise ValueError(f"an environment process has no command '{command}'")
            except MusterError as error:  # says by itself what to do
                remote.send((True, str(error)))
            except Exception:
                remote.send((True, traceback.format_exc()))
            else:
                remote.send((False, answer))
    except (EOFError, ConnectionError):
        pass  # the trainer is gone
    finally:
        for env in environments.values():
            env.close()
        remote.close()


def _observed(env: Any) -> dict[str, Any]:
    return {"state": env.get_state(), "avail_actions": env.get_avail_actions(), "obs": env.get_obs()}


def _save_replay(env: Any) -> str | None:
    """None, or why there is no replay."""
    try:
        env.save_replay()
    except NotImplementedError as error:
        return str(error)
    return None
