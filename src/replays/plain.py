"""Values of any library, as JSON knows them."""

import contextlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from utils.plain_values import LARGEST_NUMBER

DIGITS = 7  # significant ones, as many as a float32 holds


def plain(value: Any, digits: int = DIGITS) -> Any:
    """`value` in dicts, lists, text, numbers, booleans and None. Floats are rounded; NaN and infinities become None.

    Raises:
        TypeError: it contains something else.
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        if abs(value) > LARGEST_NUMBER:
            raise TypeError("a number of more than 64 bits cannot be written into a replay")
        return value
    if isinstance(value, float):
        return _rounded(value, digits)
    if isinstance(value, Mapping):
        return {str(key): plain(below, digits) for key, below in value.items()}
    if isinstance(value, list | tuple):
        return [plain(below, digits) for below in value]
    if isinstance(value, np.generic | np.ndarray) and value.dtype.kind in "biufU":
        return plain(value.tolist(), digits)
    raise TypeError(f"a {type(value).__name__} cannot be written into a replay")


def plain_info(info: Mapping) -> dict[str, Any]:
    """The part of an environment's `info` that a replay can hold."""
    kept = {}
    for key, value in info.items():
        with contextlib.suppress(Exception):  # objects of any library, lists that contain themselves
            kept[str(key)] = plain(value)
    return kept


def _rounded(number: float, digits: int) -> float | None:
    if not math.isfinite(number):
        return None
    return float(f"{number:.{digits}g}")
