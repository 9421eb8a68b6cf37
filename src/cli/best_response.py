"""`play --best-response RUN`: how much can a team that learns against a run's model take from it?"""

import argparse
import logging
import math
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from cli.cross_play import EPISODES, model_of
from utils.command_line import number
from utils.errors import ConfigError
from utils.plain_values import counted, quoted

# the team that learns
NAME = "best_response"
STEPS, TESTS = 100_000, 4


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add --best-response and what belongs to it."""
    parser.add_argument(
        "--best-response",
        metavar="RUN",
        help="for each group of opposed agents, train a new team that plays it against the run's model, which does not "
        "learn, and report its return: an estimate of exploitability. RUN@STEP as with --cross",
    )
    parser.add_argument(
        "--steps", type=number(1, 10**12, whole=True), help=f"--best-response: of each training (default: {STEPS:,})"
    )


def best_response(options: argparse.Namespace) -> None:
    """Train against a run's model instead of each group, and print what each training has reached.

    Raises:
        ConfigError: options that do not go together, an unknown run or model, or no opposed groups.
    """
    from cli.recorded_runs import recorded_config
    from cli.settings import check_settings
    from utils.config.merging import recursive_dict_update

    for option in ("what", "cross", "config", "env_config", "record", "restart", "first", "replays", "out"):
        if getattr(options, option):
            words = "a game" if option == "what" else f"--{option.replace('_', '-')}"
            raise ConfigError(f"--best-response does not go with {words}.")
    found, models, step = model_of(options.best_response, options)
    config, given = recorded_config(found, check_settings(options.words), options.plugin)
    config = recursive_dict_update(config, given)
    groups = _groups_of(config)
    means = []
    for group in groups:
        tests = _trained(config, models, step, group, groups, options)
        mean, error = tests[-1]
        before = ", ".join(f"{value:.3f}" for value, _ in tests[:-1])
        print(f"{group}: the best response earns {mean:.3f}±{error:.3f} (in the tests before {before})", flush=True)
        means.append(mean)
    print(f"Mean over {counted(len(groups), 'group')}: {sum(means) / len(means):.3f}")


def _groups_of(config: Mapping[str, Any]) -> list[str]:
    """The groups of an environment's agents.

    Raises:
        ConfigError: they are not opposed.
    """
    from checks import check_config
    from envs import REGISTRY
    from envs.contract.declarations import spec_of
    from utils.config.merging import default_config, recursive_dict_update
    from vector_envs.instances import constructor_of

    checked = check_config(recursive_dict_update(default_config(), dict(config)))
    env = constructor_of(REGISTRY[checked["env"]])(**checked["env_args"])
    try:
        spec = spec_of(env)
    finally:
        env.close()
    groups = list(spec.groups)
    if len(groups) < 2 or not all(f"{group}/reward" in spec.fields for group in groups):
        raise ConfigError(
            f"--best-response needs opposed groups, each with its reward; env={quoted(config['env'])} has "
            f"{counted(len(groups), 'group')}, with the rewards {', '.join(spec.rewards())}."
        )
    return groups


def _trained(
    config: Mapping[str, Any], models: Path, step: int, group: str, groups: Sequence[str], options: argparse.Namespace
) -> list[tuple[float, float]]:
    """The returns of a group in the tests of its training: means and standard errors."""
    from records.console_log import own_logger
    from run import run

    steps = options.steps or STEPS
    seed = {} if options.seed is None else {"seed": options.seed}
    record, log, episodes = _Record(), own_logger(quiet=True), options.episodes or EPISODES
    log.setLevel(logging.ERROR)  # returns of all groups together are 0, of which a run would warn
    with tempfile.TemporaryDirectory() as folder:
        changes = {
            "teams": _teams(config, models, step, group, groups),
            "opponents": "latest",
            "evaluate": False,
            "checkpoint_path": "",
            "load_step": 0,
            "run_name": "",
            "record_data": "",
            "dataset": "",
            "local_results_path": folder,
            "t_max": steps,
            "test_interval": max(1, steps // TESTS),
            "test_nepisode": episodes,
            "save_model": False,
            "save_replay": False,
            "use_tensorboard": False,
            "use_wandb": False,
            "use_mlflow": False,
            "absolute_metric": False,
            "mongo_url": "",
            "on_end": "",
            "summary": False,
            "checkpoint_interval": 0,
            "checkpoint_minutes": 0,
        }
        run({**config, **changes, **seed}, sacred_run=record, log=log)
    means, deviations = (record.figures[f"test_{group}/return_{what}"] for what in ("mean", "std"))
    return [(mean, deviation / math.sqrt(episodes)) for mean, deviation in zip(means, deviations, strict=True)]


def _teams(
    config: Mapping[str, Any], models: Path, step: int, group: str, groups: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """The team that learns, and those of the run that play the other groups, frozen."""
    held = {"checkpoint_path": str(models.resolve()), "load_step": step, "frozen": True}
    own = config.get("teams") or {}
    learns: dict[str, Any] = {"groups": [group]}
    if not own:
        return {NAME: learns, "held": {"groups": [other for other in groups if other != group], **held}}
    teams = {}
    for name, entry in own.items():
        played = list(entry.get("groups") or [name])
        keys = {key: value for key, value in entry.items() if key not in ("groups", *held)}
        if group in played:
            learns |= keys
        if rest := [other for other in played if other != group]:
            teams[name] = {**keys, "groups": rest, **held}
    return {NAME: learns, **teams}


class _Record(SimpleNamespace):
    """The part of a Sacred run that `run` uses; it notes all figures by name."""

    def __init__(self) -> None:
        super().__init__(info={}, _id=None, figures=defaultdict(list))

    def log_scalar(self, key: str, value: float, t: int) -> None:
        self.figures[key].append(float(value))
