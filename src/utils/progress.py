"""A progress bar for people who watch; logs and pipes get plain lines instead."""

import contextlib
import sys
from collections.abc import Iterator

from tqdm import tqdm

# statistics worth a place in the bar, and how it calls them
SHOWN = {
    "return_mean": "return",
    "test_return_mean": "test return",
    "battle_won_mean": "won",
    "test_battle_won_mean": "test won",
}


class ProgressBar:
    """Steps done and to do, steps/s, time left, latest returns and win rates, on the real terminal."""

    def __init__(self, t_max: int):
        # not sys.stderr: what is drawn over and over does not belong in Sacred's captured output
        self._bar = tqdm(total=t_max, unit="steps", unit_scale=True, dynamic_ncols=True, file=sys.__stderr__)

    def show(self, t_env: int, latest: dict[str, float]) -> None:
        """Move to step `t_env` and show the latest values of `SHOWN`."""
        shown = {name: f"{latest[key]:.2f}" for key, name in SHOWN.items() if key in latest}
        self._bar.set_postfix(shown, refresh=False)
        self._bar.update(min(t_env, self._bar.total) - self._bar.n)

    def close(self) -> None:
        """Leave the bar as it is and go to the next line."""
        self._bar.close()


@contextlib.contextmanager
def log_above_bars() -> Iterator[None]:
    """Take bars off the terminal while something is printed."""
    with tqdm.external_write_mode(file=sys.__stderr__):
        yield
