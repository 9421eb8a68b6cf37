"""Reporting write failures once, and the time for retries."""

import logging
import time

# from a failure to the next try
RETRY_SECONDS = 5.0
# of failures before giving up
PATIENCE_SECONDS = 3600.0


class FaultNotice:
    """Reports once that writing `what` fails, once that it works again, and once that it is given up."""

    def __init__(self, what: str, console: logging.Logger):
        self.what = what
        self.failing = False
        self._console = console
        self._since = self._last = 0.0

    def retry_due(self) -> bool:
        """Whether nothing fails, or the last failure is long enough ago."""
        return not self.failing or time.monotonic() >= self._last + RETRY_SECONDS

    def patience_is_over(self) -> bool:
        """Whether it has failed for PATIENCE_SECONDS."""
        return self.failing and self._last - self._since >= PATIENCE_SECONDS

    def failed(self, error: Exception) -> None:
        """Warn, the first time."""
        self._last = time.monotonic()
        if not self.failing:
            self.failing, self._since = True, self._last
            self._console.warning(
                f"{self.what} cannot be written: {_reason(error)}. The run continues; the missing part is kept in "
                "memory, and writing is retried."
            )

    def worked(self) -> None:
        """Report that writing works again, if it had failed."""
        if self.failing:
            self.failing = False
            self._console.info(f"{self.what} can be written again; nothing is missing in it.")

    def gave_up(self, error: Exception) -> None:
        """Warn that nothing more is written."""
        self._console.warning(
            f"{self.what} is given up: {_reason(error)}. The run continues; nothing more is written there."
        )


def _reason(error: Exception) -> object:
    return getattr(error, "strerror", None) or error
