"""Durations for people."""

import time

# a longer estimate would say nothing
LONGEST = 100 * 24 * 60 * 60


def time_left(start_time: float, t_start: int, t_current: int, t_max: int) -> str:
    """How long the steps up to `t_max` will take at the speed since `start_time`; "-" at the end.

    Args:
        start_time: of `time.monotonic()`, in seconds: the time of day jumps.
        t_start: steps at that time.
        t_current, t_max: steps now, and at the end.
    """
    if t_current >= t_max:
        return "-"
    elapsed = time.monotonic() - start_time
    left = elapsed * (t_max - t_current) / max(1, t_current - max(0, t_start))
    return time_str(min(left, LONGEST))


def time_str(s: float) -> str:
    """Seconds as "1 days, 2 hours, 3 minutes, 4 seconds", without leading zeros."""
    minutes, seconds = divmod(int(s), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [f"{n} {unit}" for n, unit in ((days, "days"), (hours, "hours"), (minutes, "minutes")) if n > 0]
    return ", ".join([*parts, f"{seconds} seconds"])
