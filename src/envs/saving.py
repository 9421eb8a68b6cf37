"""Saving where environments are, of those that can."""

from typing import Any


def state_or_none(env: Any) -> dict | None:
    """`env.state_dict()`; None if it has none or says that it cannot be saved."""
    if not hasattr(env, "state_dict") or not hasattr(env, "load_state_dict"):
        return None
    try:
        return env.state_dict()
    except NotImplementedError:
        return None
