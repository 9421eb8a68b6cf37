"""Do the ways to collect rollouts, and the opponents in them, suit the run?"""

import importlib.util
from collections.abc import Mapping
from typing import Any

from checkpoints.model_files import find_checkpoint
from checks.parts import ChosenParts
from checks.registries import REGISTRIES
from checks.teams import team_config
from collection.collector_options import OPTIONS, under_way
from collection.opponents.ratings import require_ratings
from utils.errors import ConfigError
from utils.nearest import did_you_mean, suggestion
from utils.plain_values import quoted
from utils.processes.ray_cluster import require_ray

COLLECTORS = "collectors"


def chosen_as_runner(config: Mapping[str, Any]) -> dict[str, Any]:
    """`config` with `runner: collectors` spelled out: `collection: collectors`, and the runner of the collectors.

    Raises:
        ConfigError: another collection is chosen, too, or there is no such runner.
    """
    if config.get("runner") != COLLECTORS:
        return dict(config)
    below, collection = config.get(COLLECTORS, {}), config.get("collection")
    if collection == "async" or config.get("overlap"):
        other = "overlap=True" if config.get("overlap") else "collection=async"
        raise ConfigError(f"runner=collectors and {other} both say when rollouts are played. Leave one of them out.")
    runner = below.get("runner", OPTIONS["runner"].default) if isinstance(below, Mapping) else ""
    if isinstance(runner, str) and runner not in REGISTRIES["runner"]:
        hint = suggestion(quoted(runner), REGISTRIES["runner"])
        raise ConfigError(f"collectors.runner={quoted(runner)}: there is no such runner.{hint}")
    return {**config, "collection": COLLECTORS, "runner": runner, COLLECTORS: below}


def completed_collectors(config: Mapping[str, Any]) -> dict[str, Any]:
    """The keys below `collectors` with their defaults, in their declared types, where the run has collectors.

    Raises:
        ConfigError: an unknown key, with the nearest one, or an invalid value.
    """
    given = config[COLLECTORS]
    if config["collection"] != COLLECTORS:
        return given
    for key in given:
        if key not in OPTIONS:
            raise ConfigError(f"collectors has no key {quoted(str(key))}.{did_you_mean(key, OPTIONS)}")
    return {key: option.checked(f"collectors.{key}", given.get(key, option.default)) for key, option in OPTIONS.items()}


def check_collectors(config: Mapping[str, Any]) -> None:
    """Refuse collectors that do not suit the run, or this system.

    Raises:
        ConfigError: names the key and a remedy.
    """
    if config["collection"] != COLLECTORS:
        return
    own = config[COLLECTORS]
    if own["max_lag"] is not None and own["max_lag"] < under_way(own):
        raise ConfigError(
            f"collectors.max_lag={own['max_lag']}: {under_way(own)} rollouts are under way (collectors.processes, "
            "collectors.queue), and each may be followed by an update of the weights. Use fewer, or a larger max_lag."
        )
    if config["opponents"] != "latest":
        raise ConfigError(
            f"collection=collectors does not go with opponents={config['opponents']}. Use opponents=latest."
        )
    if own["transport"] == "ray":
        require_ray("collectors.transport=ray")
    if importlib.util.find_spec("fcntl") is None:
        raise ConfigError("collection=collectors needs locks of files, which this system lacks. Use collection=async.")


def check_opponents(config: Mapping[str, Any]) -> None:
    """Refuse opponents of the past where there would be no opponents, or where rollouts would mix those of several.

    Raises:
        ConfigError: names the key and a remedy.
    """
    chosen = f"opponents={config['opponents']}"
    if not REGISTRIES["opponents"].entry(config["opponents"]).traits.get("needs_opposed") or config["evaluate"]:
        return
    # a user's own choice may have neither key
    models = config.get("opponent_models", ())
    for path in models:
        find_checkpoint(str(path), 0, key="opponent_models")
    if not (config.get("opponent_pool", 1) or models):
        raise ConfigError(
            f"{chosen} with opponent_pool=0 and no opponent_models: there are no opponents. Set one of them, or "
            "opponents=latest."
        )
    if config.get("opponent_ratings"):
        require_ratings()
    outlasts = REGISTRIES["runner"].entry(config["runner"]).traits.get("outlasts")
    if outlasts is not None and all(config[key] == value for key, value in outlasts.items()):
        how = " with ".join([f"runner={config['runner']}", *(f"{key}={value}" for key, value in outlasts.items())])
        raise ConfigError(
            f"{chosen} does not go with {how}, whose episodes outlast a rollout, and with it their opponents. "
            "Use runner=episodes or runner=rollout."
        )
    teams: dict[str, tuple[Mapping[str, Any], dict]] = {"": (config, {"groups": [], "frozen": False})}
    if config["teams"]:
        teams = {name: (team_config(config, name), own) for name, own in config["teams"].items()}
    for name, (own, keys) in teams.items():
        if keys["frozen"] or len(keys["groups"]) == 1:
            continue
        for setting, _ in ChosenParts(own).of_all_rollouts():
            raise ConfigError(
                f"{f'teams.{name}: ' if name else ''}{setting} does not go with {chosen} where one team "
                "plays several groups, of which not all learn from every rollout. Give each group its own team."
            )
