"""The provenance of a run: the packages and source files that Sacred noted."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from browser.reading.limits import MOST_SOURCES, cut


@dataclass(frozen=True)
class Provenance:
    """Packages and source files of a run; empty where Sacred recorded none.

    Attributes:
        dependencies: versions by package.
        sources: by path, the name under which Sacred keeps the file, which has its digest.
    """

    dependencies: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)


def provenance_of(experiment: Any) -> Provenance:
    """From the part `experiment` of run.json, without values that are not lists of texts."""
    if not isinstance(experiment, Mapping):
        return Provenance()
    texts = (text for text in _list(experiment.get("dependencies")) if isinstance(text, str))
    pairs = (pair for pair in _list(experiment.get("sources")) if isinstance(pair, list) and len(pair) == 2)
    return Provenance(
        {cut(name): cut(version) for name, _, version in (text.partition("==") for text in texts)},
        {cut(path): cut(stored).rpartition("/")[2] for path, stored in pairs if {type(path), type(stored)} == {str}},
    )


def _list(value: Any) -> list:
    """A list's first MOST_SOURCES items; of anything else none."""
    return value[:MOST_SOURCES] if isinstance(value, list) else []
