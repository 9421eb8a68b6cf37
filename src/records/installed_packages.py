"""The packages that a run can import, for its record."""

import re
from functools import cache
from importlib.metadata import distributions


@cache
def installed_packages() -> tuple[str, ...]:
    """Every package of this interpreter as `name==version`, by name; of two with one name the one that is imported.

    Reads the heads of their metadata only, without importing any, and takes some milliseconds.
    """
    found: dict[str, str] = {}
    for package in distributions():
        head = (package.read_text("METADATA") or package.read_text("PKG-INFO") or "").partition("\n\n")[0]
        fields = dict(re.findall(r"^(Name|Version):[ \t]*(\S.*?)\s*$", head, re.MULTILINE))
        if len(fields) == 2:
            # one package by several spellings: PyPA's rule for normalised names
            key = re.sub(r"[-_.]+", "-", fields["Name"]).lower()
            found.setdefault(key, f"{fields['Name']}=={fields['Version']}")
    return tuple(found[key] for key in sorted(found))
