"""What trainer and workers exchange at every step, as arrays with a row for each environment."""

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from envs.sizes import step_layout

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
    """Where one environment writes: row `row` of `arrays`."""

    def __init__(self, arrays: StepArrays, row: int):
        self._row = row
        self._reward, self._terminated, self._truncated = arrays.reward, arrays.terminated, arrays.truncated
        self._obs, self._state = arrays.obs[row], arrays.state[row]
        self._avail_actions = arrays.avail_actions[row]
        self._actions = arrays.actions[row]

    def actions(self) -> np.ndarray:
        """What the agents shall do, `[n]`: a copy, which the environment may keep."""
        return self._actions.copy()

    def write_observed(self, env: Any) -> None:
        """Write what is seen of `env` now.

        Raises:
            ValueError: shapes that `get_env_info()` did not announce.
        """
        _put("obs", self._obs, env.get_obs())
        _put("state", self._state, env.get_state())
        _put("avail_actions", self._avail_actions, env.get_avail_actions())

    def write_outcome(self, reward: float, terminated: bool, truncated: bool) -> None:
        """Write how a step went."""
        row = self._row
        self._reward[row], self._terminated[row], self._truncated[row] = reward, terminated, truncated


def _put(name: str, target: np.ndarray, value: Any) -> None:
    value = np.asarray(value)
    if value.shape != target.shape:
        # axes of size 1 may come and go, as in EpisodeBatch.update
        if [size for size in value.shape if size != 1] != [size for size in target.shape if size != 1]:
            raise ValueError(f"get_{name}() has the shape {value.shape}; by get_env_info() it should be {target.shape}")
        value = value.reshape(target.shape)
    target[...] = value
