"""The process of some copies of a batch, and its end of the pipes and of the memory."""

from collections.abc import Callable
from typing import Any

import numpy as np

from envs.contract.fields import EnvSpec
from envs.contract.sizes import announced
from envs.contract.validation import FIRST_MOMENTS, InvalidEnvironmentError, shaped
from replays.offered import offered
from replays.plain import plain
from utils.errors import ConfigError, MusterError
from vector_envs.faults import Failure
from vector_envs.generators import generators_state, load_generators_state
from vector_envs.native import NativeEnv
from vector_envs.shared_memory import SharedMemoryPort, flag_bytes
from vector_envs.step_arrays import StepArrays
from vector_envs.worker import CloudpickleWrapper, serve, show_messages

# what the two bells mean
STEP, RESET = False, True
EVERYONE = slice(None)


class BatchPort(SharedMemoryPort):
    """The process's end; its memory begins with a byte for each copy of the whole batch: whether to reset it."""

    def receive(self) -> tuple[str, list[int], Any]:
        message = self._channel.receive()
        if isinstance(message, bool):
            return ("reset" if message == RESET else "step"), self._indices[:1], None
        return message

    def prepare(self, spec: EnvSpec) -> tuple[StepArrays, np.ndarray]:
        rows = slice(self._indices[0], self._indices[-1] + 1)
        arrays, which = step_memory(self._memory.map(), spec, self._count)
        return arrays.part(rows), which[rows]


def step_memory(memory: Any, spec: EnvSpec, count: int) -> tuple[StepArrays, np.ndarray]:
    """The arrays of `count` copies, and which of them to reset (bool `[count]`)."""
    return StepArrays.inside(memory, spec, count, flag_bytes(count)), np.frombuffer(memory, bool, count=count)


def memory_size(spec: EnvSpec, count: int) -> int:
    """Bytes that `step_memory` needs."""
    return flag_bytes(count) + StepArrays.size(spec, count)


def batch_worker(
    port: BatchPort, factory: CloudpickleWrapper, first: int, copies: int, entropy: list[int] | None
) -> None:
    """Serve the batch that `factory.x()` makes, with copies number `first` and following; see `worker.serve`."""
    show_messages()
    serve(port, {first: HostedBatch(factory.x, first, copies)}, entropy)


class HostedBatch:
    """Copies number `first` and following of a batch, as a batch of their own.

    Args:
        factory: makes it, a `BatchedEnv`.
        copies: how many there are.
    """

    def __init__(self, factory: Callable[[], Any], first: int, copies: int):
        self._factory, self._first, self._copies = factory, first, copies
        self._env: NativeEnv | None = None
        # those in an episode, or perhaps in one
        self._playing = np.ones(copies, dtype=bool)
        self._moments = 0

    def announced(self, _: Any) -> dict[str, Any]:
        """Make the batch; return its declaration (`envs.contract.sizes`), and whether its state has entries by copy."""
        try:
            env = self._factory()
            self._env = NativeEnv(env, self._copies)
        except MusterError as error:  # as of a batch in the trainer's process
            return {"refusal": str(error), "config": isinstance(error, ConfigError)}
        return {"said": announced(env), "by_copy": bool(getattr(env, "state_by_copy", False))}

    def prepare(self, memory: tuple[StepArrays, np.ndarray], row: int) -> None:
        """Write into these arrays, and reset the copies that this array marks."""
        self._arrays, self._which = memory

    def reset(self, _: Any) -> None:
        """Start an episode in the marked copies."""
        which = self._which.copy()
        self._env.reset(which)
        self._playing |= which
        self._write_shown(EVERYONE if which.all() else np.flatnonzero(which))

    def step(self, _: Any) -> dict[int, dict] | None:
        """Step with the actions in the arrays; return the infos of the episodes that have ended, by copy."""
        arrays = self._arrays
        # the environment may keep them
        outcome = self._env.step({path: array.copy() for path, array in arrays.actions.items()})
        for path, target in arrays.outcomes.items():
            if path not in outcome.values:
                raise InvalidEnvironmentError(f"step() returned no '{path}'; it has {', '.join(outcome.values)}")
            self._put(f"step()'s {path}", target, outcome.values[path])
        for name, target, ends in (
            ("terminated", arrays.terminated, outcome.terminated),
            ("truncated", arrays.truncated, outcome.truncated),
        ):
            if not isinstance(ends, np.ndarray) or ends.dtype != bool or ends.shape != target.shape:
                raise InvalidEnvironmentError(f"step()'s {name} must be an array of bool of the shape {target.shape}")
            target[:] = ends
        self._write_shown(EVERYONE)
        ended = (arrays.terminated | arrays.truncated) & self._playing
        if not np.count_nonzero(ended):
            return None
        self._playing &= ~ended
        return {self._first + row: self._env.info(row) for row in np.flatnonzero(ended).tolist()}

    def observe(self, _: Any) -> None:
        """Write the present observations."""
        self._write_shown(EVERYONE)

    def info(self, row: int) -> dict[str, Any]:
        """The info of the last step of a copy, by its number here."""
        return self._env.info(row)

    def take_live(self, change: tuple[str, Any]) -> None:
        """An argument, by its name, has another value."""
        self._env.take_live(*change)

    def show(self, name: str) -> dict[str, Any]:
        """The value of a replay method of the first copy; or why there is none."""
        try:
            return {"shown": plain(offered(self._env.env, name))}
        except NotImplementedError as error:
            return {"refusal": str(error)}
        except Exception as error:  # a replay that fails must not end the run
            return {"refusal": f"{type(error).__name__}: {error}"}

    def state_dict(self, _: Any) -> dict[str, Any]:
        """The state of the batch and that of the global generators; or why it cannot be saved."""
        try:
            return {"state": self._env.state_dict(), "generators": generators_state()}
        except NotImplementedError as error:
            return {"refusal": str(error)}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Resume from where `state_dict` was taken; without `generators` they stay as they are."""
        self._env.load_state_dict(saved["state"])
        if "generators" in saved:
            load_generators_state(saved["generators"])
        self._playing[:] = True

    def close(self) -> None:
        if self._env is not None:
            self._env.close()

    def _write_shown(self, rows: slice | np.ndarray) -> None:
        observed = self._env.observed()
        for path, target in self._arrays.shown.items():
            if path not in observed:
                raise InvalidEnvironmentError(f"observed() has no '{path}'; it has {', '.join(observed) or 'nothing'}")
            self._put(f"observed()['{path}']", target, observed[path], rows)
        self._moments += 1

    def _put(self, name: str, target: np.ndarray, value: Any, rows: slice | np.ndarray = EVERYONE) -> None:
        value = shaped(name, target.shape, value)
        with np.errstate(invalid="ignore"):
            target[rows] = value[rows]
        # an array of bytes would hide fractions and NaN
        narrowed = target.dtype.kind != "f" and value.dtype != target.dtype
        suspect = narrowed and (self._moments < FIRST_MOMENTS or value.dtype.kind == "f")
        if suspect and np.count_nonzero(target[rows] != value[rows]):
            raise InvalidEnvironmentError(
                f"{name} is {value.dtype}, with values that {target.dtype}, as announced, cannot hold"
            )


def text_of(failure: Failure, first: int) -> str:
    """A failure of one of several batches, which numbers its copies from 0."""
    return f"{failure.text.rstrip()}\n(Copy 0 in this text is environment {first}.)" if first else failure.text
