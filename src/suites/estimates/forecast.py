"""How long runs will take by what is known of their speeds, and how sure that is."""

import heapq
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from suites.estimates.speeds import EARLIER, MEASURED, Speed, words_of_speed
from suites.state.runs import DONE, FAILED, SuiteRun
from suites.state.state import Attempt
from utils.plain_values import counted
from utils.timehelper import about

# by runs that are like it in less than everything
ALIKE = "alike"
# by how much a time may be wrong in either direction
FACTORS = {EARLIER: 1.2, MEASURED: 1.4, ALIKE: 3.0}
_WORDS = {
    EARLIER: "as fast as earlier runs",
    MEASURED: "as fast as short trainings",
    ALIKE: "guessed from others of the algorithm",
}
# of a map's name, what a family has in common
_FAMILY = re.compile(r"[^:_-]*")


@dataclass(frozen=True)
class Duration:
    """Of one run: seconds, a step's part of them, and how they are known."""

    seconds: float
    step: float
    how: str


@dataclass(frozen=True)
class Forecast:
    """Of a suite.

    Attributes:
        durations: by run, of those that are still to come; None: nothing is known.
        jobs: runs at a time.
    """

    durations: Mapping[str, Duration | None]
    jobs: int

    @property
    def known(self) -> list[Duration]:
        """In the order of the runs."""
        return [duration for duration in self.durations.values() if duration is not None]

    @property
    def unknown(self) -> int:
        """How many runs nothing is known of."""
        return len(self.durations) - len(self.known)

    def seconds(self, sign: int = 0) -> float:
        """Until the last run ends; `sign` -1 and 1: at least and at most."""
        free = [0.0] * self.jobs
        for duration in self.known:
            heapq.heapreplace(free, free[0] + duration.seconds * FACTORS[duration.how] ** sign)
        return max(free)

    def text(self, measure: str) -> str:
        """In a sentence or two. `measure`: the command that measures what is not known."""
        if not self.durations:
            return "Nothing is left to do."
        if not self.known:
            return f"How long it takes is not known: nothing like it has trained here. To measure it: {measure}"
        known, by = self.known, []
        for how, words in _WORDS.items():
            if count := sum(duration.how == how for duration in known):
                by.append(f"{counted(count, 'run')} {words}")
        at_once = f"{counted(self.jobs, 'run')} at a time"
        text = f"It takes about {about(self.seconds())} on this machine, {at_once} "
        text += f"({about(self.seconds(-1))} to {about(self.seconds(1))}): {', '.join(by)}."
        if self.unknown:
            text += f" Of {counted(self.unknown, 'run')} nothing is known, and they are left out."
        if self.unknown or any(duration.how == ALIKE for duration in known):
            text += f" To measure: {measure}"
        return text


def forecast(
    runs: Iterable[SuiteRun],
    newest: Mapping[str, Attempt],
    speeds: Sequence[Speed],
    jobs: int,
    tests_of: Callable[[SuiteRun], int],
) -> Forecast:
    """Of the runs that are still to come; those that are under way, or were stopped, continue from their steps.

    Args:
        tests_of: how many tests a run makes.
    """
    speeds, durations = list(speeds), {}
    alike: dict[tuple, tuple[Speed | None, str]] = {}
    for run in runs:
        attempt = newest.get(run.id)
        if attempt is not None and attempt.state in (DONE, FAILED):
            continue
        words = tuple(words_of_speed(run))
        if words not in alike:
            alike[words] = _speed_for(run, list(words), speeds)
        speed, how = alike[words]
        left = 1 - min((attempt.steps if attempt is not None else 0) / max(run.t_max, 1), 1)
        durations[run.id] = None if speed is None else _duration(run, speed, how, left, tests_of(run))
    return Forecast(durations, jobs)


def _duration(run: SuiteRun, speed: Speed, how: str, left: float, tests: int) -> Duration:
    seconds = left * (run.t_max * speed.step + tests * speed.test) + speed.start
    return Duration(seconds, speed.step, how)


def _speed_for(run: SuiteRun, words: list[str], speeds: Sequence[Speed]) -> tuple[Speed | None, str]:
    """The speed of the same setting, or of what is most like it, and how it is known."""
    for how in (EARLIER, MEASURED):
        if same := [speed for speed in speeds if speed.words == words and speed.how == how]:
            return _mean(same), how
    like = [speed for speed in speeds if _base(speed.algorithm) == _base(run.algorithm)]
    place = run.environment, run.map
    nearer: list[Callable[[Speed], bool]] = [
        lambda speed: (speed.environment, speed.map) == place,
        lambda speed: (speed.environment, family(speed.map)) == (run.environment, family(run.map)),
        lambda speed: speed.environment == run.environment,
    ]
    for is_near in nearer:
        if near := [speed for speed in like if is_near(speed)]:
            return _mean(near), ALIKE
    return None, ""


def _mean(speeds: Sequence[Speed]) -> Speed:
    """The first with the geometric mean of the steps' times, and the means of the rest."""
    step = math.exp(sum(math.log(speed.step) for speed in speeds) / len(speeds))
    test, start = (sum(column) / len(speeds) for column in zip(*((s.test, s.start) for s in speeds), strict=True))
    first = speeds[0]
    return Speed(first.words, first.algorithm, first.environment, first.map, step, test, start, first.how)


def _base(algorithm: str) -> str:
    return algorithm.partition("+")[0]


def family(name: str) -> str:
    """What the maps of a family begin with: "rware" of rware:rware-tiny-4ag-v2, "pz" of PettingZoo's games."""
    match = _FAMILY.match(name)
    return match[0] if match else ""
