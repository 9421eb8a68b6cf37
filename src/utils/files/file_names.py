"""Names that may become part of a file's name."""

import re
from typing import Any

from utils.errors import ConfigError

# bytes of a folder's name; what writes a folder whole adds a few
LONGEST = 200
PLAIN = re.compile(r"[\w+-][\w.+ -]{0,99}")


def require_plain_name(key: str, name: str) -> None:
    """Refuse a name that could lead out of the folder it is meant for; the empty one is fine.

    Raises:
        ConfigError: it holds anything but letters, digits, `_ . + -` and spaces, starts with a dot or a space, or has
            more than 100 characters.
    """
    if name and not PLAIN.fullmatch(name):
        raise ConfigError(
            f"{key}={name}: expected a plain file name: at most 100 letters, digits and _ . + - or spaces, not "
            "starting with a dot or a space. Set the folder with its own key."
        )


def is_folder_name(name: Any) -> bool:
    """Whether a folder can have this name, whatever else is in it, and is where it is meant to be."""
    if not isinstance(name, str) or not name.isprintable() or name.startswith("."):
        return False
    return 0 < len(name.encode()) <= LONGEST and not set(name) & set("/\\")
