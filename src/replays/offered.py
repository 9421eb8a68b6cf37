"""The replay methods of an environment; all of them are optional, and missing in environments written for PyMARL."""

from typing import Any


def offered(env: Any, name: str) -> Any:
    """The value of `env.snapshot()`, `env.scene()` or `env.action_names()`; without a scene {}, without names None.

    Raises:
        NotImplementedError: it has no snapshot.
    """
    if hasattr(env, name):
        return getattr(env, name)()
    if name == "snapshot":
        raise NotImplementedError(f"{type(env).__name__} has no snapshots")
    return {"scene": {}, "action_names": None}[name]
