"""What a setting may do beyond the results of its run, declared beside the part that reads it.

A recorded config may come from others. Before it is used, each of its settings that reaches further has to be named on
the command line (`checks.side_effects`); a setting of which nothing is declared counts as one that does.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


def _never(value: Any, beside: Mapping[str, Any]) -> bool:
    return False


def _same(value: Any) -> Any:
    return value


def whole_path(value: Any) -> Any:
    """A path, or each of a list, from the root; anything else as it is."""
    if isinstance(value, list | tuple):
        return [whole_path(one) for one in value]
    return os.path.abspath(os.path.expanduser(value)) if isinstance(value, str) and value else value


def whole_names(value: Any) -> Any:
    """Names of code, "file.py:Name", with the whole paths of their files, in lists and mappings, too."""
    if isinstance(value, Mapping):
        return {key: whole_names(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [whole_names(one) for one in value]
    path, colon, name = value.rpartition(":") if isinstance(value, str) else ("", "", "")
    return f"{whole_path(path)}{colon}{name}" if path.endswith(".py") else value


@dataclass(frozen=True)
class Reach:
    """What the values of a setting may do.

    Attributes:
        what: for people, after "settings that"; empty: nothing.
        unless: which values do not, from the value and the settings beside it. Empty ones never do.
        lasting: a value as a record has it, so that it means the same in every folder: paths are whole.
    """

    what: str
    unless: Callable[[Any, Mapping[str, Any]], bool] = _never
    lasting: Callable[[Any], Any] = _same

    def of(self, value: Any, beside: Mapping[str, Any]) -> bool:
        """Whether this value reaches beyond the results. A value that `unless` cannot judge does."""
        if not self.what or is_empty(value):
            return False
        try:
            return not self.unless(value, beside)
        except (TypeError, ValueError, AttributeError, KeyError):
            return True


def is_empty(value: Any) -> bool:
    """Whether a value is nothing: null, an empty text, list or mapping. Zero and False are values."""
    return value is None or (isinstance(value, str | list | tuple | dict) and not value)


def holds_text(value: Any) -> bool:
    """Whether a value is a text or has one in it; keys of mappings are none."""
    if isinstance(value, Mapping):
        return any(map(holds_text, value.values()))
    if isinstance(value, list | tuple):
        return any(map(holds_text, value))
    return not (value is None or isinstance(value, bool | int | float))


NOWHERE, READ_ONLY = Reach(""), Reach("", lasting=whole_path)  # files that are read as plain numbers
PROGRAM, MODULE = Reach("start programs"), Reach("import code")
CODE = Reach(MODULE.what, lasting=lambda value: whole_names([value] if isinstance(value, str) else value))
ADDRESS, FILES = Reach("connect to a server"), Reach("write elsewhere", lasting=whole_path)
UNDECLARED = Reach("nothing declares harmless")
