"""The request to stop playing, which whoever plays heeds between two steps of the environments.

One for the whole process, as signals are. A step that takes longer than `GRACE` seconds after it is given up.
"""

import time

# batch systems kill some seconds after their signal: docker after 10, Kubernetes and Slurm after 30 by default
GRACE = 8.0


class StopPlaying(BaseException):
    """Playing stops here, because that was requested; no handler of `Exception` is meant.

    Args:
        between_steps: everything is as it was after a step, and can be continued; else a step was given up.
    """

    def __init__(self, between_steps: bool):
        super().__init__("playing was to stop")
        self.between_steps = between_steps


class _Request:
    since: float | None = None


def request_stop() -> None:
    """Let all that play in this process stop after the present step."""
    if _Request.since is None:
        _Request.since = time.monotonic()


def withdraw_stop() -> None:
    """Nobody is to stop any more."""
    _Request.since = None


def stop_requested() -> bool:
    """Whether playing is to stop."""
    return _Request.since is not None


def heed_stop() -> None:
    """Raises: StopPlaying: it was requested. Called between two steps."""
    if _Request.since is not None:
        raise StopPlaying(between_steps=True)


def give_up_late_step() -> None:
    """Raises: StopPlaying: it was requested `GRACE` seconds ago. Called while a step is waited for."""
    if _Request.since is not None and time.monotonic() - _Request.since > GRACE:
        raise StopPlaying(between_steps=False)
