"""How exploration falls over a run, at PyMARL's path; `utils.numbers.schedules` has schedules of any shape."""

import math


class DecayThenFlatSchedule:
    """From `start` at step 0 to `finish` at step `time_length`, and `finish` from then on; either may be the larger.

    decay "linear": a straight line. "exp": `exp(T ln(finish) / time_length)`, kept between `finish` and
    `start` (PyMARL's form: it always starts from 1, and reaches `finish` at `time_length`).
    With `finish` 0 the exponential has no rate; it then falls by a factor of e each step, as PyMARL's.
    One that rises is the mirror image of the one that falls from `finish` to `start`.
    """

    def __init__(self, start: float, finish: float, time_length: int, decay: str = "exp"):
        if decay not in ("linear", "exp"):
            raise ValueError(f"decay is 'linear' or 'exp', not '{decay}'")
        self.start = start
        self.finish = finish
        self.time_length = time_length
        self.delta = (start - finish) / time_length
        self.decay = decay
        self._low, self._high = min(start, finish), max(start, finish)
        # from 1 to 1 there is no decay
        low = self._low
        self.exp_scaling = -time_length / math.log(low) if 0 < low < 1 else (1 if low <= 0 else math.inf)

    def eval(self, T: int) -> float:
        """Return the value at step `T`."""
        if self.decay == "linear":
            return self._kept(self.start - self.delta * T)
        falling = self._kept(math.exp(-T / self.exp_scaling))
        return falling if self.start >= self.finish else self._kept(self.start + self.finish - falling)

    def _kept(self, value: float) -> float:
        return min(self._high, max(self._low, value))
