"""What trainer and workers exchange at every step, as arrays with a row for each environment."""

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from envs.outcome import Outcome, outcome_of
from envs.sizes import step_layout
from envs.validation import FIRST_MOMENTS, InvalidEnvironmentError, as_numbers, problem_of_mask

# Every array in shared memory begins at a multiple of this many bytes, the line of a cache
ALIGNMENT = 64
# What comes from the environments
RESULTS = ("obs", "state", "avail_actions", "reward", "terminated", "truncated")


@dataclass
class StepArrays:
    """One step of B environments with n agents each.

    To the environments go `actions` int64 `[B, n]` and `playing` bool `[B]` (which of them shall step). From them come
    `obs` float32 `[B, n, obs_shape]`, `state` float32 `[B, state_shape]`, `avail_actions` uint8 `[B, n, n_actions]`,
    `reward` float64 `[B]`, `terminated` bool `[B]` (ended for whatever reason) and `truncated` bool `[B]` (ended
    because time was up).
    """

    obs: np.ndarray
    state: np.ndarray
    avail_actions: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    actions: np.ndarray
    playing: np.ndarray

    @classmethod
    def allocate(cls, env_info: dict[str, Any], count: int) -> "StepArrays":
        """Zeros for `count` environments of these sizes, in this process's own memory."""
        return cls(**{name: np.zeros(shape, dtype) for name, (shape, dtype) in step_layout(env_info, count).items()})

    @classmethod
    def inside(cls, memory: Any, env_info: dict[str, Any], count: int) -> "StepArrays":
        """The arrays of `count` environments in `memory`, a writable buffer of at least `size` bytes."""
        arrays, start = {}, 0
        for name, (shape, dtype) in step_layout(env_info, count).items():
            arrays[name] = np.frombuffer(memory, dtype, count=prod(shape), offset=start).reshape(shape)
            start = _next_start(start, shape, dtype)
        return cls(**arrays)

    @staticmethod
    def size(env_info: dict[str, Any], count: int) -> int:
        """Bytes that `inside` needs."""
        end = 0
        for shape, dtype in step_layout(env_info, count).values():
            end = _next_start(end, shape, dtype)
        return end

    def part(self, rows: slice) -> "StepArrays":
        """Views of some rows."""
        return StepArrays(*(array[rows] for array in vars(self).values()))

    def results(self, rows: list[int]) -> tuple[np.ndarray, ...]:
        """Copies of what came from the environments `rows`, for `put_results`."""
        return tuple(getattr(self, name)[rows] for name in RESULTS)

    def put_results(self, rows: list[int], results: tuple[np.ndarray, ...]) -> None:
        """Write what `results` of another `StepArrays` returned."""
        for name, values in zip(RESULTS, results, strict=True):
            getattr(self, name)[rows] = values


def _next_start(start: int, shape: tuple[int, ...], dtype: type) -> int:
    end = start + prod(shape) * np.dtype(dtype).itemsize
    return -(-end // ALIGNMENT) * ALIGNMENT


class EnvironmentRow:
    """Where one environment writes what it shows and returns: row `row` of `arrays`.

    Its first moments are looked at closely, see `envs.validation`; what costs next to nothing, always.
    """

    def __init__(self, arrays: StepArrays, row: int):
        self._row = row
        self._reward, self._terminated, self._truncated = arrays.reward, arrays.terminated, arrays.truncated
        self._obs, self._state = arrays.obs[row], arrays.state[row]
        self._avail_actions = arrays.avail_actions[row]
        self._actions = arrays.actions[row]
        self._moments = self._step = 0

    def actions(self) -> np.ndarray:
        """What the agents shall do, `[n]`: a copy, which the environment may keep."""
        return self._actions.copy()

    def write_reset(self, env: Any) -> None:
        """Write what is seen of `env` after a reset.

        Raises:
            InvalidEnvironmentError: it shows what it must not, or in shapes that `get_env_info()` did not announce.
        """
        self._step = 0
        try:
            self._write_observed(env)
        except InvalidEnvironmentError as error:
            raise self._located(env, error) from None

    def write_step(self, env: Any, returned: Any) -> Outcome:
        """Write how a step went, by what `env.step` returned, and what is seen of `env` after it.

        Raises:
            InvalidEnvironmentError: as `write_reset`, or `returned` is not what a step returns.
        """
        self._step += 1
        try:
            outcome = outcome_of(returned)
            self._write_observed(env)
        except InvalidEnvironmentError as error:
            raise self._located(env, error) from None
        row = self._row
        self._reward[row], self._terminated[row], self._truncated[row] = outcome[:3]
        return outcome

    def _write_observed(self, env: Any) -> None:
        self._obs[...] = _shaped("obs", self._obs.shape, env.get_obs())
        self._state[...] = _shaped("state", self._state.shape, env.get_state())
        avail_actions = _shaped("avail_actions", self._avail_actions.shape, env.get_avail_actions())
        # of fractions, and of NaN, nothing would be left in a byte
        if self._moments < FIRST_MOMENTS or avail_actions.dtype.kind == "f":
            self._moments += 1
            if problem := problem_of_mask(avail_actions):
                raise InvalidEnvironmentError(problem)
        self._avail_actions[...] = avail_actions

    def _located(self, env: Any, error: InvalidEnvironmentError) -> InvalidEnvironmentError:
        when = f"in step {self._step}" if self._step else "after reset()"
        return InvalidEnvironmentError(f"{type(env).__name__}, {when}: {error}.")


def _shaped(name: str, shape: tuple[int, ...], value: Any) -> np.ndarray:
    """What `get_<name>()` returned, as an array of this shape."""
    value = as_numbers(name, value)
    if value.shape == shape:
        return value
    # axes of size 1 may come and go, as in EpisodeBatch.update
    if [size for size in value.shape if size != 1] != [size for size in shape if size != 1]:
        raise InvalidEnvironmentError(
            f"get_{name}() has the shape {value.shape}; by get_env_info() it should be {shape}"
        )
    return value.reshape(shape)
