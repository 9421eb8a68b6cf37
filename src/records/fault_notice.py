"""Reporting once that something cannot be written, and for how long that is tried again."""

import logging
import time

# after a failure, so long until the next try
RETRY_SECONDS = 5.0
# after so long a time of failures it is given up
PATIENCE_SECONDS = 3600.0


class FaultNotice:
    """Says once that something cannot be written, once that it can again, and once that it is given up.

    Args:
        what: the subject of the messages.
        console: where they go.
    """

    def __init__(self, what: str, console: logging.Logger):
        self.what = what
        self.failing = False
        self._console = console
        self._since = self._last = 0.0

    def retry_due(self) -> bool:
        """Whether nothing has failed, or the last failure was long enough ago."""
        return not self.failing or time.monotonic() >= self._last + RETRY_SECONDS

    def patience_is_over(self) -> bool:
        """Whether it has failed for PATIENCE_SECONDS."""
        return self.failing and self._last - self._since >= PATIENCE_SECONDS

    def failed(self, error: Exception) -> None:
        """Warn, unless that was said already."""
        self._last = time.monotonic()
        if not self.failing:
            self.failing, self._since = True, self._last
            self._console.warning(
                f"{self.what} cannot be written: {_reason(error)}. The run continues; what is missing is kept in "
                "memory and tried again."
            )

    def worked(self) -> None:
        """Say that it works again, if it had failed."""
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
