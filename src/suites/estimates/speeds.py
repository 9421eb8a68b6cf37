"""How fast runs were on this machine: of earlier runs by their timers, and of short trainings in `speeds.json`."""

import json
import os
import platform
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from records.layout import DIAGNOSTICS, RUNS, SPEEDS, SUITES
from records.metric_rows import last_values, whole_lines
from records.tokens import is_token
from suites.state.runs import DONE, SuiteRun, well_typed
from suites.state.state import Attempt, SuiteFolder, suite_names
from utils.errors import ConfigError
from utils.files.regular_files import open_regular, read_regular
from utils.files.whole_files import write_whole

TRAIN, TEST, TESTS = "time/train", "time/test", "calls/test"
# how a speed is known
EARLIER, MEASURED = "earlier", "measured"
# what a run does besides training and testing, where that is not known: imports, the last checkpoint
USUAL_START = 5.0
# words that say nothing about how long a step takes
APART = ("seed=", "label=", "t_max=", "max_hours=", "log_interval=", "runner_log_interval=", "learner_log_interval=")
# earlier runs of one setting that count, the newest; seconds that one must have trained
NEWEST, SHORTEST = 3, 60.0
# bytes of the file; bytes of a log's end, in which the last figures stand
LARGEST, TAIL = 2**24, 2**16


@dataclass(frozen=True)
class Speed:
    """How long runs of one setting took.

    Attributes:
        words: of a run's command, without those of `APART`, sorted.
        algorithm, environment, map: of the run in its suite.
        step: seconds of training for an environment step.
        test: seconds of a test.
        start: seconds of a run besides these.
        how: EARLIER or MEASURED.
        host: the machine.
        seconds: of training that it was measured in.
    """

    words: list[str]
    algorithm: str
    environment: str
    map: str
    step: float
    test: float = 0.0
    start: float = USUAL_START
    how: str = EARLIER
    host: str = ""
    seconds: float = 0.0


def words_of_speed(run: SuiteRun) -> list[str]:
    """The words of a run by which its speed is known."""
    return sorted(word for word in run.words if not word.startswith(APART))


def known_speeds(results: Path) -> list[Speed]:
    """All that is known of this machine, earlier runs first."""
    return [*earlier_speeds(results), *measured_speeds(results)]


def earlier_speeds(results: Path) -> list[Speed]:
    """Of the newest runs of each setting in all suites of a folder of results that ran on this machine."""
    found: dict[tuple, list[tuple[Attempt, SuiteRun]]] = {}
    for name in suite_names(results):
        folder = SuiteFolder(results, name)
        with suppress(ConfigError):  # a damaged suite says nothing
            newest = folder.newest()
            for run in folder.runs():
                attempt = newest.get(run.id)
                if attempt is not None and attempt.host == platform.node() and attempt.seconds >= SHORTEST:
                    found.setdefault(tuple(words_of_speed(run)), []).append((attempt, run))
    speeds = []
    for runs in found.values():
        runs.sort(key=lambda pair: pair[0].claimed)
        speeds += [speed for attempt, run in runs[-NEWEST:] if (speed := speed_of(results, run, attempt)) is not None]
    return speeds


def speed_of(results: Path, run: SuiteRun, attempt: Attempt) -> Speed | None:
    """Of one run, by its timer, or else by its steps and seconds; None if it has not trained."""
    steps, seconds = attempt.steps, attempt.seconds
    train, test, tests = seconds, 0.0, 0.0
    if is_token(attempt.token) and (figures := last_figures(results / RUNS / attempt.token / DIAGNOSTICS)) is not None:
        steps, values = figures
        train, test, tests = (values.get(key, 0.0) for key in (TRAIN, TEST, TESTS))
    if steps <= 0 or train <= 0:
        return None
    whole = attempt.ended - attempt.claimed if attempt.state == DONE and not attempt.resumes else 0.0
    start = max(whole - train - test, 0.0) if whole else USUAL_START
    each = test / tests if tests else 0.0
    names = run.algorithm, run.environment, run.map
    return Speed(words_of_speed(run), *names, train / steps, each, start, EARLIER, attempt.host, seconds)


def last_figures(path: Path) -> tuple[int, dict[str, float]] | None:
    """The environment step of a timer's last figures, and these by key; None if there are none."""
    try:
        with open_regular(path) as file:
            head = file.readline()
            file.seek(max(file.seek(0, os.SEEK_END) - TAIL, len(head)))
            body = whole_lines(head + file.read())
    except OSError:
        return None
    step, values = last_values(body or b"", (TRAIN, TEST, TESTS))
    return (step, values) if step and TRAIN in values else None


def measured_speeds(results: Path) -> list[Speed]:
    """Those that were measured on this machine; none if the file is damaged."""
    return [speed for speed in _all(results) if speed.host == platform.node()]


def keep_speeds(results: Path, speeds: Iterable[Speed]) -> None:
    """Write down speeds, beside those of other settings and machines. Raises: ConfigError: that cannot be done."""
    kept = {(speed.host, *speed.words): speed for speed in (*_all(results), *speeds)}
    path = results / SUITES / SPEEDS
    lines = ",\n".join(json.dumps(asdict(speed)) for speed in kept.values())
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(str(path), f"[\n{lines}\n]\n".encode())
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}.") from None


def _all(results: Path) -> list[Speed]:
    example, found = Speed([], "", "", "", 0.0), []
    try:
        content = json.loads(read_regular(results / SUITES / SPEEDS, LARGEST))
    except (OSError, ValueError, RecursionError):
        return []
    for entry in content if isinstance(content, list) else []:
        typed = well_typed(example, entry)
        if typed == entry and len(typed) == len(vars(example)) and typed["step"] > 0:
            found.append(Speed(**typed))
    return found
