"""What the user's environment raises, as one message with the place in their file."""

import inspect
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from envs.contract.validation import InvalidEnvironmentError
from envs.entities.environment import Environment
from utils.errors import MusterError
from utils.plain_values import shown


@contextmanager
def asked(env: Environment, when: str) -> Iterator[None]:
    """A context in which an environment's methods are called before a run starts.

    Args:
        when: what it is asked for, as in "GoldRush, in random play: ...".

    Raises:
        InvalidEnvironmentError: it raised something.
    """
    try:
        yield
    except InvalidEnvironmentError:
        raise
    except Exception as error:
        what = str(error) if isinstance(error, MusterError) else f"{type(error).__name__}: {shown(str(error), 300)}"
        place = "" if isinstance(error, MusterError) else _place(env, error)
        raise InvalidEnvironmentError(f"{type(env).__name__}, {when}: {what}{place}") from error


def _place(env: Environment, error: Exception) -> str:
    """The last line of the environment's file that led to the error."""
    try:
        file = inspect.getfile(type(env))
    except (OSError, TypeError):
        return ""
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f" ({lines[-1].filename}, line {lines[-1].lineno}, in {lines[-1].name})" if lines else ""
