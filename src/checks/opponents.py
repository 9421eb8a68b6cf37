"""Can the config's teams play themselves? What depends on the environment's groups is checked in assembly."""

from collections.abc import Mapping
from typing import Any

from checkpoints.model_files import find_checkpoint
from checks.teams import team_config
from utils.errors import ConfigError

# keys of learners that carry something from each rollout to the next
OF_ALL_ROLLOUTS = ("normalise_rewards", "critic_rnn")


def check_opponents(config: Mapping[str, Any]) -> None:
    """Refuse `opponents: pool` where there would be no opponents, or where rollouts would mix those of several.

    Raises:
        ConfigError: names the key and a remedy.
    """
    if config["opponents"] != "pool" or config["evaluate"]:
        return
    for path in config["opponent_models"]:
        find_checkpoint(str(path), 0, key="opponent_models")
    if not (config["opponent_pool"] or config["opponent_models"]):
        raise ConfigError(
            "opponents=pool with opponent_pool=0 and no opponent_models: there are no opponents. Set one of them, or "
            "opponents=newest."
        )
    continuous = config["runner"] == "batched" and config["batched_mode"] == "continuous"
    if continuous or config["runner"] == "episodes_continuous":
        how = "runner=batched with batched_mode=continuous" if continuous else "runner=episodes_continuous"
        raise ConfigError(
            f"opponents=pool does not go with {how}, whose episodes outlast a rollout, and with it their opponents. "
            "Use runner=episodes or runner=rollout."
        )
    teams = {name: (team_config(config, name), own) for name, own in config["teams"].items()}
    for name, (own, keys) in (teams or {"": (config, {"groups": [], "frozen": False})}).items():
        if keys["frozen"] or len(keys["groups"]) == 1:
            continue
        for key in OF_ALL_ROLLOUTS:
            if own.get(key):
                raise ConfigError(
                    f"{f'teams.{name}: ' if name else ''}{key}=True does not go with opponents=pool where one team "
                    "plays several groups, of which not all learn from every rollout. Give each group its own team."
                )
