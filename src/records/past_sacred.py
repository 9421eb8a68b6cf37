"""The way of an error of ours through Sacred, which would print a traceback for every Exception."""

from collections.abc import Iterator
from contextlib import contextmanager

from utils.errors import MusterError


class PastSacredError(BaseException):
    """Carries a MusterError, its `__cause__`."""


@contextmanager
def past_sacred() -> Iterator[None]:
    """Let a MusterError of this block leave Sacred as a PastSacredError."""
    try:
        yield
    except MusterError as error:
        raise PastSacredError(str(error)) from error
