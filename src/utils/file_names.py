"""Names that may become part of a file's name."""

import re

from utils.errors import ConfigError

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
