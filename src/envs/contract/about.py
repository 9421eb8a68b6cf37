"""What arguments mean that many environments take; each environment declares its own in `about.py` beside it.

The trait `about` of an entry in the registry is an `About`. Help, the reference and the comments of config/envs/ are
made of it.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class About(NamedTuple):
    """Sentences by name: of the `env_args`, and of the numbers in the last info of an episode, which are logged as
    `<name>_mean`. And of which of its games a resumed run continues the state, and which have replays: "yes", "no", or
    words that say which."""

    arguments: Mapping[str, str]
    figures: Mapping[str, str] = MappingProxyType({})
    saved: str = "no"
    drawn: str = "no"


NOTHING = About({})
SEED = {"seed": "set by Muster: hashed from the run's seed and the number of the environment (docs/configs.md)"}
STEPS = {"time_limit": "steps of an episode, which is truncated then"}
REWARD = {"reward": "the team's reward from those of its agents: sum or mean; or each: one for each agent"}
RENDER = {"render": "PyMARLzoo+'s: only False; save_replay=True records episodes, and watch.py shows them"}
REPLAYS = {
    "replay_dir": "folder of the replays that the environment itself writes; empty: replays/ under local_results_path",
    "replay_prefix": "the first part of their file names",
}
