"""A page whose tables are made of files: what stands between `<!-- table: NAME -->` and `<!-- end of NAME -->`."""

import re
from collections.abc import Mapping
from pathlib import Path

from utils.errors import ConfigError
from utils.files.whole_files import write_whole
from utils.nearest import suggestion
from utils.plain_values import quoted

_TABLE = re.compile(r"(<!-- table: (?P<name>[\w+.-]+) -->\n)(.*?)(<!-- end of (?P=name) -->)", re.S)
_BEGUN = re.compile(r"<!-- table: ([\w+.-]+) -->")
NO_RUNS = "No runs yet.\n"


def filled(page: Path, tables: Mapping[str, str], known: list[str]) -> str:
    """The text of a page with its tables.

    Args:
        tables: by name; a place whose table is missing here says that there are no runs.
        known: all names.

    Raises:
        ConfigError: the page cannot be read, has no place for one of the tables, one for an unknown table, or one
            without an end.
    """
    try:
        text = page.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{page} cannot be read: {getattr(error, 'strerror', error)}.") from None
    places = [match["name"] for match in _TABLE.finditer(text)]
    for name in _BEGUN.findall(text):
        if name not in known:
            raise ConfigError(f"{page}: there is no table '{quoted(name)}'.{suggestion(name, known)}")
        if name not in places:
            raise ConfigError(f"{page}: the table {name} has no end: <!-- end of {name} -->")
    if absent := [name for name in tables if name not in places]:
        lines = f"<!-- table: {absent[0]} -->\n<!-- end of {absent[0]} -->"
        raise ConfigError(f"{page} has no place for the table {absent[0]}. It is where these lines stand:\n{lines}")
    return _TABLE.sub(lambda match: f"{match[1]}\n{tables.get(match['name'], NO_RUNS)}\n{match[4]}", text)


def write_page(page: Path, text: str) -> bool:
    """Write a page; whether it has changed. Raises: ConfigError: that cannot be done."""
    try:
        if page.read_text(encoding="utf-8") == text:
            return False
        write_whole(str(page), text.encode())
        page.chmod(0o644)
    except OSError as error:
        raise ConfigError(f"{page} cannot be written: {error.strerror}.") from None
    return True
