"""The curves of a suite's runs in one small file, which a repository keeps when the results are gone.

{"version": 1, "suite": "mine", "description": "...", "metric": "test_return_mean", "runs": [
{"id": "vdn-3m-s1-0badcafe", "algorithm": "vdn", ..., "steps": [2048, ...], "values": [1.25, ...]},
...
]}
"""

import json
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from suites.state.runs import well_typed
from utils.errors import ConfigError
from utils.files.regular_files import read_regular
from utils.files.whole_files import write_whole
from utils.plain_values import quoted

VERSION = 1
ENDING = ".json"
# bytes of a file: 10,000 runs have 60 MB
LARGEST = 2**26
# significant digits of a value
DIGITS = 6
ABSOLUTE = "absolute"


@dataclass(frozen=True)
class RunCurve:
    """One run that is done.

    Attributes:
        id: the run's, in its suite.
        algorithm: with its overrides.
        words: the command line of main.py, without seed, label and threads.
        commit: of the program; "+" after it: with changes; empty if that is not known.
        seconds: of training.
        steps, values: the statistic at environment steps, finite.
        absolute: its absolute metric; empty if the run has none.
    """

    id: str
    algorithm: str
    environment: str
    map: str
    seed: int
    t_max: int
    words: list[str]
    commit: str = ""
    seconds: float = 0.0
    steps: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    absolute: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class CurveFile:
    """What a file holds; `metric`: the statistic."""

    suite: str
    description: str
    metric: str
    runs: list[RunCurve]

    def updated(self, runs: Iterable[RunCurve], wanted: Collection[str]) -> "CurveFile":
        """The file with these runs, too, and without those that are not `wanted`, in the order of their ids."""
        merged = {run.id: run for run in (*self.runs, *runs) if run.id in wanted}
        return CurveFile(self.suite, self.description, self.metric, [merged[name] for name in sorted(merged)])

    def text(self) -> str:
        """As the file has it: a line for each run."""
        head = {"version": VERSION, "suite": self.suite, "description": self.description, "metric": self.metric}
        lines = [json.dumps(_entry(run)) for run in self.runs]
        return json.dumps(head)[:-1] + ', "runs": [\n' + ",\n".join(lines) + "\n]}\n"


_EXAMPLE = RunCurve("", "", "", "", 0, 0, [])


def read_curves(path: Path) -> CurveFile:
    """Read a file. Raises: ConfigError: it cannot be read, or is no such file."""
    try:
        content = json.loads(read_regular(path, LARGEST))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError):
        raise ConfigError(f"{path} is not JSON; suite.py export writes such files.") from None
    if not isinstance(content, dict) or not isinstance(content.get("runs"), list):
        raise ConfigError(f"{path} is not a file of suite.py export.")
    if content.get("version") != VERSION:
        raise ConfigError(f"{path} has the version {quoted(content.get('version'))}, not {VERSION}.")
    suite, description, metric = (str(content.get(key, "")) for key in ("suite", "description", "metric"))
    return CurveFile(suite, description, metric, [_run(path, entry) for entry in content["runs"]])


def curve_files(folder: Path) -> list[CurveFile]:
    """All files of a folder, in the order of their names. Raises: ConfigError: as `read_curves`."""
    return [read_curves(path) for path in sorted(folder.glob(f"*{ENDING}"))]


def write_curves(path: Path, file: CurveFile) -> None:
    """Write a file. Raises: ConfigError: that cannot be done."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(str(path), file.text().encode())
        path.chmod(0o644)  # it is made to be published
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}.") from None


def _run(path: Path, entry: Any) -> RunCurve:
    found = well_typed(_EXAMPLE, entry)
    if not isinstance(entry, dict) or found != entry or not vars(_EXAMPLE).keys() - {ABSOLUTE} <= entry.keys():
        raise ConfigError(f"{path}: a run in it has other values than suite.py export writes.")
    run = RunCurve(**found)
    numbers = [*run.steps, *run.values, *run.absolute]
    if len(run.steps) != len(run.values) or not all(type(number) in (int, float) for number in numbers):
        raise ConfigError(f"{path}: {quoted(run.id)} has other curves than suite.py export writes.")
    return run


def _entry(run: RunCurve) -> dict[str, Any]:
    """As the file has it; a run without an absolute metric says nothing of it, as in older files."""
    entry = {**asdict(run), "values": [_short(value) for value in run.values]}
    absolute = {ABSOLUTE: [_short(value) for value in entry.pop(ABSOLUTE)]}
    return entry | (absolute if run.absolute else {})


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
