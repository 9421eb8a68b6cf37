"""The state of a suite of runs in files, `<results>/suites/<name>/`.

- `suite.json`: the manifest: the suite's runs, in order.
- `attempts/<run>.<n>.json`: the n-th attempt at a run. Whoever makes the file has the run; only they rewrite it. The
  attempt with the greatest number counts.
- `output/<run>.log`: what the run printed in all attempts.
- `search/<key>/t<k>.json`: the k-th trial of a search that learns from its trials (`suites.state.trials`).
- `dropped/<run>`: a mark; the run is not wanted any more, since its trial was pruned or has failed.
- `stop`: there while the suite is to stop.
"""

import json
import os
import re
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from records.layout import ATTEMPTS, DROPPED_RUNS, OUTPUT, STOP, SUITE, SUITES
from suites.state.runs import DONE, DROPPED, FAILED, LOST, RUNNING, STOPPED, SuiteRun, run_of, well_typed
from suites.state.trials import SearchPlan, Trial, TrialFolder, listed_trials
from utils.errors import ConfigError
from utils.files.regular_files import read_regular
from utils.files.whole_files import write_whole
from utils.nearest import suggestion
from utils.plain_values import quoted

# bytes; a suite has at most 10,000 runs, of which each takes about a kilobyte
LARGEST_SUITE, LARGEST_ATTEMPT = 64 * 2**20, 2**17
VERSION = 1

STATES = (RUNNING, DONE, FAILED, LOST, STOPPED, DROPPED)

_ATTEMPT = re.compile(r"(?P<run>.+)\.(?P<number>[1-9]\d{0,8})\.json")


@dataclass(frozen=True)
class Attempt:
    """One attempt at a run.

    Attributes:
        run: the run's id.
        number: of the attempt, from 1.
        state: one of `STATES`.
        token: the name of the run among the results.
        machine: host, boot and process space of the supervisor; process ids are only comparable within it.
        host: for people.
        pid, born: of the supervisor, and when it started (`suites.launch.processes.born`); `run_pid`, `run_born`: of
            the run.
        lease: seconds after its last renewal, the file's time of change, when others may take the run over.
        launcher: whoever began it.
        resumed: steps of the checkpoint from which it resumed, 0 for none; `resumes`: whether it did.
        losses: how many attempts before it were lost in a row, without a new checkpoint.
        claimed, ended: seconds since the epoch, by the clock of that machine.
        steps: environment steps so far; `seconds`: of training in all sessions.
        cores, gpus: that it runs on.
        exit_code, error: of one that failed or was lost; the error is its last lines.
    """

    run: str
    number: int
    state: str = RUNNING
    token: str = ""
    machine: str = ""
    host: str = ""
    pid: int = 0
    born: str = ""
    run_pid: int = 0
    run_born: str = ""
    lease: float = 300.0
    launcher: str = ""
    resumed: int = 0
    resumes: bool = False
    losses: int = 0
    claimed: float = 0.0
    ended: float = 0.0
    steps: int = 0
    seconds: float = 0.0
    cores: list[int] = field(default_factory=list)
    gpus: list[str] = field(default_factory=list)
    exit_code: int | None = None
    error: str = ""

    def to_bytes(self) -> bytes:
        """As its file has it."""
        return (json.dumps(asdict(self)) + "\n").encode()

    @classmethod
    def from_bytes(cls, run: str, number: int, content: bytes) -> "Attempt":
        """The attempt in a file; what is not of its declared type has the default."""
        default = cls(run, number)
        try:
            found = json.loads(content)
        except (ValueError, RecursionError):
            return default
        made = cls(**{**well_typed(default, found), "run": run, "number": number})
        return made if made.state in STATES else default


class SuiteFolder:
    """The folder of the suite `name` in the folder of all results."""

    def __init__(self, results: str | Path, name: str):
        self.results, self.name = Path(results), name
        self.path = self.results / SUITES / name
        self.manifest, self.stop = self.path / SUITE, self.path / STOP
        self.attempts = self.path / ATTEMPTS
        self._dropped = self.path / DROPPED_RUNS
        self._read: dict[str, tuple[tuple[int, int], Attempt]] = {}
        self._trials: TrialFolder | None = None

    def output(self, run: str) -> Path:
        """The file of what a run prints."""
        return self.path / OUTPUT / f"{run}.log"

    def place(self, run: str, number: int) -> Path:
        """The file of an attempt."""
        return self.attempts / f"{run}.{number}.json"

    def write(self, attempt: Attempt) -> None:
        """Rewrite an attempt of one's own. On a full disk it stays as it is: it is written again when it is renewed."""
        with suppress(OSError):
            write_whole(str(self.place(attempt.run, attempt.number)), attempt.to_bytes())

    def newest(self) -> dict[str, Attempt]:
        """The newest attempt at each run; files that have not changed are not read again.

        An attempt that cannot be read is one that is running: it counts until its lease is over.
        """
        numbers: dict[str, int] = {}
        with suppress(FileNotFoundError):
            for name in os.listdir(self.attempts):
                if match := _ATTEMPT.fullmatch(name):
                    numbers[match["run"]] = max(int(match["number"]), numbers.get(match["run"], 0))
        return {run: attempt for run, number in numbers.items() if (attempt := self.attempt(run, number)) is not None}

    def attempt(self, run: str, number: int) -> Attempt | None:
        """One attempt; None if there is no such."""
        path = self.place(run, number)
        try:
            status = os.lstat(path)
            stamp = status.st_mtime_ns, status.st_size
            known = self._read.get(path.name)
            if known is None or known[0] != stamp:
                made = Attempt.from_bytes(run, number, read_regular(path, LARGEST_ATTEMPT))
                self._read[path.name] = known = stamp, made
        except FileNotFoundError:
            return None
        except OSError:
            return Attempt(run, number)
        return known[1]

    def content(self) -> dict[str, Any]:
        """What suite.json holds.

        Raises:
            ConfigError: there is no such suite, or its file is damaged; the message has the nearest name.
        """
        try:
            content = json.loads(read_regular(self.manifest, LARGEST_SUITE))
        except FileNotFoundError:
            names = suite_names(self.results)
            raise ConfigError(
                f"There is no suite '{quoted(self.name)}' in {self.results / SUITES}.{suggestion(self.name, names, 20)}"
            ) from None
        except OSError as error:
            raise ConfigError(f"{self.manifest} cannot be read: {error.strerror}.") from None
        except (ValueError, RecursionError):
            raise ConfigError(
                f"{self.manifest} cannot be read: it is not JSON. Without it, suite.py run makes it again: what is "
                "done stays done."
            ) from None
        if not isinstance(content, dict) or not isinstance(content.get("runs"), list):
            raise ConfigError(f"{self.manifest} is not the file of a suite.")
        if content.get("version") != VERSION:
            raise ConfigError(f"{self.manifest} has the version {quoted(content.get('version'))}, not {VERSION}.")
        return content

    def plan(self) -> SearchPlan:
        """What the manifest says of a search. Raises: ConfigError: as `content`."""
        return SearchPlan.of(self.content())

    def runs(self) -> list[SuiteRun]:
        """The suite's runs as the manifest has them, and those of the trials that a search has made by now.

        Raises:
            ConfigError: as `content`.
        """
        content = self.content()
        runs = [run_of(self.manifest, entry) for entry in content["runs"]]
        if (trials := self.trial_folder(SearchPlan.of(content))) is not None:
            runs += [run for trial in trials.all() for run in trial.runs]
        return runs

    def trials(self) -> list[Trial]:
        """The trials of a search, in order; none for other suites. Raises: ConfigError: as `content`."""
        content = self.content()
        if (trials := self.trial_folder(SearchPlan.of(content))) is not None:
            return trials.all()
        return listed_trials(content, self.runs())

    def trial_folder(self, plan: SearchPlan) -> TrialFolder | None:
        """Where a search that learns from its trials has them; None for other suites."""
        if not plan.folder:
            return None
        if self._trials is None or self._trials.path.name != plan.folder:
            self._trials = TrialFolder(self.path, plan.folder)
        return self._trials

    def dropped(self) -> set[str]:
        """The runs that are not wanted any more."""
        try:
            return set(os.listdir(self._dropped))
        except FileNotFoundError:
            return set()

    def is_dropped(self, run: str) -> bool:
        """Whether a run is not wanted any more."""
        return (self._dropped / run).exists()

    def drop(self, run: str) -> None:
        """Say that a run is not wanted any more: its supervisor stops it, and no launcher begins it."""
        self._dropped.mkdir(exist_ok=True, mode=0o700)
        (self._dropped / run).touch(mode=0o600)

    def want(self, run: str) -> None:
        """Take that back."""
        (self._dropped / run).unlink(missing_ok=True)


def suite_names(results: str | Path) -> list[str]:
    """The suites of a folder of results."""
    folder = Path(results) / SUITES
    return sorted(path.name for path in folder.iterdir() if (path / SUITE).is_file()) if folder.is_dir() else []
