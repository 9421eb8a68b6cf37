"""Groups of runs that differ in their seed only, by the chosen config keys."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from browser.reading.configs import key_suggestion, value_of
from browser.reading.limits import LONGEST_NAME, cut
from browser.reading.session import Run, Session
from utils.errors import ConfigError

# the one group of runs that are grouped by nothing
ALL_RUNS = "all runs"
SEED_KEYS = ("seed", "env_args.seed")


@dataclass(frozen=True)
class Group:
    """Runs with the same values of the keys that they are grouped by.

    Attributes:
        values: those values by key; MISSING where the runs lack a key.
        runs: what was grouped, in the given order.
    """

    values: dict[str, Any]
    runs: tuple[Any, ...]

    @property
    def label(self) -> str:
        """The values for a legend: "qmix · 3m"; ALL_RUNS when grouped by nothing."""
        return " · ".join(cut(str(value), LONGEST_NAME) for value in self.values.values()) or ALL_RUNS


def group_runs(runs: Iterable[Run | Session], keys: Sequence[str]) -> list[Group]:
    """Group runs (or sessions) by config keys, sorted by their values.

    `name` is a key of every run: where the config lacks it, Sacred's name of the experiment counts.

    Raises:
        ConfigError: a key that no run's config has, or a seed's: runs of one group differ in it.
    """
    runs = list(runs)
    known = {"name"} | {key for run in runs for key in run.config}
    for key in keys:
        if key in SEED_KEYS:
            raise ConfigError(f"Runs cannot be grouped by '{key}': the runs of a group are repetitions over seeds.")
        if runs and key not in known:
            raise ConfigError(f"No run's config has the key '{key}'.{key_suggestion(key, known - set(SEED_KEYS))}")
    groups: dict[Hashable, tuple[dict, list]] = {}
    for run in runs:
        values = {key: value_of(run, key) for key in keys}
        groups.setdefault(repr(values), (values, []))[1].append(run)
    ordered = sorted(groups.values(), key=lambda group: [_sort_key(value) for value in group[0].values()])
    return [Group(values, tuple(members)) for values, members in ordered]


def repeated_seeds(runs: Iterable[Run]) -> dict[Any, list[Run]]:
    """The seeds that several runs have, with those runs, the one that started last first.

    Such runs are not independent of one another: with the same program they do the same. Runs without a seed are left
    out.
    """
    by_seed: dict[str, list[Run]] = {}
    for run in runs:
        if run.seed is not None:
            by_seed.setdefault(repr(run.seed), []).append(run)
    return {alike[0].seed: sorted(alike, key=Run.age_key, reverse=True) for alike in by_seed.values() if len(alike) > 1}


def _sort_key(value: Any) -> tuple:
    """Numbers by size, before anything else by its text."""
    if isinstance(value, int | float):
        return (0, value, "")
    return (1, 0, str(value))
