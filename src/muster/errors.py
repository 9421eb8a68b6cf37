"""How errors leave the library: one message, without the frames within it."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from utils.errors import ConfigError

P = ParamSpec("P")
R = TypeVar("R")


def short(function: Callable[P, R]) -> Callable[P, R]:
    """Let a ConfigError of this function show where it was called, and nothing of what is below."""

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except ConfigError as error:
            raise error.with_traceback(None) from None

    return called
