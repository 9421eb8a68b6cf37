"""One experiment: its config, its seeds, its results, and a session of training or play. PyMARL's `run` module."""

import contextlib
import copy
import logging
import os
import shlex
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch as th

from checkpoints.resumption import Resumption
from checks import check_config
from checks.lasting import lasting
from checks.machine import require_new_name
from checks.processes import is_helper, processes_of
from checks.side_effects import statement_of
from checks.teams import team_config
from checks.unused_keys import warnings_of
from experiment.attachments import attach_results
from experiment.out_of_memory import explanation
from experiment.rank_process import serve_launched
from experiment.session import train_or_play
from learners.captured_updates import why_nothing_is_captured
from records.best_model import best_of
from records.console_log import get_logger
from records.layout import BEST, MLFLOW, MODELS, REPLAYS, RUNS, SACRED, TB_LOGS, WANDB
from records.logger import Logger
from records.on_end import OnEnd
from records.run_folder import RunFolder
from records.tokens import map_of, run_token
from runners.base import calls_of_a_test
from runners.contract import as_runner
from utils.config.merging import default_config, recursive_dict_update, shared_defaults
from utils.config.renamed_keys import note_of_former_names, with_new_names
from utils.errors import ConfigError, MusterError
from utils.numbers.random_streams import seed_everything
from utils.own_commands import as_typed
from utils.page_packages import PAGE, REQUIREMENTS, missing
from utils.processes.allocation import keep_freed_memory
from utils.processes.available_memory import memory_errors_explained
from utils.processes.launched_ranks import launched_ranks
from utils.processes.stop_signals import StopSignals
from utils.tensors.devices import learner_device, uses_cards

# what PyMARL's `run` adds to the config before it calls `run_sequential`
ADDED_TO_ARGS = ("device", "unique_token")


def run(
    config: dict,
    sacred_run: Any = None,
    log: logging.Logger | None = None,
    resume: Resumption | None = None,
    signals: StopSignals | None = None,
    custom: Callable[[Any], Any] | None = None,
    validate: bool = False,
    page: Callable[[Path], bool] | None = None,
) -> float | None:
    """Run one experiment to its end. PyMARL's order of arguments, `run(_run, _config, _log)`, works, too.

    Args:
        config: any keys; those that are missing have the values of config/default.yaml. `seed`: None for a random one.
        sacred_run: where statistics are recorded, if anywhere besides the console.
        log: the console.
        resume: the run to resume; `config` is then its own, with the changes that are allowed.
        signals: that the caller notes already; None: this run notes its own.
        custom: with `evaluate`, called on the loaded run (`experiment.loaded_run`) in place of playing test episodes.
        validate: try everything and stop (`experiment.validation`).
        page: writes a page of the run's figures for the tracking services into a file, and returns whether it did.

    Returns:
        The last mean return of the test episodes, or None.

    Raises:
        ConfigError: the config is refused; nothing has started.
        MusterError: the run had to stop.
        Interrupted: SIGINT or SIGTERM ended it, after a checkpoint.
    """
    if isinstance(sacred_run, Mapping):
        config, sacred_run = dict(sacred_run), config
    given = recursive_dict_update(default_config(), with_new_names(config, defaults=shared_defaults()))
    config = check_config(given)
    if not config["evaluate"] and is_helper(config["data_parallel"]):
        serve_launched()
        return None
    if log is None:
        # a program that runs experiments has set up logging, or leaves it to us
        log = logging.getLogger("muster") if logging.getLogger().handlers else get_logger()
    if note := note_of_former_names():
        log.info(note)
    for warning in [] if config["evaluate"] else warnings_of(config):
        log.warning(warning)
    with contextlib.nullcontext(signals) if signals is not None else StopSignals() as signals:
        signals.sigusr1_stops = config["sigusr1"] == "stop"
        signals.raise_noted()
        if resume is None:
            require_new_name(config)
        args, config = _complete(config, log, resume)
        logger = Logger(log)
        log.info(_title(args))
        if args.message:
            log.info(f"Message: {args.message}")
        # Sacred records the config as it was given, checkpoints as it was checked
        config = lasting(config)
        statements = {statement_of(lasting(given)), statement_of(config)}
        folder = RunFolder(args.local_results_path, args.unique_token, getattr(sacred_run, "_id", None), statements)
        finished = False
        with contextlib.ExitStack() as ending:  # from the last to the first, each even if another raises
            if not validate:
                logger.on_end = on_end = OnEnd.of(args, logger.stats, folder.path, log)
                ending.push(lambda _, error, __: on_end.end(error))
            ending.push(lambda _, error, __: _end_report(args, log, sacred_run, folder, error))
            ending.callback(folder.close)
            ending.callback(lambda: logger.close_sinks(finished))
            ending.push(lambda _, error, __: _attach(args, logger, page) if error is None and not validate else None)
            ending.callback(logger.close)
            _set_up_sinks(args, config, logger, folder, sacred_run, resume)
            with memory_errors_explained(partial(explanation, args)):
                checkpoint = resume.checkpoint if resume else None
                train_or_play(args, config, logger, folder, signals, checkpoint, custom, validate)
            finished = True
    tests = logger.stats.get("test_return_mean")
    return tests[-1][1] if tests else None


def _title(args: SimpleNamespace) -> str:
    if args.evaluate:
        return f"{args.name}: {args.test_nepisode} test episodes on {args.env}, seed {args.seed}"
    learners = [f"{name}: {team_config(vars(args), name)['learner']}" for name in args.teams] or [args.learner]
    return f"{args.name}: {', '.join(learners)} on {args.env}, seed {args.seed}, {args.t_max} steps on {args.device}"


def _complete(config: dict, log: logging.Logger, resume: Resumption | None) -> tuple[SimpleNamespace, dict]:
    """Seed everything, and add the values known only now: device, seed of the environments, name of the results.

    Returns:
        the arguments of all parts, and the config with which the run can be resumed.
    """
    kept = config
    if config.get("seed") is None:
        config["seed"] = int.from_bytes(os.urandom(4), "little") // 4
    config = args_sanity_check(copy.deepcopy(config), log)
    config["data_parallel"] = 1 if config["evaluate"] else processes_of(config)
    if config["cuda_graphs"] == "on" and (reason := why_nothing_is_captured(config)):
        log.warning(f"cuda_graphs=on has no effect: {reason} (docs/performance.md).")
    if (launched := launched_ranks()) is not None and config["data_parallel"] < 2:
        log.warning(
            f"This is process {launched[0]} of {launched[1]} that were launched together, and data_parallel is off: "
            "each of them is a run of its own."
        )
    seed_everything(config["seed"])
    th.set_num_threads(config["torch_threads"])
    keep_freed_memory()
    config["env_args"]["seed"] = config["seed"]
    args = SimpleNamespace(**config)
    # save_replay with a loaded model plays it, without training
    args.evaluate = args.evaluate or bool(resume is None and args.save_replay and args.checkpoint_path)
    args.device = learner_device(config)
    args.unique_token = resume.token if resume else _unique_token(args)
    if args.save_replay and args.env_args.get("replay_dir") == "":
        # SMAC's argument; empty, it would write into the game's own folder
        replays = os.path.join(args.local_results_path, REPLAYS, args.unique_token)
        args.env_args["replay_dir"] = os.path.abspath(replays)
    return args, kept


def _set_up_sinks(
    args: SimpleNamespace, config: dict, logger: Logger, folder: RunFolder, sacred_run: Any, resume: Resumption | None
) -> None:
    """Set up the sinks of statistics. An unobserved run has no metric log until it writes a checkpoint."""
    if folder.sacred_id is not None or resume is not None:
        try:
            folder.create()
        except OSError as error:
            raise MusterError(
                f"The folder of this run cannot be made: {folder.path}: {error.strerror}. Make room there, or choose "
                "another folder with local_results_path."
            ) from None
        logger.setup_metric_log(str(folder.metrics))
    if args.use_tensorboard:
        logger.setup_tb(os.path.join(args.local_results_path, TB_LOGS, args.unique_token))
    _add_services(args, config, logger)
    if sacred_run is not None:
        # readers of Sacred's folder expect info.json, which Sacred writes only if there is something in it
        sacred_run.info["unique_token"] = args.unique_token
        if resume is not None:
            sacred_run.info["resumed_from"] = resume.origin()
        logger.setup_sacred(sacred_run)
    for warning in resume.warnings if resume else []:
        logger.console_logger.warning(warning)


def _add_services(args: SimpleNamespace, config: dict, logger: Logger) -> None:
    """Log in the tracking services, too; their packages are imported only by runs that use them."""
    root, console = args.local_results_path, logger.console_logger
    if args.use_wandb:
        from records.wandb_sink import WandbSink

        owner = {"project": args.wandb_project, "team": args.wandb_team, "mode": args.wandb_mode}
        owner["save_model"] = args.wandb_save_model
        logger.add_sink(WandbSink(root, args.unique_token, config, console=console, **owner))
    if args.use_mlflow:
        from records.mlflow_sink import MlflowSink

        store = {"uri": args.mlflow_uri, "experiment": args.mlflow_experiment}
        logger.add_sink(MlflowSink(os.path.join(root, MLFLOW), args.unique_token, config, console=console, **store))


def _attach(args: SimpleNamespace, logger: Logger, page: Callable[[Path], bool] | None) -> None:
    if args.track_model or args.track_media:
        steps = max((values[-1][0] for values in logger.stats.values() if values), default=0)
        attach_results(args, logger, steps, page)


def _unique_token(args: SimpleNamespace) -> str:
    return args.run_name or run_token(args.name, args.seed, map_of(args.env, args.env_args), datetime.now())


def _end_report(
    args: SimpleNamespace, log: logging.Logger, sacred_run: Any, folder: RunFolder, error: BaseException | None
) -> None:
    """Log where the results are. A new run whose parts do not fit together has none, and leaves no folder."""
    if not (isinstance(error, ConfigError) and folder.remove_unused()):
        log.info(_where_results_are(args, sacred_run))
        if error is None and not args.evaluate and (found := _next_commands(args)):
            log.info(found)


def _next_commands(args: SimpleNamespace) -> str:
    """What a person may want to see next of a run that has trained, as commands; empty if it has kept nothing."""
    root = args.local_results_path
    usual, folder = root == default_config()["local_results_path"], shlex.quote(root)
    watch, browse = "python src/watch.py latest", "make browse"
    if not usual:
        watch, browse = f"{watch} --results={folder}", f"{browse} RESULTS={folder}"
    watch, browse = as_typed(watch), as_typed(browse)
    commands = {}
    if os.path.isdir(os.path.join(root, MODELS, args.unique_token)):
        commands[watch] = "plays its best model"
    if os.path.isdir(os.path.join(root, RUNS, args.unique_token)):
        if browse.startswith("make") or not missing(*PAGE):
            commands[browse] = "shows its curves"
        else:
            commands[as_typed(f"pip install -r {REQUIREMENTS}")] = "installs the page, once"
            commands[browse] = "then shows its curves"
    if not commands:
        return ""
    width = max(map(len, commands))
    return "\n".join(["Next:", *(f"  {command:<{width}}  {what}" for command, what in commands.items())])


def _where_results_are(args: SimpleNamespace, sacred_run: Any) -> str:
    root = args.local_results_path
    tb_logs, models = (os.path.join(root, kind, args.unique_token) for kind in (TB_LOGS, MODELS))
    places = {
        "run": os.path.join(root, RUNS, args.unique_token),
        "models": models,
        "best model": os.path.join(models, BEST),
        "curves": tb_logs,
        "replays": os.path.join(root, REPLAYS, args.unique_token),
        "W&B": os.path.join(root, WANDB) if args.use_wandb else "",
        "MLflow": os.path.join(root, MLFLOW) if args.use_mlflow else "",
        "Sacred run": os.path.join(root, SACRED, str(sacred_run._id)) if getattr(sacred_run, "_id", None) else "",
    }
    found = {what: place for what, place in places.items() if place and os.path.isdir(place)}
    if not found:
        return "The run kept no results."
    if "best model" in found and (best := best_of(Path(models))) is not None:
        found["best model"] += f" (after {best.step} steps: {best})"
    if "curves" in found:
        found["curves"] += f" (view them with: tensorboard --logdir {os.path.dirname(tb_logs)})"
    return "\n".join(["Results:", *(f"  {what + ':':<11} {place}" for what, place in found.items())])


def run_sequential(args: SimpleNamespace, logger: Logger) -> None:
    """Train, or play a saved model, as PyMARL's function of this name, for scripts that call it.

    Args:
        args: the config's keys, to which PyMARL's `run` has added `device` and `unique_token`; missing ones have the
            values of config/default.yaml. The environment's sizes are added to it.
        logger: set up by the caller.

    Raises:
        ConfigError: the config is refused.
    """
    given = with_new_names({key: value for key, value in vars(args).items() if key not in ADDED_TO_ARGS})
    whole, config = _complete(check_config(recursive_dict_update(default_config(), given)), logger.console_logger, None)
    vars(args).update({**vars(whole), **{key: value for key, value in vars(args).items() if key in ADDED_TO_ARGS}})
    config = lasting(config)
    folder = RunFolder(args.local_results_path, args.unique_token, None, {statement_of(config)})
    with StopSignals() as signals, contextlib.closing(folder):
        signals.sigusr1_stops = args.sigusr1 == "stop"
        train_or_play(args, config, logger, folder, signals, None)


def evaluate_sequential(args: SimpleNamespace, runner: Any) -> None:
    """Play the test episodes of a runner with a loaded model, and close its environments (PyMARL's function).

    `--evaluate` and `evaluate=True` play `experiment.evaluation` instead, which also keeps a table of the episodes.
    """
    for _ in range(calls_of_a_test(as_runner(runner), args.test_nepisode)):
        runner.run(test_mode=True)
    if args.save_replay:
        runner.save_replay()
    runner.close_env()


def args_sanity_check(config: dict, _log: logging.Logger) -> dict:
    """Switch `use_cuda` off where there is no CUDA device (PyMARL's function, which also rounds `test_nepisode`)."""
    if config["use_cuda"] and not uses_cards(config):
        _log.info("use_cuda is off: there is no CUDA device here.")
        config["use_cuda"] = False
    return config
