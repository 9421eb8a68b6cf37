"""How far a running run is, and how long it will still take."""

from collections.abc import Iterable
from typing import NamedTuple

from browser.reading import Curve, Run
from utils.timehelper import about

# the share of a curve, at its end, whose speed counts: runs get slower as their buffers fill and their episodes grow
RECENT = 0.25


class Progress(NamedTuple):
    """A run's progress.

    Attributes:
        share: of t_max, from 0 to 1.
        left: seconds, at the recent speed; None if that is not known.
    """

    share: float
    left: float | None

    def __str__(self) -> str:
        left = "" if self.left is None else f" · {about(self.left)} left"
        return f"{100 * self.share:.0f} %{left}"


def progress_of(run: Run, t_env: int | None, curves: Iterable[Curve]) -> Progress | None:
    """The progress of a run that is running; None for any other, and where t_max or the step is not known.

    Args:
        t_env: its last environment step.
        curves: some of its curves; the newest one determines the speed.
    """
    t_max = run.config.get("t_max")
    if run.status_at() != "RUNNING" or t_env is None or isinstance(t_max, bool):
        return None
    if not isinstance(t_max, int | float) or not 0 < t_max < float("inf"):
        return None
    share = min(max(t_env / t_max, 0.0), 1.0)
    speed = _speed(curves)
    return Progress(share, max(t_max - t_env, 0) / speed if speed else None)


def _speed(curves: Iterable[Curve]) -> float | None:
    """Steps per second over the last part of the newest curve that has times."""
    timed = [curve for curve in curves if curve.seconds is not None and len(curve.steps) > 1]
    if not timed:
        return None
    curve = max(timed, key=lambda one: one.steps[-1])
    first = min(int(len(curve.steps) * (1 - RECENT)), len(curve.steps) - 2)
    times = curve.seconds
    seconds = times[-1] - times[first] if times is not None else 0
    return float((curve.steps[-1] - curve.steps[first]) / seconds) if seconds > 0 else None
