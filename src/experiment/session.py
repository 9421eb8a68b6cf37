"""From a checked config to a trained or played model: assemble the parts, and let the loop or an evaluation run."""

import copy
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from checkpoints.model_files import find_checkpoint, model_to_play
from checkpoints.model_manifests import note_of
from checkpoints.store import Checkpoint
from experiment.absolute_metric import play_absolute_metric
from experiment.assembly import assemble
from experiment.branching import begin_branch, branch_origin
from experiment.evaluation import evaluate_model
from experiment.loaded_run import call_on_run
from experiment.loop import TrainingLoop
from experiment.model_meanings import load_models
from experiment.ranks import updates_of
from experiment.replay_recording import attach_recorder
from experiment.saving import RunSaver
from experiment.teams import load_first_models
from experiment.validation import validate as try_out
from learners.non_finite import require_finite
from records.logger import Logger
from records.run_folder import RunFolder
from utils.processes.stop_signals import StopSignals


def train_or_play(
    args: SimpleNamespace,
    config: dict,
    logger: Logger,
    folder: RunFolder,
    signals: StopSignals,
    checkpoint: Checkpoint | None,
    custom: Callable[[Any], Any] | None = None,
    validate: bool = False,
) -> None:
    """Assemble the parts and train, or only evaluate; environments are closed in any case."""
    given = copy.deepcopy(args)
    if args.checkpoint_path and checkpoint is None:
        if args.evaluate:
            path, step, reason = model_to_play(args.checkpoint_path, args.load_step)
            if reason:
                logger.console_logger.info(reason)
            with signals.raising():
                if custom is not None:
                    call_on_run(custom, args, logger, path, step)
                else:
                    evaluate_model(args, logger, folder, path, step)
            return
        path, step = find_checkpoint(args.checkpoint_path, args.load_step)
        if step > args.t_max:
            logger.console_logger.info(
                f"There is nothing to do: {path} was trained for {step} steps, and t_max is {args.t_max}. "
                "Use a larger t_max to continue training, or evaluate=True to play it."
            )
            return
    origin = branch_origin(args, config) if args.branch_from and checkpoint is None else None
    with signals.raising():
        parts = assemble(args, logger)
    try:
        if validate:
            with signals.raising():
                try_out(args, parts, logger)
            return
        with signals.raising():
            if checkpoint is None:
                load_first_models(parts.teams, logger.console_logger)
                if args.checkpoint_path:
                    logger.console_logger.info(f"Loading model from {path}{note_of(path)}")
                    load_models(parts.models, path, args.meaning, logger.console_logger)
                    require_finite(parts.mac, path)
                    parts.runner.t_env = step
                if origin is not None:
                    begin_branch(*origin, parts, logger.console_logger)
                    logger.episode = parts.loop.episode
                elif parts.fill is not None:
                    parts.fill()
            attach_recorder(args, parts.runner, parts.mixer, logger)
            if folder.is_open:
                parts.diagnostics.open(str(folder.diagnostics))
            saver = RunSaver(args, config, parts, logger, folder)
            if checkpoint is not None:
                logger.console_logger.info(f"Resuming from {checkpoint.folder}")
                saver.restore(checkpoint)
                if not parts.runner.environments_restored:
                    logger.console_logger.warning(
                        f"env={args.env} could not be saved where the run stopped. Its episodes begin again, with the "
                        "next seed of their stream: the run will differ from an uninterrupted one."
                    )
            learners = updates_of(args, parts, logger.console_logger)
        finished = False
        try:
            loop = TrainingLoop(args, parts, logger, saver, signals, learners)
            with parts.diagnostics.active():
                loop.run()
            finished = True
        finally:
            learners.close(finished)
    finally:
        parts.runner.close_env()
    if args.absolute_metric:
        with signals.raising(f"during the absolute metric. Training is done. {saver.how_to_resume()}"):
            play_absolute_metric(given, logger, parts.collection.t_env)
        logger.close()
    loop.mark_done()
