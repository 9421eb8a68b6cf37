"""A progress bar for people who watch; logs and pipes get plain lines instead."""

import contextlib
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

from tqdm import tqdm

# statistics worth a place in the bar, and how it calls them
SHOWN = {
    "return_mean": "return",
    "test_return_mean": "test return",
    "battle_won_mean": "won",
    "test_battle_won_mean": "test won",
}
# which of them stay where the terminal has no room for all
FIRST_TO_LAST = ("test_battle_won_mean", "test_return_mean", "battle_won_mean", "return_mean")


# seconds between two drawings
REDRAW_SECONDS = 0.1


class _Bar(tqdm):
    """Of the statistics it shows as many as leave ten characters for the bar itself.

    Its speed is the mean since it was made. tqdm itself goes by the time of day, which jumps.
    """

    statistics: Mapping[str, float] = {}

    def __init__(self, **options: Any):
        self._made = self._drawn = time.monotonic()
        super().__init__(**options)

    def move_to(self, n: int) -> None:
        """Set the count, and draw the bar if the last drawing is not too recent."""
        self.n = n
        if (now := time.monotonic()) - self._drawn >= REDRAW_SECONDS:
            self._drawn = now
            self.refresh()

    @property
    def format_dict(self) -> dict[str, Any]:
        # without a rate, tqdm computes it from the time that has passed
        figures = {**super().format_dict, "elapsed": time.monotonic() - self._made, "rate": None}
        texts = {key: f"{name}={self.statistics[key]:.2f}" for key, name in SHOWN.items() if key in self.statistics}
        shown: set[str] = set()
        line = ""
        for key in filter(texts.get, FIRST_TO_LAST):
            more = ", ".join(text for name, text in texts.items() if name in shown | {key})
            # where it is not given a width, tqdm draws a bar of ten characters
            unbounded = {**figures, "ncols": None, "postfix": more}
            if figures["ncols"] is None or len(self.format_meter(**unbounded)) <= figures["ncols"]:
                shown.add(key)
                line = more
        return {**figures, "postfix": line}


class ProgressBar:
    """Steps done and to do, steps/s, time left, latest returns and win rates, on the real terminal.

    `t_env`: steps done before this session, which count neither for its speed nor for the time left.
    """

    def __init__(self, t_max: int, t_env: int = 0):
        # not sys.stderr: a redrawn bar does not belong in Sacred's captured output
        self._bar = _Bar(
            total=t_max,
            initial=min(t_env, t_max),
            unit="steps",
            unit_scale=True,
            dynamic_ncols=True,
            file=sys.__stderr__,
        )

    def show(self, t_env: int, latest: Mapping[str, float]) -> None:
        """Move to step `t_env` and show the latest values of `SHOWN`, as far as there is room."""
        self._bar.statistics = latest
        self._bar.move_to(min(t_env, self._bar.total))

    def close(self) -> None:
        """Leave the bar as it is and go to the next line."""
        self._bar.close()


@contextlib.contextmanager
def log_above_bars() -> Iterator[None]:
    """Take bars off the terminal while something is printed."""
    with tqdm.external_write_mode(file=sys.__stderr__):
        yield
