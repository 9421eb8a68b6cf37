"""Short trainings that measure how fast the runs of a suite are: which, how long, and what came of them."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from records.layout import DIAGNOSTICS, LIVE, RUNS
from records.limits import LARGEST_LOG
from records.metric_rows import Rows, read_rows, whole_lines
from records.tokens import is_token
from suites.estimates.forecast import family
from suites.estimates.speeds import EARLIER, MEASURED, TEST, TESTS, TRAIN, Speed, words_of_speed
from suites.state.runs import RUNNING, SuiteRun
from suites.state.state import Attempt
from utils.files.regular_files import read_regular
from utils.files.whole_files import write_whole

UPDATES, LONGEST_TEST = "updates", "longest/test"
# seconds of training after the first update: the least that says something, and the most that is worth its time
LEAST, MOST = 5.0, 60.0
# of a short run besides: it starts, compiles, tests, and comes to its first updates
START = 15.0
# of a run, in which it has to come to its first updates: so many times the seconds that are wanted, and so many more
PATIENCE, EXTRA = 4.0, 60.0
# steps between looks at the timer; episodes of a test
LOOKS, EPISODES = 500, 10
# settings of short runs, which leave nothing behind and tell no other service
_QUIET = ["save_model=False", "save_replay=False", "summary=False", "use_tensorboard=False", "use_wandb=False",
          "use_mlflow=False", "mongo_url=''", "on_end=''", "record_data=''", "timer='on'"]  # fmt: skip
# those that they replace
_REPLACED = ("max_hours=", "log_interval=", "test_nepisode=", *(f"{word.partition('=')[0]}=" for word in _QUIET))


@dataclass(frozen=True)
class ShortRun:
    """A short training; `tests`: how many times as long a test of the whole run is."""

    whole: SuiteRun
    short: SuiteRun
    tests: float


def to_measure(runs: Iterable[SuiteRun], speeds: Sequence[Speed], again: bool) -> list[SuiteRun]:
    """A run of each setting of which nothing is known, or, `again`, of each that is not known by earlier runs.

    First one of each algorithm and family of maps, then another one of each, and so on.
    """
    known = {tuple(speed.words) for speed in speeds if speed.how == EARLIER or not again}
    groups: dict[tuple, dict[tuple, SuiteRun]] = {}
    for run in runs:
        if (words := tuple(words_of_speed(run))) not in known:
            groups.setdefault((run.algorithm, run.environment, family(run.map)), {}).setdefault(words, run)
    rounds = zip_longest(*(list(group.values()) for group in groups.values()))
    return [run for each in rounds for run in each if run is not None]


def affordable(count: int, jobs: int, seconds: float) -> tuple[int, float]:
    """Of so many settings, how many can be measured in these seconds, and for how many seconds each."""
    each = seconds * jobs / max(count, 1) - START
    if each >= LEAST:
        return count, min(each, MOST)
    return max(min(int(seconds * jobs / (LEAST + START)), count), 1), LEAST


def short_run(run: SuiteRun, number: int, seconds: float, config: Mapping[str, Any], place: Path) -> ShortRun:
    """The short training of a run. `seconds`: after its first update; `config`: of the run; `place`: for its league."""
    copies = 1 if config["runner"] == "episode" else config["batch_size_run"]
    episodes = min(config["test_nepisode"], EPISODES)
    words = [word for word in run.words if not word.startswith(_REPLACED)]
    words += [f"max_hours={(PATIENCE * seconds + EXTRA) / 3600!r}", f"log_interval={LOOKS}"]
    words += [f"test_nepisode={episodes}", *_QUIET]
    if config.get("league_folder"):  # with itself alone: it is not the player that the run will be
        words.append(f"league_folder={str(place / f'league-{number}')!r}")
    tests = math.ceil(config["test_nepisode"] / copies) / max(math.ceil(episodes / copies), 1)
    return ShortRun(run, replace(run, id=f"short-{number}", words=words, confirmed=[]), tests)


class Watch:
    """Ends short runs that have trained for long enough, by the file that a run reads before each rollout."""

    def __init__(self, results: Path, seconds: float):
        self._results, self._seconds = results, seconds
        self._ended: set[str] = set()

    def look(self, newest: Mapping[str, Attempt]) -> None:
        """Look at all that are under way."""
        for run, attempt in newest.items():
            if attempt.state == RUNNING and run not in self._ended and is_token(attempt.token):
                rows = _timer(self._results, attempt.token)
                begun = None if rows is None else _begin(rows)
                if rows is not None and begun is not None and rows[TRAIN].value[-1] - begun[1] >= self._seconds:
                    self._ended.add(run)
                    path = self._results / RUNS / attempt.token / LIVE
                    write_whole(str(path), b"max_hours: 1.0e-9\n")


def measured(results: Path, one: ShortRun, attempt: Attempt, host: str) -> Speed | None:
    """What a short run that has ended says; None: it has not come so far."""
    rows = _timer(results, attempt.token) if is_token(attempt.token) else None
    begun = None if rows is None else _begin(rows)
    if rows is None or begun is None:
        return None
    steps, train = rows[TRAIN].t_env[-1] - begun[0], rows[TRAIN].value[-1] - begun[1]
    if steps <= 0 or train <= 0:
        return None
    last = {key: float(rows[key].value[-1]) if key in rows else 0.0 for key in (TEST, TESTS, LONGEST_TEST)}
    # the first test, which compiles, is left out if it can be
    spent, count = last[TEST], last[TESTS]
    if count > 1:
        spent, count = spent - last[LONGEST_TEST], count - 1
    test = spent / count * one.tests if count else 0.0
    start = max(attempt.ended - attempt.claimed - float(rows[TRAIN].value[-1]) - last[TEST], 0.0)
    run = one.whole
    names = run.algorithm, run.environment, run.map
    return Speed(words_of_speed(run), *names, float(train / steps), test, start, MEASURED, host, float(train))


def _begin(rows: Mapping[str, Rows]) -> tuple[float, float] | None:
    """The step and the seconds of training when the first update had been made; None: none has been."""
    updates, train = rows.get(UPDATES), rows.get(TRAIN)
    if updates is None or train is None:
        return None
    made = updates.t_env[updates.value > 0]
    after = np.flatnonzero(train.t_env >= made[0]) if len(made) else np.empty(0, int)
    return (float(train.t_env[after[0]]), float(train.value[after[0]])) if len(after) else None


def _timer(results: Path, token: str) -> dict[str, Rows] | None:
    try:
        body = whole_lines(read_regular(results / RUNS / token / DIAGNOSTICS, LARGEST_LOG))
    except OSError:
        return None
    return read_rows(body, (UPDATES, TRAIN, TEST, TESTS, LONGEST_TEST)) if body else None
