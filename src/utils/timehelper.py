"""Durations for people."""

import time
from collections.abc import Sequence
from statistics import fmean

from utils.plain_values import counted

# a longer estimate would say nothing
LONGEST = 100 * 24 * 60 * 60
# of a terminal: to the beginning of the line above, and remove the rest of the line
UP, CLEAR = "\033[F", "\033[K"


def print_time(start_time: float, T: int, t_max: int, episode: int, episode_rewards: Sequence[float]) -> None:
    """Print progress over the two lines above: episodes, steps, the mean of the last 50 rewards, and times.

    Arguments and lines are PyMARL's; `start_time` is of `time.time()`. The mean is shown from the sixth reward on.
    """
    elapsed, steps = time.time() - start_time, max(1, T)
    left = min(elapsed * (t_max - steps) / steps, LONGEST)
    reward = f"{fmean(episode_rewards[-50:]):.2f}" if len(episode_rewards) > 5 else "N/A"
    print(f"{UP}{UP}{CLEAR}Ep: {episode:,}, T: {steps:,}/{t_max:,}, Reward: {reward}")
    print(f"{CLEAR}Elapsed: {time_str(elapsed)}, Left: {time_str(max(0.0, left))}", flush=True)


def time_left(start_time: float, t_start: int, t_current: int, t_max: int) -> str:
    """As `time_to_go`, with PyMARL's arguments: `start_time` is of `time.time()`, which jumps when the clock is set."""
    return time_to_go(time.time() - start_time, t_start, t_current, t_max)


def time_to_go(elapsed: float, t_start: int, t_current: int, t_max: int) -> str:
    """How long the steps up to `t_max` will take at the speed of the last `elapsed` seconds; "-" at the end.

    Args:
        elapsed: seconds that the steps from `t_start` to `t_current` took.
        t_start: steps before that time.
        t_current, t_max: steps now, and at the end.
    """
    if t_current >= t_max:
        return "-"
    left = elapsed * (t_max - t_current) / max(1, t_current - max(0, t_start))
    return time_str(min(left, LONGEST))


def time_str(s: float) -> str:
    """Seconds as "1 day, 2 hours, 3 minutes, 4 seconds", without leading zeros."""
    minutes, seconds = divmod(int(s), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [counted(n, unit) for n, unit in ((days, "day"), (hours, "hour"), (minutes, "minute")) if n > 0]
    return ", ".join([*parts, counted(seconds, "second")])


def about(seconds: float) -> str:
    """A time that is only roughly known: "40 s", "12 min", "5 h", "3 d"."""
    for unit, length, most in (("s", 1, 90), ("min", 60, 90 * 60), ("h", 3600, 48 * 3600)):
        if seconds < most:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds / 86400:.0f} d"
