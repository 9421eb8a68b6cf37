"""The sizes that an environment announces, before anything is made from them."""

from numbers import Integral
from typing import Any

from envs.contract.declarations import check_fields
from envs.contract.fields import EnvSpec, declared_spec, pymarl_spec
from utils.errors import MusterError
from utils.plain_values import shown
from utils.processes.available_memory import available_memory, require_memory

COUNTS = ("n_agents", "n_actions", "episode_limit")
SHAPES = ("obs_shape", "state_shape")
# the largest number of axes of NumPy's and torch's arrays, with those of a batch
MOST_AXES = 16
# actions and steps are counted in 32 bits by NumPy, torch and numba here and there
LARGEST = 2**31 - 1


def announced(env: Any) -> Any:
    """The unchecked declaration of an environment: its `fields()`, or PyMARL's `get_env_info()`."""
    return declared_spec(env) if callable(getattr(env, "fields", None)) else env.get_env_info()


def spec_of(env: Any, environments: int = 1) -> EnvSpec:
    """`checked_spec` of an environment's declaration."""
    return checked_spec(announced(env), environments)


def checked_spec(said: Any, environments: int = 1) -> EnvSpec:
    """The declaration that `announced` returned.

    Raises:
        MusterError: it is invalid, or one step of all environments does not fit the available memory.
    """
    if isinstance(said, EnvSpec):
        check_fields(said, environments)
        return said
    check_sizes(said, environments)
    return pymarl_spec(said)


def check_sizes(env_info: Any, environments: int = 1) -> None:
    """Refuse invalid sizes.

    Args:
        env_info: as `get_env_info()` returned it.
        environments: the number of environments that step together.

    Raises:
        MusterError: a size is missing, is not a whole number from 1 to `LARGEST` (a shape may also be a tuple of up
            to `MOST_AXES` such), or one step of all environments does not fit the available memory.
    """
    if not isinstance(env_info, dict):
        raise MusterError(
            f"The environment's get_env_info() returned {shown(repr(env_info))}: it must be a dictionary of sizes."
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
                f"The environment's get_env_info()['{key}'] is {shown(repr(value))}: it must be {allowed}."
            )
    sizes = ", ".join(f"{key}={shown(repr(env_info[key]))}" for key in (*COUNTS, *SHAPES) if key != "episode_limit")
    require_memory(
        f"One step of {environments} environment{'s' * (environments != 1)} ({sizes})",
        pymarl_spec(env_info).nbytes(environments),
        available_memory(),
        "The environment's get_env_info() returned these sizes.",
    )


def _is_size(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and 1 <= value <= LARGEST
