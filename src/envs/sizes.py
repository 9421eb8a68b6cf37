"""The sizes that an environment announces, before anything is made from them."""

from math import prod
from numbers import Integral
from typing import Any

import numpy as np

from utils.available_memory import available_memory, require_memory
from utils.errors import MusterError
from utils.plain_values import shown

COUNTS = ("n_agents", "n_actions", "episode_limit")
SHAPES = ("obs_shape", "state_shape")
# NumPy and torch have arrays of so many axes, a batch's included
MOST_AXES = 16
# actions and steps are counted in 32 bits by NumPy, torch and numba here and there
LARGEST = 2**31 - 1


def check_sizes(env_info: Any, environments: int = 1) -> None:
    """Refuse what `get_env_info()` must not return.

    Args:
        env_info: what it returned.
        environments: how many of these environments are stepped together.

    Raises:
        MusterError: a size is missing, is not a whole number from 1 to `LARGEST` (a shape may also be a tuple of up
            to `MOST_AXES` such), or one step of all environments does not fit the memory there is.
    """
    if not isinstance(env_info, dict):
        raise MusterError(
            f"The environment's get_env_info() returned {shown(repr(env_info))}: it has to be a dictionary of sizes."
        )
    for key in (*COUNTS, *SHAPES):
        if key not in env_info:
            raise MusterError(
                f"The environment's get_env_info() has no '{key}'; it has "
                f"{shown(', '.join(map(str, env_info)), 300) or 'nothing'}."
            )
        value = env_info[key]
        several = key in SHAPES and isinstance(value, tuple | list)
        sizes = value if several else [value]
        if not 1 <= len(sizes) <= MOST_AXES or not all(_is_size(size) for size in sizes):
            allowed = f"a whole number from 1 to {LARGEST}" + (", or a tuple of such" if key in SHAPES else "")
            raise MusterError(
                f"The environment's get_env_info()['{key}'] is {shown(repr(value))}: it has to be {allowed}."
            )
    size = sum(prod(shape) * np.dtype(dtype).itemsize for shape, dtype in step_layout(env_info, environments).values())
    sizes = ", ".join(f"{key}={shown(repr(env_info[key]))}" for key in (*COUNTS, *SHAPES) if key != "episode_limit")
    require_memory(
        f"One step of {environments} environment{'s' * (environments != 1)} ({sizes})",
        size,
        available_memory(),
        "These sizes are what the environment's get_env_info() returns.",
    )


def step_layout(env_info: dict[str, Any], environments: int) -> dict[str, tuple[tuple[int, ...], type]]:
    """Shape and dtype of every array of one step of so many environments."""
    n_agents = int(env_info["n_agents"])
    return {
        "obs": ((environments, n_agents, *_vshape(env_info["obs_shape"])), np.float32),
        "state": ((environments, *_vshape(env_info["state_shape"])), np.float32),
        "avail_actions": ((environments, n_agents, int(env_info["n_actions"])), np.uint8),
        "reward": ((environments,), np.float64),
        "terminated": ((environments,), np.bool_),
        "truncated": ((environments,), np.bool_),
        "actions": ((environments, n_agents), np.int64),
        "playing": ((environments,), np.bool_),
    }


def _vshape(shape: int | tuple[int, ...] | list[int]) -> tuple[int, ...]:
    return tuple(int(size) for size in shape) if isinstance(shape, tuple | list) else (int(shape),)


def _is_size(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and 1 <= value <= LARGEST
