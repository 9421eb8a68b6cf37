"""Who says what the trials of a search are that learns from them: the contract of its methods."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from suites.plan.search import Path as KeyPath
from suites.state.trials import Trial


@dataclass(frozen=True)
class Suggestion:
    """A trial to be made.

    Attributes:
        settings: by the path of a config key.
        exact: settings before they were rounded, by dotted key.
        parent: the trial from whose runs it continues; 0: it begins.
    """

    settings: dict[KeyPath, Any]
    exact: dict[str, float] = field(default_factory=dict)
    parent: int = 0


class Guide(Protocol):
    """A method of a search, which knows of the trials what their files say."""

    def forget(self) -> None:
        """Begin again without trials."""

    def learn(self, trials: Sequence[Trial]) -> None:
        """Take in the files of the trials; ConfigError: one has settings that are not of this search."""

    def ask(self, number: int) -> Suggestion | None:
        """The next trial, the same one after the same trials; None: it depends on some that are under way."""

    def is_stuck(self, trials: Sequence[Trial]) -> bool:
        """Whether these, all there are, will be followed by none, although they are fewer than there were to be."""

    def report(self, trial: Trial) -> bool:
        """Take in a trial's tests so far; whether it is to be ended now."""

    def write_journal(self, path: Path) -> None:
        """Write what other programs may read of the search."""
