"""The states of environments that can be saved."""

from typing import Any


def state_or_none(env: Any) -> dict | None:
    """`env.state_dict()`, or None if the environment cannot be saved."""
    if not hasattr(env, "state_dict") or not hasattr(env, "load_state_dict"):
        return None
    try:
        return env.state_dict()
    except NotImplementedError:
        return None
