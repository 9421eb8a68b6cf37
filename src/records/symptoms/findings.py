"""A rule, and what it finds in a run."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from records.symptoms.evidence import Evidence
from utils.own_commands import as_typed
from utils.plain_values import quoted


@dataclass(frozen=True)
class Finding:
    """What is wrong with a run: what was seen, with figures; the usual cause; the keys to change."""

    rule: str
    title: str
    seen: str
    cause: str
    change: str

    @property
    def line(self) -> str:
        """As one line."""
        return f"{self.title}: {self.seen} {self.cause} {self.change}"


@dataclass(frozen=True)
class Rule:
    """One way in which a run is ill.

    Attributes:
        name: as the docs call it.
        look: what was seen, as a sentence with figures; "" of a healthy run.
        change: what to do, a sentence that names `keys`, whose present values are added.
        live: also looked for while the run trains; others need its end.
        team: asked of each team of a run with several.
    """

    name: str
    title: str
    look: Callable[[Evidence], str]
    cause: str
    change: str
    keys: tuple[str, ...] = ()
    live: bool = True
    team: bool = True

    def of(self, evidence: Evidence) -> Iterable[Finding]:
        teams = evidence.config.get("teams")
        names = list(teams) if self.team and isinstance(teams, dict) and teams else [""]
        for team in names:
            if seen := self.look(replace(evidence, team=team)):
                title = f"{self.title} ({team})" if team else self.title
                change = f"{as_typed(self.change)}{_now(evidence, self.keys)}"
                yield Finding(self.name, title, seen, self.cause, change)


def _now(evidence: Evidence, keys: Iterable[str]) -> str:
    given: list[str] = []
    for key in keys:
        value: Any = evidence.config
        for part in key.split("."):
            value = value.get(part, ...) if isinstance(value, Mapping) else ...
        if value is not ...:
            given.append(f"{key}={quoted(str(value))}")
    return f" Now: {', '.join(given)}." if given else ""


def short(x: float) -> str:
    """A number for a sentence: three digits, large ones with commas."""
    return f"{x:,.0f}" if 1000 <= abs(x) < 1e9 else f"{x:.3g}"
