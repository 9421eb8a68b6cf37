"""EPyMARL's ids of these games: `pz-mpe-simple-spread-v3`."""

import re
from dataclasses import fields
from typing import Any

from envs.particles.environment import Particles as One
from envs.particles.environment import ParticlesBatch as Batch
from envs.particles.options import Options, opponent_of
from envs.particles.state import SCENARIOS

__all__ = ["Batch", "One", "arguments"]

ID = re.compile(r"pz-mpe-(?P<game>[a-z-]+)-v\d+")


def arguments(key: str, pretrained_wrapper: str | None = None, **words: Any) -> dict[str, Any] | None:
    """The arguments by which `env=particles` is the game of gymma's `key`, whatever its version.

    Returns:
        None: it is another game of the package, or one of the words is not among ours.
    """
    found = ID.fullmatch(key)
    scenario = found["game"].replace("-", "_") if found else ""
    if scenario not in SCENARIOS or not {*words} <= {field.name for field in fields(Options)} - {"scenario"}:
        return None
    if pretrained_wrapper is not None:
        words["opponent"] = opponent_of(pretrained_wrapper, scenario)
    return {"scenario": scenario, **words}
