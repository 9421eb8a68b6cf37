"""What programs that play a recorded run have in common: its config with the words after `with` and --plugin."""

import argparse
import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from experiment.loaded_run import LoadedRun
    from records.find_run import FoundRun

# arguments of environments that a file or module of the user's may be named in
NAMED_IN = ("environment", "key")


def add_plugins(parser: argparse.ArgumentParser) -> None:
    """Add the option --plugin."""
    parser.add_argument(
        "--plugin",
        metavar="NAME",
        action="append",
        default=[],
        help="the same as with plugins=NAME, or with env_args.environment=NAME if the run's record has that; may be "
        "repeated",
    )


def recorded_config(
    found: "FoundRun", settings: Mapping[str, Any], plugins: Sequence[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The config of a run as far as the command line allows it, and the settings of that with its plugins.

    Raises:
        ConfigError: settings of the record reach beyond its results, and the command line does not name them.
    """
    from checks.side_effects import UNUSED_IN_PLAY, allowed

    config = found.config()
    given = with_plugins(settings, plugins, config)
    return allowed(config, given, found.folder, UNUSED_IN_PLAY), given


def playing_config(found: "FoundRun", models: Path, step: int, given: Mapping[str, Any]) -> dict[str, Any]:
    """The config that plays a model of a recorded run in test episodes, and keeps nothing but their record.

    Args:
        models: the folder of its models.
        step: of the model.
        given: settings, nested, of which those count that the record may not have of itself; they are not merged.

    Raises:
        ConfigError: as `recorded_config`.
    """
    from checks.side_effects import UNUSED_IN_PLAY, allowed
    from utils.config.merging import default_config, recursive_dict_update
    from utils.tensors.devices import without_missing_devices

    played = {
        "evaluate": True,
        "run_name": "",
        "record_data": "",  # test episodes do not belong to what the run has recorded
        "checkpoint_path": str(models),
        "load_step": step,
        "local_results_path": str(found.results),
        # other results than the record are the run's matter
        "save_model": False,
        "save_replay": False,
        "use_tensorboard": False,
        "use_wandb": False,
        "use_mlflow": False,
        "mongo_url": "",
        "on_end": "",
        "summary": False,
    }
    config = allowed(found.config(), given, found.folder, UNUSED_IN_PLAY)
    config = recursive_dict_update(default_config(), {**config, **played})
    return config | without_missing_devices(config)


def config_to_load(
    found: "FoundRun", models: Path, step: int, settings: Mapping[str, Any], changes: Mapping[str, Any]
) -> dict[str, Any]:
    """The checked config with which `loaded_model` loads a model of a run into this process.

    Args:
        models, step: as of `playing_config`.
        settings: of the user's.
        changes: of the program's, which win.

    Raises:
        ConfigError: as `recorded_config`, or the config is invalid.
    """
    from checks import check_config
    from utils.config.merging import recursive_dict_update

    config = playing_config(found, models, step, settings)
    config = check_config(recursive_dict_update(config, {**settings, "collection": "sync", **changes}))
    config["seed"] = config["env_args"]["seed"] = config.get("seed") or 0
    return config


@contextmanager
def loaded_model(config: dict[str, Any], token: str, device: str) -> "Iterator[LoadedRun]":
    """The model of a config of `config_to_load`, ready to play; its environments are closed at the end."""
    from checkpoints.model_files import model_to_play
    from experiment.loaded_run import loaded_run
    from records.console_log import own_logger
    from records.logger import Logger
    from utils.numbers.random_streams import seed_everything

    args = SimpleNamespace(**config, device=device, unique_token=token)
    seed_everything(config["seed"])
    place, step, _ = model_to_play(config["checkpoint_path"], config["load_step"])
    with loaded_run(args, Logger(own_logger(quiet=True)), place, step) as loaded:
        yield loaded


def with_plugins(settings: Mapping[str, Any], names: Sequence[str], recorded: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a command line with what `--plugin=NAME` says: NAME is one of `plugins`.

    The name of the environment that the run's record has in its `env_args` names that instead.
    """
    given = copy.deepcopy(dict(settings))
    env_args = recorded.get("env_args")
    env_args = env_args if isinstance(env_args, Mapping) else {}
    plugins = []
    for name in names:
        key = next((key for key in NAMED_IN if env_args.get(key) == name), None)
        if key is None:
            plugins.append(name)
        else:
            given.setdefault("env_args", {})[key] = name
    if plugins:
        before = given.get("plugins", [])
        given["plugins"] = [*([before] if isinstance(before, str) else before), *plugins]
    return given
