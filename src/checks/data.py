"""Does a data set suit the run that learns from it, and the run that records one?"""

from collections.abc import Mapping
from typing import Any

from checks.parts import ChosenParts
from envs.recorded.formats import open_data
from utils.errors import ConfigError

RECORDED = "recorded"


def chosen_by_data(config: Mapping[str, Any]) -> dict[str, Any]:
    """`config` with `collection: data` where `dataset` means it."""
    learns = config.get("dataset") and not config.get("evaluate") and config.get("collection") == "sync"
    return {**config, "collection": "data"} if learns and not config.get("overlap") else dict(config)


def with_fields_of_data(config: Mapping[str, Any]) -> dict[str, Any]:
    """`config` with the path of `env=recorded`.

    Raises:
        ConfigError: `env=recorded` without a data set, or that would be played.
    """
    made = dict(config)
    if made["env"] != RECORDED:
        return made
    if made["evaluate"] or made["record_data"]:
        raise ConfigError("env=recorded has data and nothing to play: name the environment itself by --env-config.")
    if not made["dataset"]:
        raise ConfigError("env=recorded has the fields of a data set: dataset=FOLDER names it.")
    if made["test_nepisode"] or made.get("dataset_updates"):
        key = "test_nepisode" if made["test_nepisode"] else "dataset_updates"
        raise ConfigError(
            f"{key}={made[key]}: env=recorded has data and nothing to play. Use test_nepisode=0 and no "
            "dataset_updates, or the environment itself."
        )
    made["env_args"] = {**made["env_args"], "path": made["dataset"]}
    return made


def check_data(parts: ChosenParts) -> None:
    """Refuse a data set that the parts cannot learn from, and a recording of what cannot be told apart.

    Raises:
        ConfigError: names the key and a remedy.
    """
    config = parts.config
    if config["record_data"] and parts.traits("env").get("streams"):
        raise ConfigError(f"record_data: agents of env={config['env']} come and go, each with episodes of its own.")
    if config["record_data_as"] != "recording" and not config["record_data"]:
        raise ConfigError(f"record_data_as={config['record_data_as']} needs record_data: the folder of the recording.")
    if config["evaluate"]:
        return
    if config["collection"] == "data" and not config["dataset"]:
        raise ConfigError("collection=data learns from a data set: dataset=FOLDER names it.")
    if not config["dataset"]:
        return
    if config["collection"] != "data":
        raise ConfigError(
            f"collection={config['collection']} plays rollouts, and dataset={config['dataset']} is learned from "
            "without. Leave one of them out."
        )
    if parts.traits("learner").get("on_policy") or parts.name("buffer") == "rollout":
        raise ConfigError(
            f"learner={config['learner']} learns from rollouts of its newest weights, not from dataset="
            f"{config['dataset']}. Use --config=bc, cql or another with a replay buffer (docs/data_sets.md)."
        )
    if config["opponents"] != "latest":
        raise ConfigError(f"opponents={config['opponents']} does not go with dataset, where nobody plays.")
    if isinstance(config["buffer_size"], list):
        raise ConfigError("buffer_size: with dataset, it is a number: the room for rollouts beside the data.")
    cuts = parts.traits("runner").get("cuts_episodes") and parts.name("buffer") != "transitions"
    if cuts and config["dataset_updates"]:
        raise ConfigError(
            f"dataset_updates={config['dataset_updates']}: runner={parts.name('runner')} brings pieces of episodes, "
            "and the data are whole ones. Use runner=episodes, or buffer=transitions."
        )
    if config["record_data"] and not config["dataset_updates"]:
        raise ConfigError("record_data: with dataset, nothing is played that could be recorded. Leave one of them out.")
    open_data(config["dataset"])
