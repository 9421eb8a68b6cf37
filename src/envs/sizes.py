"""The sizes that an environment announces, before anything is made from them."""

from numbers import Integral
from typing import Any

from utils.errors import MusterError

COUNTS = ("n_agents", "n_actions", "episode_limit")
SHAPES = ("obs_shape", "state_shape")


def check_sizes(env_info: Any) -> None:
    """Refuse what `get_env_info()` must not return.

    Raises:
        MusterError: a size is missing or is no whole number from 1 on; a shape may also be a tuple of such.
    """
    if not isinstance(env_info, dict):
        raise MusterError(
            f"The environment's get_env_info() returned {_shown(env_info)}: it has to be a dictionary of sizes."
        )
    for key in (*COUNTS, *SHAPES):
        if key not in env_info:
            raise MusterError(
                f"The environment's get_env_info() has no '{key}'; it has {', '.join(map(str, env_info)) or 'nothing'}."
            )
        value = env_info[key]
        several = key in SHAPES and isinstance(value, tuple | list)
        sizes = value if several else [value]
        if not len(sizes) or not all(_is_size(size) for size in sizes):
            allowed = "a whole number from 1 on" + (", or a tuple of such" if key in SHAPES else "")
            raise MusterError(f"The environment's get_env_info()['{key}'] is {_shown(value)}: it has to be {allowed}.")


def _is_size(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and value >= 1


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."
