"""What callers give to made environments, checked: actions and seeds."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.contract.fields import FieldSpec
from utils.errors import ConfigError
from utils.plain_values import quoted


def require_seed(seed: Any) -> None:
    """Refuse what is no seed. Raises ConfigError."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ConfigError(f"seed={quoted(repr(seed))}: it must be a whole number from 0, of all copies together.")


def action_of(
    path: str, field: FieldSpec, given: Mapping[str, Any], shape: tuple[int, ...], whose: str = ""
) -> NDArray[Any]:
    """The actions of a field that a caller gives.

    Args:
        whose: " of agent_0", for the message.

    Raises:
        ConfigError: they are missing, no numbers, or have another shape.
    """
    if path not in given:
        raise ConfigError(f"step: '{path}'{whose} is missing; found {', '.join(map(str, given)) or 'nothing'}.")
    try:
        action = np.asarray(given[path])
    except ValueError:
        raise ConfigError(f"step: the rows of '{path}'{whose} have unequal lengths; it must be {shape}.") from None
    if action.dtype.kind not in "biuf" or (field.n is not None and (action != np.trunc(action)).any()):
        kind = "numbers" if field.n is None else "whole numbers"
        raise ConfigError(f"step: '{path}'{whose} must be {kind}, found {quoted(repr(given[path]))}.")
    if action.shape != shape:
        raise ConfigError(f"step: '{path}'{whose} has the shape {action.shape}; it must be {shape}.")
    return action.astype(field.dtype)
