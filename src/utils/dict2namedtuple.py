"""PyMARL's way to read a mapping by attributes."""

from collections import namedtuple
from collections.abc import Mapping
from typing import Any


def convert(dictionary: Mapping[str, Any]) -> tuple:
    """`convert({"a": 1}).a == 1`: a named tuple with the mapping's keys as fields, in its order.

    Raises:
        ValueError: a key that is not a name of Python.
    """
    return namedtuple("GenericDict", dictionary)(*dictionary.values())
