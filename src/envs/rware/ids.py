"""The package's ids: `rware-tiny-2ag-v2`, and those of its full registration."""

import re
from dataclasses import fields
from typing import Any

from envs.rware.environment import Rware as One
from envs.rware.environment import RwareBatch as Batch
from envs.rware.options import Options, is_picture, settings_of

__all__ = ["Batch", "One", "arguments"]

GYMNASIUMS = re.compile(r"^rware:")


def arguments(key: str, **words: Any) -> dict[str, Any] | None:
    """The arguments by which `env=rware` is the game of gymma's `key`, with further words of `gymnasium.make`.

    Returns:
        None: it has pictures for observations, or one of the words is not among ours.

    Raises:
        ConfigError: the package has no such id.
    """
    name = GYMNASIUMS.sub("", key)
    if is_picture(name) or not {*words} <= {field.name for field in fields(Options)}:
        return None
    settings_of(name)
    return {"key": name, **words}
