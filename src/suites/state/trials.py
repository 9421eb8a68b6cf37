"""The trials of a suite's search.

Trials that are drawn or listed stand in suite.json. A search that learns from its trials has a file for each, in
`search/<key>/` of the suite's folder, where the key is a hash of what is searched:

- `t<k>.json`: the k-th trial, its settings and its runs. Whoever makes the file has made the trial.
- `t<k>.end.json`: how it ended, and its value.
- `optuna.journal`: the same for Optuna's dashboard; Muster does not read it.
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from records.layout import SEARCH
from records.run_score import LAST
from suites.state.runs import DONE, FAILED, SuiteRun, is_like, run_of, well_typed
from utils.errors import ConfigError
from utils.files.regular_files import read_regular
from utils.files.whole_files import create_whole, write_whole

# the axis of the suite whose values are the trials
AXIS = "trial"
MOST_TRIALS = 1000
PRUNED = "pruned"
ENDS = (DONE, PRUNED, FAILED)
MAXIMIZE, MINIMIZE = "maximize", "minimize"
# bytes; a run takes about a kilobyte
_LARGEST = 16 * 2**20
_NAME = re.compile(r"t([1-9]\d{0,3})\.json")
_KEY = re.compile(r"[0-9a-f]{8}")


@dataclass(frozen=True)
class SearchPlan:
    """What suite.json says of a search.

    Attributes:
        method: empty: there is no search.
        trials: how many there will be.
        metric: the statistic that counts; empty: the first of `records.best_model.RANKED_BY` that the runs log.
        last: how many of a run's last values make its score.
        folder: the key of a search that learns from its trials; else empty.
        members: of a population, whose generations come one after another; 0 of other methods.
    """

    method: str = ""
    trials: int = 0
    metric: str = ""
    last: int = LAST
    direction: str = MAXIMIZE
    folder: str = ""
    members: int = 0

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> "SearchPlan":
        """The plan in the content of suite.json; what is not of its type has the default."""
        made = cls(**well_typed(cls(), content.get("search")))
        bad = made.folder and not _KEY.fullmatch(made.folder)
        bad = bad or made.direction not in (MAXIMIZE, MINIMIZE) or made.last < 1 or made.members < 0
        return cls() if bad else made

    def better(self, value: float) -> float:
        """A value's rank: greater is better."""
        return value if self.direction == MAXIMIZE else -value

    def generation(self, number: int) -> int:
        """The generation of a population's k-th trial, from 1."""
        return (number - 1) // self.members + 1

    def member(self, number: int) -> int:
        """Its place in the population, from 1."""
        return (number - 1) % self.members + 1

    def copies(self, trial: "Trial") -> bool:
        """Whether a population's trial continues from another member's."""
        return bool(trial.parent) and self.member(trial.parent) != self.member(trial.number)


@dataclass(frozen=True)
class End:
    """How a trial ended.

    Attributes:
        state: one of `ENDS`.
        value: None if it failed; of a pruned one, what it was then.
        error: why it failed.
        course: its value after each of its tests, where poor trials are ended early.
        minutes: of training, of all its runs.
    """

    state: str
    value: float | None = None
    error: str = ""
    course: list[float] = field(default_factory=list)
    minutes: float = 0.0


@dataclass(frozen=True)
class Trial:
    """One trial.

    Attributes:
        settings: by dotted config key.
        runs: none if its config was refused.
        retried: failed attempts at its runs that do not count any more: the greatest number by run.
        exact: settings as the sampler knows them, before they were rounded.
        parent: of a population, the trial from whose runs it continues; 0: it begins.
        end: None while it has not ended, or where nobody writes that down.
    """

    number: int
    settings: dict[str, Any]
    runs: list[SuiteRun]
    retried: dict[str, int] = field(default_factory=dict)
    exact: dict[str, float] = field(default_factory=dict)
    parent: int = 0
    end: End | None = None

    @property
    def name(self) -> str:
        """Its value of the axis."""
        return f"t{self.number}"


def listed_trials(content: Mapping[str, Any], runs: list[SuiteRun]) -> list[Trial]:
    """The trials that stand in suite.json."""
    named = content.get("trials")
    trials = {
        name: Trial(number, dict(settings) if isinstance(settings, dict) else {}, [])
        for number, (name, settings) in enumerate(named.items() if isinstance(named, dict) else (), 1)
    }
    for run in runs:
        if (name := run.choices.get(AXIS, "")) in trials:
            trials[name].runs.append(run)
    return list(trials.values())


class TrialFolder:
    """The files of trials.

    Args:
        suite: the suite's folder.
        key: of the search.
    """

    def __init__(self, suite: Path, key: str):
        self.path = suite / SEARCH / key
        self._read: dict[int, tuple[tuple, Trial]] = {}

    def all(self) -> list[Trial]:
        """The trials that there are, in order; files that have not changed are not read again.

        Raises:
            ConfigError: a file is damaged.
        """
        try:
            names = os.listdir(self.path)
        except FileNotFoundError:
            return []
        numbers = sorted(int(match[1]) for name in names if (match := _NAME.fullmatch(name)))
        return [self._trial(number) for number in numbers[:MOST_TRIALS]]

    def create(self, trial: Trial) -> bool:
        """Make a trial; whether this process was the first to make one with its number."""
        return create_whole(str(self._place(trial.number)), _content(trial))

    def retry(self, trial: Trial, failed: Mapping[str, int]) -> None:
        """Let a trial continue that has failed: these attempts at its runs do not count any more."""
        again = replace(trial, retried={**trial.retried, **failed})
        write_whole(str(self._place(trial.number)), _content(again))
        self._end(trial.number).unlink(missing_ok=True)

    def end(self, trial: Trial, end: End) -> None:
        """Write down how a trial ended."""
        write_whole(str(self._end(trial.number)), (json.dumps(asdict(end)) + "\n").encode())

    def _place(self, number: int) -> Path:
        return self.path / f"t{number}.json"

    def _end(self, number: int) -> Path:
        return self.path / f"t{number}.end.json"

    def _trial(self, number: int) -> Trial:
        path, end = self._place(number), self._end(number)
        stamp = _stamp(path), _stamp(end)
        known = self._read.get(number)
        if known is None or known[0] != stamp:
            try:
                found = json.loads(read_regular(path, _LARGEST))
                ended = json.loads(read_regular(end, _LARGEST)) if stamp[1] else None
            except (OSError, ValueError, RecursionError) as error:
                raise ConfigError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
            self._read[number] = known = stamp, _trial_of(path, number, found, ended)
        return known[1]


def _content(trial: Trial) -> bytes:
    content = {key: value for key, value in asdict(trial).items() if key not in ("number", "end")}
    return (json.dumps(content, indent=1) + "\n").encode()


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return None
    return status.st_mtime_ns, status.st_size


def _trial_of(path: Path, number: int, found: Any, ended: Any) -> Trial:
    parts = well_typed(Trial(number, {}, []), found)
    if not {"settings", "runs", "retried"} <= parts.keys():
        raise ConfigError(f"{path} is not the file of a trial.")
    end = None
    if isinstance(ended, Mapping) and ended.get("state") in ENDS:
        value, course = ended.get("value"), ended.get("course")
        end = End(
            ended["state"],
            value if is_like(value, 0.0) else None,
            ended["error"] if isinstance(ended.get("error"), str) else "",
            course if isinstance(course, list) and all(is_like(one, 0.0) for one in course) else [],
            ended["minutes"] if is_like(ended.get("minutes"), 0.0) and ended["minutes"] >= 0 else 0.0,
        )
    return Trial(
        number,
        parts["settings"],
        [run_of(path, entry) for entry in parts["runs"]],
        {run: tried for run, tried in parts["retried"].items() if is_like(tried, 0)},
        {key: value for key, value in parts.get("exact", {}).items() if is_like(value, 0.0)},
        parts.get("parent", 0),
        end,
    )
