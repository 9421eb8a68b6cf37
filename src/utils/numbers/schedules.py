"""Numbers that change over a run: learning rates, exploration, entropy bonuses, discounts."""

import bisect
import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

KINDS = ("linear", "exponential", "staircase")
FORMS = "a number, points [[step, value], ...], or a kind before its points, as in [staircase, [0, 0.1], [1000, 0.01]]"


class Schedule:
    """A value for every step: the first point's before it, the last one's from it on, and in between by `kind`.

    "linear": on a straight line. "exponential": at a constant rate, on a straight line of logarithms. "staircase":
    that of the last point that was reached.

    Args:
        points: (step, value), in any order; no step twice.
        kind: of the above.

    Raises:
        ValueError: no such kind, no points, points that are not two finite numbers, two points at one step, or an
            exponential schedule with values of different signs or 0.
    """

    def __init__(self, points: Sequence[tuple[float, float]], kind: str = "linear"):
        if kind not in KINDS:
            raise ValueError(f"A schedule is {', '.join(KINDS[:-1])} or {KINDS[-1]}, not '{kind}'.")
        self.kind, self.points = kind, sorted(_point(point) for point in points)
        self._steps = [step for step, _ in self.points]
        if not self.points:
            raise ValueError("A schedule needs at least one point.")
        for first, second in zip(self._steps, self._steps[1:], strict=False):
            if first == second:
                raise ValueError(f"A schedule has one value for each step, and two for {first}.")
        values = [value for _, value in self.points]
        if kind == "exponential" and not (min(values) > 0 or max(values) < 0):
            raise ValueError(f"The values of an exponential schedule have one sign and are not 0: {values}.")

    @classmethod
    def of(cls, description: Any) -> "Schedule":
        """The schedule that a config describes.

        Args:
            description: a number; points `[[step, value], ...]`, which are joined by straight lines; or a kind before
                its points: `["exponential", [step, value], ...]`.

        Raises:
            ValueError: it has another form.
        """
        if _is_number(description):
            return cls([(0, description)])
        if not isinstance(description, list | tuple):
            raise ValueError(f"A schedule is {FORMS}; not {description!r}.")
        if description and isinstance(description[0], str):
            return cls(description[1:], description[0])
        return cls(description)

    def eval(self, T: float) -> float:
        """The value at step `T`."""
        after = bisect.bisect_right(self._steps, T)
        if after in (0, len(self._steps)):
            return self.points[min(after, len(self._steps) - 1)][1]
        (first, start), (second, finish) = self.points[after - 1 : after + 1]
        if self.kind == "staircase":
            return start
        if self.kind == "linear":
            value = start - (start - finish) / (second - first) * (T - first)
        else:
            value = start * (finish / start) ** ((T - first) / (second - first))
        # rounding does not lead beyond the ends
        return min(max(start, finish), max(min(start, finish), value))


def _point(point: Any) -> tuple[float, float]:
    if not isinstance(point, list | tuple) or len(point) != 2 or not all(map(_is_number, point)):
        raise ValueError(f"A point of a schedule is [step, value], two finite numbers; not {point!r}.")
    return point[0], point[1]


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
