"""Models of what other programs have trained, from the command line (docs/trackmania.md)."""

import argparse
import copy
import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from utils.command_line import OptionParser, number
from utils.own_commands import as_typed

# files of Linesight that are not used, and why
UNUSED = {
    "weights2.torch": "the target network starts as a copy of the network",
    "scaler.torch": "the scale of float16 gradients is found again within a few updates",
}


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The command line without the program's name; `words` are those after `with`."""
    parser = OptionParser(
        "convert.py",
        "Make a model of the weights that Linesight has saved: weights1.torch, and its optimiser's state.",
        "Settings come last, as in an experiment: with env_args.map_cycle=...",
        with_settings=True,
    )
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="save/<run> of Linesight, or its best_runs")
    parser.add_argument("--config", required=True, help="the algorithm, an IQN, as of an experiment")
    parser.add_argument("--env-config", required=True, help="trackmania or racing, as of an experiment")
    parser.add_argument(
        "--normalisation",
        metavar="FILE",
        type=Path,
        help="Linesight's config_files/state_normalization.py (default: the one above FOLDER)",
    )
    parser.add_argument(
        "--step", type=number(0, 10**15, whole=True), help="frames played so far (default: what FOLDER says, or 0)"
    )
    return parser.parse(argv)


def convert(options: argparse.Namespace) -> None:
    """Make the model, and say how to play it and to train it further.

    Raises:
        ConfigError: the files or the config are refused; nothing was written.
    """
    from checkpoints.linesight_files import read_statistics, read_weights
    from checkpoints.model_files import save_checkpoint
    from checks import check_config
    from cli.compose import compose_config, taken
    from cli.settings import check_settings, texts_as_typed
    from experiment.linesight_model import sizes_of
    from records.layout import MODELS
    from records.tokens import map_of, run_token
    from utils.config.merging import flatten, recursive_dict_update
    from utils.errors import ConfigError
    from utils.numbers.random_streams import seed_everything
    from utils.plain_values import quoted
    from utils.tensors.devices import CPU, ON_CPU

    if not options.folder.is_dir():
        raise ConfigError(f"{quoted(str(options.folder), 300)}: there is no such folder.")
    weights, statistics = read_weights(options.folder), read_statistics(options.folder)
    sizes = {key: size for key, size in sizes_of(weights).items() if key not in ("floats", "actions")}
    settings, texts = check_settings(options.words), texts_as_typed(options.words)
    composed = compose_config(options.config, options.env_config)
    needed = _needed(composed.config, sizes)
    config, settings = taken(composed, recursive_dict_update(copy.deepcopy(needed), settings), new=True, texts=texts)
    config |= {"batch_size_run": 1, "seed": 1}  # nothing is played
    config = check_config(recursive_dict_update(config, settings) | ON_CPU)
    seed_everything(config["seed"])
    args = SimpleNamespace(**{**config, "device": CPU, "collection": "sync", "unique_token": ""})
    learner, notes = _learner(args, options, weights)
    name = f"linesight_{options.folder.resolve().name}"[:60]
    token = run_token(name, config["seed"], map_of(config["env"], config["env_args"]), datetime.now())
    models = Path(config["local_results_path"], MODELS, token)
    step = options.step if options.step is not None else int(statistics.get("cumul_number_frames_played", 0))
    save_checkpoint(learner, models / str(step))
    print(f"The model is in {models}, of step {step}.")
    for note in [*notes, *_kept_apart(options.folder, statistics)]:
        print(f"- {note}")
    words = [*options.words, *(f"{key}={value}" for key, value in flatten(needed).items()), f"checkpoint_path={models}"]
    program = as_typed("python src/main.py")
    command = f"{program} --config={options.config} --env-config={options.env_config} with"
    print(f"To train it further:\n  {command} {' '.join(map(_quoted, words))}\nTo play it, add evaluate=True.")


def _needed(config: Mapping[str, Any], sizes: Mapping[str, int]) -> dict[str, Any]:
    """What a config must say for these weights, as far as it does not."""
    found = {key: size for key, size in sizes.items() if config.get(key) != size}
    view = config.get("env_args", {}).get("view")
    return found | ({"env_args": {"view": "both"}} if view in ("float", "picture") else {})


def _quoted(word: str) -> str:
    """For a shell, in double quotes where these are easier to read."""
    return f'"{word}"' if "'" in word and not set(word) & set('"$`\\!') else shlex.quote(word)


def _learner(args: SimpleNamespace, options: argparse.Namespace, weights: Mapping[str, Any]) -> tuple[Any, list[str]]:
    """A learner with these weights and, if there is one, the optimiser's state; and what to say of them."""
    from checkpoints.linesight_files import OPTIMISER, read_optimiser
    from experiment.assembly import assemble_players, learner_for
    from experiment.linesight_model import load_linesight, load_moments, names_in
    from records.console_log import get_logger
    from records.logger import Logger
    from utils.errors import ConfigError

    logger = Logger(get_logger())
    players = assemble_players(args, logger)
    try:
        learner = learner_for(players, logger)
    finally:
        players.runner.close_env()
    agent = getattr(players.mac, "agent", None)
    names_in(agent)
    inputs = _input_scale(args, options)
    load_linesight(agent, weights, inputs)
    moments = read_optimiser(options.folder)
    optimiser: Any = getattr(learner, "optimiser", None)
    if moments is None:
        return learner, [f"{OPTIMISER} is missing: the optimiser starts without moments."]
    if type(optimiser).__name__ != "RAdam":
        return learner, [f"{OPTIMISER} is not used: it is RAdam's, and the config has optimizer={args.optimizer}."]
    try:
        load_moments(optimiser, agent, moments, inputs)
    except ConfigError as error:
        return learner, [f"{OPTIMISER} is not used: {error}"]
    return learner, []


def _input_scale(args: SimpleNamespace, options: argparse.Namespace) -> Any:
    """What Linesight's network would see of what this config's sees."""
    import numpy as np
    import torch as th

    from checkpoints.linesight_files import NORMALISATION, read_normalisation
    from components.sampling.listed import listed_names, listed_options
    from envs import REGISTRY as environments
    from experiment.linesight_model import InputScale
    from utils.errors import ConfigError

    places = [folder / "config_files" / NORMALISATION for folder in options.folder.resolve().parents]
    path = options.normalisation or next((place for place in places if place.is_file()), None)
    if path is None:
        raise ConfigError(
            f"Linesight's weights belong to the means and deviations in its config_files/{NORMALISATION}, which is not "
            f"above {options.folder}. Name the file: --normalisation=FILE."
        )
    mean, deviation = read_normalisation(path)
    environment = environments[args.env](**args.env_args)
    try:
        own = getattr(environment, "scaling", None)
    finally:
        environment.close()
    if own is None:
        raise ConfigError(f"env={args.env}: Linesight's weights drive in env=trackmania or env=racing.")
    own_mean, own_deviation = (np.asarray(one, dtype=np.float64).copy() for one in own)
    if own_mean.shape != mean.shape:
        raise ConfigError(f"{path} scales {len(mean)} floats; env={args.env} has {len(own_mean)} with these env_args.")
    race = listed_options(args.sample_transforms, "mini_race")
    if race is not None and race["field"]:  # it writes the time, which the environment shows as 0
        own_mean[race["index"]], own_deviation[race["index"]] = 0.0, 1 / race["per_step"]
    floats = th.tensor(own_deviation / deviation), th.tensor((own_mean - mean) / deviation)
    # Linesight's pictures are (x - 128) / 128; ours are x / 255 where nothing centres them
    centred = "normalise_image" in listed_names(args.sample_transforms)
    return InputScale(floats, (1.0, 0.0) if centred else (255 / 128, -1.0))


def _kept_apart(folder: Path, statistics: Mapping[str, Any]) -> list[str]:
    notes = [f"{name} is not used: {why}." for name, why in UNUSED.items() if (folder / name).exists()]
    best = statistics.get("alltime_min_ms")
    if isinstance(best, Mapping) and best:
        times = ", ".join(f"{name} {ms / 1000:.3f} s" for name, ms in best.items() if isinstance(ms, int | float))
        notes.append(f"Its best times were: {times}.")
    return notes
