"""How exploration falls over a run."""

import math


class DecayThenFlatSchedule:
    """From `start` at step 0 to `finish` at step `time_length`, and `finish` from then on.

    decay "linear": a straight line. "exp": `exp(T ln(finish) / time_length)`, kept between `finish` and
    `start` (PyMARL's form: it starts from 1 whatever `start` is, and reaches `finish` at `time_length`).
    With `finish` 0 the exponential has no rate of its own; it then falls by a factor of e each step, as PyMARL's.
    """

    def __init__(self, start: float, finish: float, time_length: int, decay: str = "exp"):
        if decay not in ("linear", "exp"):
            raise ValueError(f"decay is 'linear' or 'exp', not '{decay}'")
        self.start = start
        self.finish = finish
        self.time_length = time_length
        self.delta = (start - finish) / time_length
        self.decay = decay
        # finish 1 does not decay at all
        self.exp_scaling = -time_length / math.log(finish) if 0 < finish < 1 else (1 if finish <= 0 else math.inf)

    def eval(self, T: int) -> float:
        """Return the value at step `T`."""
        if self.decay == "linear":
            return max(self.finish, self.start - self.delta * T)
        return min(self.start, max(self.finish, math.exp(-T / self.exp_scaling)))
