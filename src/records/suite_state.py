"""The state of a suite of runs in files, `<results>/suites/<name>/`: read here, written by `suites`.

- `suite.json`: the suite's runs, frozen, in order.
- `attempts/<run>.<n>.json`: the n-th attempt at a run. Whoever makes the file has the run; only they rewrite it. The
  attempt with the greatest number counts.
- `output/<run>.log`: what the run printed in all attempts.
- `stop`: there while the suite is to stop.
"""

import json
import os
import re
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from records.layout import ATTEMPTS, OUTPUT, STOP, SUITE, SUITES
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import shown
from utils.regular_files import read_regular

# bytes; a suite has at most 10,000 runs, of which each takes about a kilobyte
LARGEST_SUITE, LARGEST_ATTEMPT = 64 * 2**20, 2**17
VERSION = 1
# also of other numbers in a file
LARGEST_STEP = 2**53

RUNNING, DONE, FAILED, LOST, STOPPED = "running", "done", "failed", "lost", "stopped"
STATES = (RUNNING, DONE, FAILED, LOST, STOPPED)
# of a run that nobody has begun
WAITING = "waiting"

_ATTEMPT = re.compile(r"(?P<run>.+)\.(?P<number>[1-9]\d{0,8})\.json")


@dataclass(frozen=True)
class SuiteRun:
    """One run of a suite.

    Attributes:
        id: its name and a hash of its config.
        algorithm: the row that it belongs to: its algorithm, with the names of its overrides.
        environment, map: the column.
        choices: the name of the chosen override by axis.
        t_max: steps.
        words: the command line of main.py, without `run_name` and the folder of results.
        confirmed: what a resumption has to name after `with`.
    """

    id: str
    algorithm: str
    environment: str
    map: str
    seed: int
    choices: dict[str, str]
    t_max: int
    words: list[str]
    confirmed: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Attempt:
    """One attempt at a run.

    Attributes:
        run: the run's id.
        number: of the attempt, from 1.
        state: one of `STATES`.
        token: the name of the run among the results.
        machine: host, boot and process space of the keeper; process ids are only comparable within it.
        host: for people.
        pid, born: of the keeper, and when it started (`suites.processes.born`); `run_pid`, `run_born`: of the run.
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


class SuiteFolder:
    """A suite's folder.

    Args:
        results: the folder of all results.
        name: the suite's.
    """

    def __init__(self, results: str | Path, name: str):
        self.results, self.name = Path(results), name
        self.path = self.results / SUITES / name
        self.frozen, self.stop = self.path / SUITE, self.path / STOP
        self.attempts = self.path / ATTEMPTS
        self._read: dict[str, tuple[tuple[int, int], Attempt]] = {}

    def output(self, run: str) -> Path:
        """The file of what a run prints."""
        return self.path / OUTPUT / f"{run}.log"

    def place(self, run: str, number: int) -> Path:
        """The file of an attempt."""
        return self.attempts / f"{run}.{number}.json"

    def newest(self) -> dict[str, Attempt]:
        """The newest attempt at each run; files that have not changed are not read again.

        An attempt that cannot be read is one that is running: it counts until its lease is over.
        """
        numbers = self.numbers()
        return {run: attempt for run, number in numbers.items() if (attempt := self.attempt(run, number)) is not None}

    def numbers(self) -> dict[str, int]:
        """The greatest number of an attempt, by run."""
        found: dict[str, int] = {}
        try:
            names = os.listdir(self.attempts)
        except FileNotFoundError:
            return {}
        for name in names:
            if match := _ATTEMPT.fullmatch(name):
                found[match["run"]] = max(int(match["number"]), found.get(match["run"], 0))
        return found

    def attempt(self, run: str, number: int) -> Attempt | None:
        """One attempt; None if there is no such."""
        path = self.place(run, number)
        try:
            status = os.lstat(path)
            stamp = status.st_mtime_ns, status.st_size
            known = self._read.get(path.name)
            if known is None or known[0] != stamp:
                self._read[path.name] = known = stamp, _attempt(run, number, read_regular(path, LARGEST_ATTEMPT))
        except FileNotFoundError:
            return None
        except OSError:
            return Attempt(run, number)
        return known[1]

    def runs(self) -> list[SuiteRun]:
        """The suite's runs as they were frozen.

        Raises:
            ConfigError: there is no such suite, or its file is damaged; the message has the nearest name.
        """
        return [_run(self.frozen, entry) for entry in self.content()["runs"]]

    def content(self) -> dict[str, Any]:
        """What suite.json holds.

        Raises:
            ConfigError: as `runs`.
        """
        try:
            content = json.loads(read_regular(self.frozen, LARGEST_SUITE))
        except FileNotFoundError:
            names = suite_names(self.results)
            raise ConfigError(
                f"There is no suite '{shown(self.name)}' in {self.results / SUITES}.{suggestion(self.name, names, 20)}"
            ) from None
        except (OSError, ValueError, RecursionError) as error:
            why = getattr(error, "strerror", None) or "it is no JSON"
            raise ConfigError(f"{self.frozen} cannot be read: {why}.") from None
        if not isinstance(content, dict) or not isinstance(content.get("runs"), list):
            raise ConfigError(f"{self.frozen} is not the file of a suite.")
        if content.get("version") != VERSION:
            raise ConfigError(f"{self.frozen} has the version {shown(content.get('version'))}, not {VERSION}.")
        return content


def suite_names(results: str | Path) -> list[str]:
    """The suites of a folder of results."""
    folder = Path(results) / SUITES
    return sorted(path.name for path in folder.iterdir() if (path / SUITE).is_file()) if folder.is_dir() else []


def _attempt(run: str, number: int, content: bytes) -> Attempt:
    """The attempt in a file's content; what is not of its declared type has the default."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        found = {}
    default = Attempt(run, number)
    values = {
        one.name: value
        for one in fields(Attempt)
        if one.name not in ("run", "number")
        and isinstance(found, dict)
        and _is_like(value := found.get(one.name), getattr(default, one.name))
    }
    made = Attempt(run, number, **values)
    return made if made.state in STATES else Attempt(run, number)


def _is_like(value: Any, example: Any) -> bool:
    if type(value) in (int, float) and not abs(value) <= LARGEST_STEP:
        return False
    if example is None:
        return type(value) is int
    return type(value) in (int, float) if isinstance(example, float) else type(value) is type(example)


def _run(path: Path, entry: Any) -> SuiteRun:
    try:
        run = SuiteRun(**entry)
    except TypeError:
        raise ConfigError(f"{path} is damaged: a run in it has other fields.") from None
    typed = {int: (run.seed, run.t_max), list: (run.words, run.confirmed), dict: (run.choices,)}
    typed[str] = (run.id, run.algorithm, run.environment, run.map)
    well_typed = all(type(value) is kind for kind, values in typed.items() for value in values)
    if (
        not well_typed
        or not re.fullmatch(r"\w[\w.+-]*", run.id)
        or not 0 <= run.t_max <= LARGEST_STEP
        or not all(isinstance(text, str) for text in (*run.words, *run.confirmed))
    ):
        raise ConfigError(f"{path} is damaged: a run in it has other values than a suite writes.")
    return run
