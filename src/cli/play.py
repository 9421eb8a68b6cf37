"""A person plays an environment of entities in the terminal, perhaps advised by a trained policy."""

import argparse
import random
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from cli import best_response, cross_play
from cli.recorded_runs import add_plugins, recorded_config
from envs.entities.adapter import EntityEnv
from envs.entities.games import GAMES
from envs.entities.making import made
from utils.command_line import RUN, OptionParser
from utils.config.merging import config_path, recursive_dict_update
from utils.config.renamed_keys import with_new_names
from utils.errors import ConfigError
from utils.files.yaml_files import load_yaml
from utils.nearest import suggestion
from utils.own_commands import as_typed
from utils.plain_values import counted, quoted

ENTITIES = "entities"
EPILOG = """\
Settings come last, as in: play.py MineSweeper with env_args.kwargs.width=4
Games: python src/main.py --list entities. docs/entities.md has more."""


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The command line without the program's name; `words` are those after `with`."""
    parser = OptionParser(
        "play.py",
        "Play an environment of entities in the terminal; or let models of several runs play together (--cross).",
        EPILOG,
        with_settings=True,
    )
    parser.add_argument(
        "what",
        nargs="?",
        default="",
        metavar="WHAT",
        help=f"a game, path/to/file.py:ClassName, or a run whose policy is shown: {RUN} (default: the game of "
        "--env-config)",
    )
    parser.add_argument("--env-config", metavar="NAME", help="an environment config with env: entities")
    parser.add_argument("--config", metavar="NAME", help="an algorithm's config, with checkpoint_path=FOLDER")
    parser.add_argument("--results", default="results", help="folder of the results (default: results)")
    parser.add_argument("--model", choices=("best", "newest"), help="which of a run's models (default: best)")
    parser.add_argument("--seed", type=int, help="of the game (default: a random one)")
    parser.add_argument(
        "--record",
        metavar="FOLDER",
        help="keep what you play in this folder, for clone.py; a recording that is there is added to",
    )
    parser.add_argument("--restart", action="store_true", help="play one episode after another until you quit")
    cross_play.add_options(parser)
    best_response.add_options(parser)
    add_plugins(parser)
    return parser.parse(argv)


def refuse_alone(options: argparse.Namespace) -> None:
    """Refuse options of --cross and --best-response without these. Raises: ConfigError: names what is missing."""
    if options.steps is not None:
        raise ConfigError("--steps needs --best-response RUN.")
    for option in cross_play.CROSS_ONLY:
        if getattr(options, option) is not None:
            raise ConfigError(f"--{option} needs --cross RUN RUN.")


def play(options: argparse.Namespace) -> None:
    """Let a person play.

    Raises:
        ConfigError: what to play is unknown or unclear, is no environment of entities, or its arguments are invalid.
    """
    from cli.settings import check_settings
    from envs.entities.cli_runner import CliRunner

    refuse_alone(options)

    settings = check_settings(options.words)
    named = not options.what or options.what in GAMES or ":" in options.what
    config = _chosen(options, settings) if named else _recorded(options, settings)
    if config["env"] != ENTITIES:
        raise ConfigError(f"env={quoted(config['env'])}: only environments of entities (env={ENTITIES}) can be played.")
    env_args = {key: value for key, value in config["env_args"].items() if key != "seed"}
    EntityEnv.check_args(**env_args)
    seed = random.randrange(2**31) if options.seed is None else options.seed
    with _advised({**config, "seed": seed}) if config.get("checkpoint_path") else nullcontext() as agent:
        recorder = _recorder(options.record, env_args)
        env = made(env_args["environment"], env_args.get("kwargs"))
        if callable(env.seed):  # in files for entity-gym it may be a number
            env.seed(seed)
        try:
            CliRunner(env, agent, recorder).run(restart=options.restart)
        finally:
            env.close()
            if recorder is not None:
                _say_recorded(options.record, recorder)


def _chosen(options: argparse.Namespace, settings: dict[str, Any]) -> dict:
    """The config of a game or a class, with that of --config."""
    environment = options.env_config or ENTITIES
    if options.config is None:
        config = with_new_names(load_yaml(config_path(environment, "envs")))
    else:
        from cli.compose import compose_config, taken
        from cli.settings import texts_as_typed

        texts = texts_as_typed(options.words)
        config, settings = taken(compose_config(options.config, environment), settings, new=True, texts=texts)
    config = recursive_dict_update({"env": "", "env_args": {}, **config}, settings)
    if config["env"] == ENTITIES:
        from vector_envs.instances import env_parameters

        if options.what:
            config["env_args"]["environment"] = options.what
        known = env_parameters(EntityEnv) or {}
        for key in config["env_args"]:
            if key not in known:
                raise ConfigError(f"env_args.{quoted(key)}: unknown key.{suggestion(key, known)}")
    if options.config is not None and not config.get("checkpoint_path"):
        raise ConfigError("--config chooses a policy, whose weights checkpoint_path=FOLDER names after 'with'.")
    if options.config is None and config.get("checkpoint_path"):
        raise ConfigError("checkpoint_path needs --config: the algorithm whose weights these are.")
    return config


def _recorded(options: argparse.Namespace, settings: dict[str, Any]) -> dict:
    """The config of a run, with its best or newest model."""
    from records.find_run import find_run
    from replays.best_model import find_model

    for option, value in (("--config", options.config), ("--env-config", options.env_config)):
        if value is not None:
            raise ConfigError(f"{option} does not go with a run, which has its own config.")
    try:
        found = find_run(options.what, options.results)
    except ConfigError as error:
        if options.what == "latest":
            raise
        raise ConfigError(
            f"There is no game '{quoted(options.what)}'.{suggestion(options.what, GAMES)} Of runs: {error}"
        ) from None
    config, given = recorded_config(found, settings, options.plugin)
    saved, reason = find_model(found, options.model)
    if reason:
        print(reason)
    model = {"checkpoint_path": str(saved.folder), "load_step": saved.step}
    return recursive_dict_update({**config, **model}, given)


def _recorder(folder: str | None, env_args: dict[str, Any]) -> Any:
    if folder is None:
        return None
    from experiment.play_recording import PlayRecorder

    return PlayRecorder(folder, env_args)


def _say_recorded(folder: str, recorder: Any) -> None:
    episodes, steps = recorder.written
    if not episodes:
        print("Nothing was recorded.")
        return
    recorded = counted(episodes, "episode"), counted(steps, "step")
    learn = as_typed(f"python src/clone.py {shlex.quote(folder)}")
    print(f"Recorded: {folder} has {', '.join(recorded)}. {learn} learns from them.")


@contextmanager
def _advised(config: dict) -> Iterator[Any]:
    from experiment.advising import advisor

    with advisor(config) as agent:
        print(f"The policy of {config['checkpoint_path']} advises.")
        yield agent
