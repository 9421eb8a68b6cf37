"""How many cores this process may use."""

import os

from utils.errors import ConfigError
from utils.plain_values import quoted

# set by suites, whose runs share a machine
VARIABLE = "MUSTER_CORES"


def usable_cores() -> int:
    """The cores that this process is pinned to, or all of the machine; at most $MUSTER_CORES.

    Raises:
        ConfigError: $MUSTER_CORES is no whole number above 0.
    """
    pinned = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    share = os.environ.get(VARIABLE, "")
    if not share:
        return pinned
    if not (share.isascii() and share.isdigit() and int(share)):
        raise ConfigError(f"The environment variable {VARIABLE}={quoted(share)} must be a whole number, at least 1.")
    return min(pinned, int(share))
