"""The trials of a suite's search.

Trials that are drawn or listed stand in suite.json. A search that learns from its trials has a file for each, in
`search/<key>/` of the suite's folder, where the key is a hash of what is searched:

- `t<k>.json`: the k-th trial, its settings and its runs. Whoever makes the file has made the trial.
- `t<k>.end.json`: how it ended, and its value.
- `optuna.journal`: what the sampler knows.
"""

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from records.layout import SEARCH
from records.run_score import LAST
from suites.state.runs import SuiteRun, is_like, run_of
from utils.errors import ConfigError
from utils.files.regular_files import read_regular
from utils.files.whole_files import create_whole, write_whole

# the axis of the suite whose values are the trials
AXIS = "trial"
MOST_TRIALS = 1000
DONE, PRUNED, FAILED = "done", "pruned", "failed"
ENDS = (DONE, PRUNED, FAILED)
# of a trial that has not ended
RUNNING = "running"
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
    """

    method: str = ""
    trials: int = 0
    metric: str = ""
    last: int = LAST
    direction: str = MAXIMIZE
    folder: str = ""

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> "SearchPlan":
        """The plan in the content of suite.json; what is not of its type has the default."""
        found = content.get("search")
        found = found if isinstance(found, Mapping) else {}
        default = cls()
        values = {
            one.name: found[one.name]
            for one in fields(cls)
            if one.name in found and is_like(found[one.name], getattr(default, one.name))
        }
        made = cls(**values)
        bad = made.folder and not _KEY.fullmatch(made.folder)
        return cls() if bad or made.direction not in (MAXIMIZE, MINIMIZE) or made.last < 1 else made

    def better(self, value: float) -> float:
        """A value's rank: greater is better."""
        return value if self.direction == MAXIMIZE else -value


@dataclass(frozen=True)
class End:
    """How a trial ended.

    Attributes:
        state: one of `ENDS`.
        value: None if it failed; of a pruned one, what it was then.
        error: why it failed.
    """

    state: str
    value: float | None = None
    error: str = ""


@dataclass(frozen=True)
class Trial:
    """One trial.

    Attributes:
        settings: by dotted config key.
        runs: none if its config was refused.
        retried: failed attempts at its runs that do not count any more: the greatest number by run.
        end: None while it has not ended, or where nobody writes that down.
    """

    number: int
    settings: dict[str, Any]
    runs: list[SuiteRun]
    retried: dict[str, int] = field(default_factory=dict)
    end: End | None = None

    @property
    def name(self) -> str:
        """Its value of the axis."""
        return f"t{self.number}"


def listed_trials(content: Mapping[str, Any], runs: list[SuiteRun]) -> list[Trial]:
    """The trials that stand in suite.json."""
    named = content.get("trials")
    of_trial: dict[str, list[SuiteRun]] = {name: [] for name in named} if isinstance(named, dict) else {}
    for run in runs:
        if (name := run.choices.get(AXIS)) in of_trial:
            of_trial[name].append(run)
    return [
        Trial(number, dict(named[name]) if isinstance(named[name], dict) else {}, found)
        for number, (name, found) in enumerate(of_trial.items(), 1)
    ]


class TrialFolder:
    """The files of trials.

    Args:
        suite: the suite's folder.
        key: of the search.
    """

    def __init__(self, suite: Path, key: str):
        self.path = suite / SEARCH / key
        self._read: dict[str, tuple[tuple, Trial]] = {}

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
        write_whole(str(self._place(trial.number)), _content(trial, {**trial.retried, **failed}))
        with suppress(FileNotFoundError):
            self._end(trial.number).unlink()

    def end(self, trial: Trial, end: End) -> None:
        """Write down how a trial ended."""
        write_whole(str(self._end(trial.number)), (json.dumps(asdict(end)) + "\n").encode())

    def _place(self, number: int) -> Path:
        return self.path / f"t{number}.json"

    def _end(self, number: int) -> Path:
        return self.path / f"t{number}.end.json"

    def _trial(self, number: int) -> Trial:
        path = self._place(number)
        stamp = _stamp(path), _stamp(self._end(number))
        known = self._read.get(path.name)
        if known is None or known[0] != stamp:
            try:
                found = json.loads(read_regular(path, _LARGEST))
                end = json.loads(read_regular(self._end(number), _LARGEST)) if stamp[1] else None
            except (OSError, ValueError, RecursionError) as error:
                raise ConfigError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
            self._read[path.name] = known = stamp, _trial_of(path, number, found, end)
        return known[1]


def _content(trial: Trial, retried: Mapping[str, int] | None = None) -> bytes:
    content = {
        "settings": trial.settings,
        "runs": [asdict(run) for run in trial.runs],
        "retried": trial.retried if retried is None else retried,
    }
    return (json.dumps(content, indent=1) + "\n").encode()


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return None
    return status.st_mtime_ns, status.st_size


def _trial_of(path: Path, number: int, found: Any, end: Any) -> Trial:
    parts = [found.get(key) for key in ("settings", "runs", "retried")] if isinstance(found, dict) else []
    if [type(part) for part in parts] != [dict, list, dict]:
        raise ConfigError(f"{path} is not the file of a trial.")
    settings, runs, retried = parts
    retried = {run: tried for run, tried in retried.items() if is_like(tried, 0)}
    return Trial(number, settings, [run_of(path, entry) for entry in runs], retried, _end_of(end))


def _end_of(found: Any) -> End | None:
    if not isinstance(found, dict) or found.get("state") not in ENDS:
        return None
    value, error = found.get("value"), found.get("error")
    return End(found["state"], value if is_like(value, 0.0) else None, error if isinstance(error, str) else "")
