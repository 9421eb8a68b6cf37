"""The absolute metric: the best model of a run plays ten times the episodes of a test (Gorsane et al. 2022, section 4).

The best of many tests is too good a figure of its model, since chance helped to choose it. Here other seeds decide.
"""

import copy
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from collection.synchronous import SyncCollection
from experiment.loaded_run import loaded_run
from records.absolute_metric import MODEL_STEP, absolute_key
from records.best_model import recorded_best
from records.layout import BEST, MODELS
from records.logger import Logger
from utils.plain_values import counted

# as many episodes as of a test
TIMES = 10


def play_absolute_metric(args: SimpleNamespace, logger: Logger, t_env: int) -> None:
    """Log the statistics of the best model as `absolute_*`, and the step after which it was saved, at step `t_env`.

    Args:
        args: the run's config, without the sizes that `assemble` adds; not changed.
    """
    found = recorded_best(Path(args.local_results_path, MODELS, args.unique_token, BEST))
    if found is None:
        logger.console_logger.warning("absolute_metric has no effect: the run has kept no model that was tested.")
        return
    folder, step = found[0], found[1]["step"]
    logged: list[tuple[str, float, int, bool]] = []
    args = _with_other_seeds(args)
    args.test_nepisode *= TIMES
    with logger.collecting(logged), loaded_run(args, logger, folder, step) as run:
        for _ in SyncCollection(run.runner, run.mac, run.mac, logger).test(run.stream):
            logger.moved()
    figures = {absolute_key(key): value for key, value, _, _ in logged if absolute_key(key)}
    for key, value in figures.items():
        logger.log_stat(key, value, t_env)
    logger.log_stat(MODEL_STEP, step, t_env)
    result = ", ".join(
        f"{words} {figures[key]:.2f}"
        for key, words in (("absolute_return_mean", "return"), ("absolute_battle_won_mean", "won"))
        if key in figures
    )
    logger.console_logger.info(
        f"Absolute metric, {counted(args.test_nepisode, 'episode')} of the model of step {step:,}: {result}"
    )


def _with_other_seeds(args: SimpleNamespace) -> SimpleNamespace:
    """The same config with a seed made of its own, so that environments and actions are none of the run's."""
    args = copy.deepcopy(args)
    args.seed = int(np.random.SeedSequence([args.seed, TIMES]).generate_state(1)[0])
    args.env_args["seed"] = args.seed
    return args
