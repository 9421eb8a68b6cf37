"""The replay methods of an environment; all of them are optional, and missing in environments written for PyMARL."""

from typing import Any

MISSING = {"snapshot": "has no snapshots", "save_replay": "cannot save replays"}


def offered(env: Any, name: str) -> Any:
    """The value of one of an environment's methods `snapshot`, `scene`, `action_names` and `save_replay`.

    Without a scene it is {}; without names they are those of the meaning that it declares, or None.

    Raises:
        NotImplementedError: it has no snapshot, or saves no replay.
    """
    if hasattr(env, name):
        return getattr(env, name)()
    if name in MISSING:
        raise NotImplementedError(f"{type(env).__name__} {MISSING[name]}")
    return {} if name == "scene" else _names_by_meaning(env)


def _names_by_meaning(env: Any) -> list[list[str]] | None:
    said = env.meaning() if callable(getattr(env, "meaning", None)) else None
    if said is None:
        return None
    return said.action_names(sum(env.groups.values()) if hasattr(env, "groups") else env.n_agents)
