"""What an environment offers for replays; all of it may be missing, as in environments written for PyMARL."""

from typing import Any


def offered(env: Any, name: str) -> Any:
    """What `env.snapshot()`, `env.scene()` or `env.action_names()` returns; without a scene {}, without names None.

    Raises:
        NotImplementedError: it has no snapshot.
    """
    if hasattr(env, name):
        return getattr(env, name)()
    if name == "snapshot":
        raise NotImplementedError(f"{type(env).__name__} has no snapshots")
    return {"scene": {}, "action_names": None}[name]
