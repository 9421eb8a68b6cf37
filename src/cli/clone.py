"""Behavioural cloning from the command line (docs/entities.md)."""

import argparse
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from utils.command_line import OptionParser, number
from utils.own_commands import as_typed


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The command line without the program's name; `words` are those after `with`."""
    parser = OptionParser(
        "clone.py",
        "Train a policy to choose what was chosen in a data set.",
        "Settings come last, as in: clone.py results/recordings/<token> with lr=0.0003",
        with_settings=True,
    )
    parser.add_argument(
        "recording", metavar="RECORDING", help="a data set, as of record_data or under results/recordings/"
    )
    parser.add_argument("--config", default="enn_ppo", help="an algorithm's config: its controller (default: enn_ppo)")
    parser.add_argument(
        "--epochs", type=number(1, 10**6, whole=True), default=20, help="passes over the recording (default: 20)"
    )
    parser.add_argument(
        "--batch-size", type=number(1, 10**6, whole=True), default=256, help="steps of an update (default: 256)"
    )
    parser.add_argument(
        "--test-share",
        type=number(0.001, 0.999),
        default=0.1,
        help="share of the episodes that is only tested on (default: 0.1)",
    )
    return parser.parse(argv)


def clone(options: argparse.Namespace) -> None:
    """Clone, and say how to play the policy.

    Raises:
        ConfigError: the recording or the config is refused; nothing was written.
    """
    import torch as th

    from checks import check_config
    from checks.side_effects import allowed
    from cli.compose import compose_config, taken
    from cli.settings import check_settings, texts_as_typed
    from envs.recorded.formats import open_data
    from experiment.cloning import Plan, clone
    from records.console_log import get_logger
    from records.layout import MODELS
    from records.logger import Logger
    from records.tokens import map_of, run_token
    from utils.config.merging import config_names, recursive_dict_update
    from utils.errors import ConfigError
    from utils.nearest import suggestion
    from utils.numbers.random_streams import seed_everything
    from utils.plain_values import quoted
    from utils.tensors.devices import CPU, ON_CPU

    settings, data = check_settings(options.words), open_data(options.recording)
    env, env_args = data.description.env, dict(data.description.env_args or {})
    if env and env not in config_names("envs"):
        raise ConfigError(
            f"{quoted(options.recording, 300)}: env={quoted(env)}: there is no such environment."
            f"{suggestion(env, config_names('envs'))}"
        )
    if not env:  # the data alone say what there is to see and to do
        env, env_args = "recorded", {"path": options.recording}
        settings = {"dataset": options.recording, **settings}
    named: dict[str, Any] = {"env": env, "env_args": env_args}
    named = allowed(named, settings, Path(options.recording), what="The recording")
    texts, composed = texts_as_typed(options.words), compose_config(options.config, env)
    config, settings = taken(composed, settings, new=True, texts=texts)
    config["env_args"] = {**config["env_args"], **named["env_args"]}
    # one environment is asked for its fields; nothing is played
    config |= {"batch_size_run": 1, "seed": 1} | ({"minibatches": 1} if "minibatches" in config else {})
    config = check_config(recursive_dict_update(config, settings) | ON_CPU)
    seed_everything(config["seed"])
    th.set_num_threads(config["torch_threads"])
    config["env_args"]["seed"] = config["seed"]
    token = run_token(
        f"clone_{config['name']}", config["seed"], map_of(config["env"], config["env_args"]), datetime.now()
    )
    folder = Path(config["local_results_path"], MODELS, token)
    args = SimpleNamespace(**config, device=CPU, unique_token=token)
    plan = Plan(options.epochs, options.batch_size, options.test_share)
    clone(args, Logger(get_logger()), data, plan, folder)
    print(
        as_typed("The policy is in {folder}. With main.py, checkpoint_path={folder}").format(folder=folder),
        "trains it further, and plays it with evaluate=True.",
    )
