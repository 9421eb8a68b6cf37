"""Environments of entities that several processes step: `entity_gym.env.parallel_env_list`."""

import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing import util
from multiprocessing.connection import Connection
from typing import Any

import cloudpickle
import numpy as np

from envs.entities import ActionName, ActionSpace, Environment, ObsSpace
from envs.entities.entity_gym.env_list import EnvList, maker
from envs.entities.entity_gym.vec_env import VecEnv, VecObs
from utils.errors import MusterError
from utils.processes.child_process import CONTEXT, ChildProcess
from utils.ragged.buffer import RaggedBufferI64


class ParallelEnvList(VecEnv):
    """`ParallelEnvList(create_env, num_envs, num_processes)`, or with the class and its arguments, as `EnvList`.

    The environments are divided as equally as possible. `start_method` is accepted for entity-gym's sake: processes
    are always spawned, so a script needs `if __name__ == "__main__":`, as with entity-gym's own default.

    Raises:
        MusterError: a process has ended, or its environments fail; the message has its traceback.
    """

    def __init__(
        self,
        create_env: Callable[[], Environment],
        *sizes: Any,
        num_envs: int | None = None,
        num_processes: int | None = None,
        start_method: str | None = None,
    ):
        create_env, numbers = maker(create_env, sizes[:3], num_envs=num_envs, num_processes=num_processes)
        self.num_envs, self.num_processes = numbers
        if not 1 <= self.num_processes <= self.num_envs:
            raise MusterError(
                f"ParallelEnvList: num_processes={self.num_processes} is not from 1 to num_envs={self.num_envs}."
            )
        env = create_env()
        self._obs_space, self._action_space = env.obs_space(), env.action_space()
        parts = np.array_split(np.arange(self.num_envs), self.num_processes)
        self._rows = [slice(int(part[0]), int(part[-1]) + 1) for part in parts]
        self._processes: list[tuple[ChildProcess, Connection]] = []
        pickled = cloudpickle.dumps(create_env)
        self._close = util.Finalize(self, _close_all, args=(self._processes,), exitpriority=10)
        for rows in self._rows:
            ours, theirs = CONTEXT.Pipe()
            count = rows.stop - rows.start
            process = ChildProcess(_serve, (theirs, pickled, count), f"envs-{rows.start}-{rows.stop - 1}")
            theirs.close()
            self._processes.append((process, ours))

    def reset(self, obs_space: ObsSpace) -> VecObs:
        return self._joined(self._asked("reset", [(obs_space,)] * self.num_processes))

    def act(self, actions: Mapping[ActionName, Any], obs_space: ObsSpace) -> VecObs:
        parts = [{name: rows_of(ragged, rows) for name, ragged in actions.items()} for rows in self._rows]
        return self._joined(self._asked("act", [(part, obs_space) for part in parts]))

    def render(self, **kwargs: Any) -> np.ndarray:
        return np.concatenate(self._asked("render", [kwargs] * self.num_processes))

    def close(self) -> None:
        self._close()

    def __len__(self) -> int:
        return self.num_envs

    def obs_space(self) -> ObsSpace:
        return self._obs_space

    def action_space(self) -> dict[ActionName, ActionSpace]:
        return self._action_space

    def _asked(self, command: str, arguments: list[Any]) -> list[Any]:
        """The answers of all processes, which work at once."""
        for (process, pipe), argument in zip(self._processes, arguments, strict=True):
            try:
                pipe.send((command, argument))
            except OSError:
                raise MusterError(f"A process of environments {process.died(f'{command}()')}") from None
        answers, faults = [], []
        for process, pipe in self._processes:
            try:
                answer, fault = pipe.recv()
            except (EOFError, OSError):
                raise MusterError(f"A process of environments {process.died(f'{command}()')}") from None
            answers.append(answer)
            faults += [fault] * (fault is not None)
        if faults:
            raise MusterError(faults[0])
        return answers

    def _joined(self, parts: list[VecObs]) -> VecObs:
        first, *others = parts
        for other in others:
            first.extend(other)
        return first


def rows_of(ragged: Any, rows: slice) -> RaggedBufferI64:
    """The sequences `rows` of a ragged buffer, of ours or of the package, as one that can be sent."""
    part = ragged[rows.start : rows.stop, :, :]
    return RaggedBufferI64.from_flattened(part.as_array(), np.asarray(part.size1()))


def _close_all(processes: list[tuple[ChildProcess, Connection]]) -> None:
    for _, pipe in processes:
        with suppress(OSError):
            pipe.send(("close", None))
    for process, pipe in processes:
        process.end()
        pipe.close()


def _serve(pipe: Connection, pickled: bytes, count: int) -> None:
    """A process: environments obey commands until `close`, or until the parent is gone."""
    from envs.entities.entity_gym_names import alias_entity_gym

    alias_entity_gym()  # the file of the environments imports it
    envs = fault = None
    try:
        envs = EnvList(cloudpickle.loads(pickled), count)
    except Exception:
        fault = traceback.format_exc()
    while True:
        try:
            command, argument = pipe.recv()
            if command == "close":
                break
            pipe.send(_answer(envs, fault, command, argument))
        except (EOFError, OSError):
            break
    if envs is not None:
        envs.close()


def _answer(envs: EnvList | None, fault: str | None, command: str, argument: Any) -> tuple[Any, str | None]:
    if fault is not None or envs is None:
        return None, fault
    try:
        return envs.render(**argument) if command == "render" else getattr(envs, command)(*argument), None
    except MusterError as error:  # its message is enough
        return None, str(error)
    except Exception:
        return None, traceback.format_exc()
