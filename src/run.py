"""One experiment: assemble, train, test, save."""

import logging
import os
import re
import time
from dataclasses import asdict, dataclass
from datetime import datetime
from types import SimpleNamespace
from typing import Any

import torch as th

from assembly import Parts, assemble
from checks import check_config
from envs.instances import TEST_SEED_OFFSET
from recording import attach_recorder, save_replay
from runners.rollouts import Rollouts
from utils.allocation import keep_freed_memory
from utils.checkpoint import find_checkpoint, save_checkpoint
from utils.config import default_config, recursive_dict_update
from utils.logging import Logger, get_logger
from utils.random_streams import RandomStream, seed_everything
from utils.timehelper import time_left, time_str


@dataclass
class LoopState:
    """Where the loop is: episodes played, and the steps at which things were last done."""

    episode: int = 0
    last_test_T: int | None = None
    last_log_T: int = 0
    last_save_T: int | None = None

    def state_dict(self) -> dict:
        return asdict(self)

    def load_state_dict(self, state: dict) -> None:
        for key, value in state.items():
            setattr(self, key, value)


def run(config: dict, sacred_run: Any = None, log: logging.Logger | None = None) -> float | None:
    """Run one experiment to its end.

    Args:
        config: any keys; those that are missing have the values of config/default.yaml. `seed`: None for a random one.
        sacred_run: where statistics are recorded, if anywhere besides the console.
        log: the console.

    Returns:
        The last mean return of the test episodes, or None if there was none.

    Raises:
        ConfigError: the config is refused; nothing has started.
        MusterError: the run had to stop.
    """
    config = check_config(recursive_dict_update(default_config(), config))
    if log is None:
        # a program that runs experiments has set up logging, or leaves it to us
        log = logging.getLogger("muster") if logging.getLogger().handlers else get_logger()
    args = _complete(config, log)
    logger = Logger(log)
    log.info(f"{args.name}: {args.learner} on {args.env}, seed {args.seed}, {args.t_max} steps on {args.device}")
    if args.use_tensorboard:
        logger.setup_tb(os.path.join(args.local_results_path, "tb_logs", args.unique_token))
    if sacred_run is not None:
        # readers of Sacred's folder expect info.json, which Sacred writes only if there is something in it
        sacred_run.info["unique_token"] = args.unique_token
        logger.setup_sacred(sacred_run)
    try:
        run_sequential(args, logger)
    finally:
        logger.close()
        log.info(_where_results_are(args, sacred_run))
    tests = logger.stats.get("test_return_mean")
    return tests[-1][1] if tests else None


def _complete(config: dict, log: logging.Logger) -> SimpleNamespace:
    """Seed everything, and add what can only be known now: device, seed of the environments, name of the results."""
    if config["use_cuda"] and not th.cuda.is_available():
        log.info("use_cuda is off: there is no CUDA device here.")
        config["use_cuda"] = False
    if config.get("seed") is None:
        config["seed"] = int.from_bytes(os.urandom(4), "little") // 4
    seed_everything(config["seed"])
    th.set_num_threads(config["torch_threads"])
    keep_freed_memory()
    config["env_args"]["seed"] = config["seed"]
    args = SimpleNamespace(**config)
    usual = "cuda" if args.use_cuda else "cpu"
    args.device = usual if args.learner_device == "auto" else args.learner_device
    args.unique_token = _unique_token(args)
    if args.save_replay and args.env_args.get("replay_dir") == "":
        # SMAC's argument; empty, it would write into the game's own folder
        replays = os.path.join(args.local_results_path, "replays", args.unique_token)
        args.env_args["replay_dir"] = os.path.abspath(replays)
    return args


def _unique_token(args: SimpleNamespace) -> str:
    """`<name>_seed<seed>_<map>_<time>`, fit for a file name anywhere and, to the microsecond, for this run alone."""
    scenario = args.env_args.get("map_name") or args.env_args.get("key") or args.env_args.get("game") or args.env
    now = datetime.now().strftime("%Y-%m-%d_%H-%M-%S-%f")
    return re.sub(r"[^\w.-]+", "-", f"{args.name}_seed{args.seed}_{scenario}_{now}")


def _where_results_are(args: SimpleNamespace, sacred_run: Any) -> str:
    root = args.local_results_path
    tb_logs = os.path.join(root, "tb_logs", args.unique_token)
    places = {
        "models": os.path.join(root, "models", args.unique_token),
        "curves": tb_logs,
        "replays": os.path.join(root, "replays", args.unique_token),
        "Sacred run": os.path.join(root, "sacred", str(sacred_run._id)) if getattr(sacred_run, "_id", None) else "",
    }
    found = {what: place for what, place in places.items() if place and os.path.isdir(place)}
    if not found:
        return "Results: none were kept"
    if "curves" in found:
        found["curves"] += f" (look at them with: tensorboard --logdir {os.path.dirname(tb_logs)})"
    return "\n".join(["Results:", *(f"  {what + ':':<11} {place}" for what, place in found.items())])


def run_sequential(args: SimpleNamespace, logger: Logger) -> None:
    """Assemble the parts and train, or only evaluate; environments are closed whatever happens."""
    parts = assemble(args, logger)
    try:
        test_stream = RandomStream(args.seed + TEST_SEED_OFFSET)
        if args.checkpoint_path:
            path, step = find_checkpoint(args.checkpoint_path, args.load_step)
            logger.console_logger.info(f"Loading model from {path}")
            parts.learner.load_models(str(path))
            parts.runner.t_env = step
        attach_recorder(args, parts, logger)
        if args.evaluate or (args.save_replay and args.checkpoint_path):
            evaluate_sequential(args, parts, logger, test_stream)
        else:
            train(args, parts, logger, test_stream)
    finally:
        parts.runner.close_env()


def evaluate_sequential(args: SimpleNamespace, parts: Parts, logger: Logger, test_stream: RandomStream) -> None:
    """Play `test_nepisode` test episodes, log them, and save a replay if asked to."""
    _test(args, Rollouts(parts.runner, parts.mac, parts.acting_mac), logger, test_stream)
    logger.log_stat("episode", args.test_nepisode, parts.runner.t_env)
    logger.print_recent_stats()
    save_replay(args, parts.runner, logger)


def train(args: SimpleNamespace, parts: Parts, logger: Logger, test_stream: RandomStream) -> None:
    """The loop: the runner plays, the buffer keeps, the learner learns; now and then, a test, a save, a summary."""
    rollouts = Rollouts(parts.runner, parts.mac, parts.acting_mac, args.overlap)
    try:
        _train(args, parts, rollouts, logger, test_stream)
    finally:
        rollouts.close()


def _train(args: SimpleNamespace, parts: Parts, rollouts: Rollouts, logger: Logger, test_stream: RandomStream) -> None:
    console = logger.console_logger
    state = LoopState()
    start_time = last_time = time.time()
    t_env = last_T = start_T = rollouts.t_env
    console.info(f"Beginning training for {args.t_max} timesteps")
    logger.setup_progress(args.t_max)

    while t_env <= args.t_max:
        batch = rollouts.take()
        t_env = rollouts.t_env
        test_due = state.last_test_T is None or t_env - state.last_test_T >= args.test_interval
        if not test_due and t_env <= args.t_max:  # the runner plays tests, too
            rollouts.begin_next()
        parts.buffer.insert_episode_batch(batch)
        for _ in range(args.updates_per_rollout):
            _learn(args, parts, t_env, state.episode)

        if test_due:
            if logger.progress is None and state.last_test_T is not None:  # the first steps say nothing about the rest
                console.info(f"t_env: {t_env} / {args.t_max}")
                left = time_left(last_time, last_T, t_env, args.t_max)
                console.info(f"Estimated time left: {left}. Time passed: {time_str(time.time() - start_time)}")
            last_time, last_T = time.time(), t_env
            state.last_test_T = t_env
            _test(args, rollouts, logger, test_stream)

        if args.save_model and _save_due(args, t_env, state):
            state.last_save_T = t_env
            _save(args, parts, t_env, console)

        state.episode += rollouts.episodes
        if t_env - state.last_log_T >= args.log_interval:
            state.last_log_T = t_env
            logger.log_stat("episode", state.episode, t_env)
            logger.print_recent_stats()
        logger.show_progress(t_env)

    if state.last_test_T != t_env and t_env > start_T:
        _test(args, rollouts, logger, test_stream)
    if args.save_model and state.last_save_T != t_env and t_env > start_T:
        _save(args, parts, t_env, console)
    save_replay(args, parts.runner, logger)
    if state.last_log_T != t_env:
        logger.log_stat("episode", state.episode, t_env)
        logger.print_recent_stats()
    logger.close()
    console.info(f"Finished Training: {t_env} steps in {time_str(time.time() - start_time)}")


def _test(args: SimpleNamespace, rollouts: Rollouts, logger: Logger, test_stream: RandomStream) -> None:
    """Play exactly `test_nepisode` episodes, as far as the runner counts (the last rollout may bring more)."""
    runner = rollouts.runner
    rollouts.update_weights()
    with test_stream.active():
        for _ in range(-(-args.test_nepisode // runner.batch_size)):
            rollouts.play(test_mode=True)
        while getattr(runner, "test_unfinished", False):  # episodes whose environment crashed do not count
            rollouts.play(test_mode=True)
    logger.print_test(runner.t_env)


def _learn(args: SimpleNamespace, parts: Parts, t_env: int, episode: int) -> None:
    if not parts.buffer.can_sample(args.batch_size):
        return
    # what is beyond the longest episode is padding in every row
    sample = parts.buffer.sample(args.batch_size, trimmed=True)
    if str(sample.device) != args.device:
        sample.to(args.device)
    parts.learner.train(sample, t_env, episode)


def _save_due(args: SimpleNamespace, t_env: int, state: LoopState) -> bool:
    return state.last_save_T is None or t_env - state.last_save_T >= args.save_model_interval


def _save(args: SimpleNamespace, parts: Parts, t_env: int, console: logging.Logger) -> None:
    folder = os.path.join(args.local_results_path, "models", args.unique_token, str(t_env))
    console.info(f"Saving models to {folder}")
    save_checkpoint(parts.learner, folder)
