"""Can the rounds be traced that a config names?"""

from collections.abc import Mapping
from typing import Any

from utils.config.options import STEPS
from utils.errors import ConfigError
from utils.plain_values import quoted

MOST_TRACES = 20


def check_traces(config: Mapping[str, Any]) -> None:
    """Refuse `trace_at` unless it is a list of environment steps.

    Raises:
        ConfigError: names the entry and what is allowed.
    """
    given = config["trace_at"]
    if not 1 <= len(given) <= MOST_TRACES:
        raise ConfigError(f"trace_at has {len(given)} entries; there may be 1 to {MOST_TRACES}.")
    for step in given:
        if isinstance(step, bool) or not isinstance(step, int) or not 0 <= step <= STEPS:
            raise ConfigError(
                f"trace_at={quoted(str(given))}: expected whole numbers of environment steps from 0 to {STEPS}, found "
                f"{quoted(str(step))}, as in 'trace_at=[0, 20000]'."
            )
