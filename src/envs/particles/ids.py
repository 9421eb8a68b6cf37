"""EPyMARL's ids of these games: `pz-mpe-simple-spread-v3`."""

import re
from dataclasses import fields
from typing import Any

from envs.particles.environment import Particles as One
from envs.particles.environment import ParticlesBatch as Batch
from envs.particles.options import Options
from envs.particles.state import SCENARIOS

__all__ = ["Batch", "One", "arguments"]

ID = re.compile(r"pz-mpe-(?P<game>[a-z-]+)-v\d+")


def arguments(key: str, **words: Any) -> dict[str, Any] | None:
    """The arguments by which `env=particles` is the game of gymma's `key`, whatever its version.

    Returns:
        None: it is another game of the package, or one of the words is not among ours.
    """
    found = ID.fullmatch(key)
    scenario = found["game"].replace("-", "_") if found else ""
    if scenario not in SCENARIOS or not {*words} <= {field.name for field in fields(Options)} - {"scenario"}:
        return None
    return {"scenario": scenario, **words}
