"""`branch_from`: a new run that continues from another one's checkpoint, with settings of its own."""

import logging
from types import SimpleNamespace

from checkpoints.resumption import Resumption
from checks.branching import check_branch
from experiment.assembly import Parts
from experiment.saving import restore_parts

# records and changes that are those of the other run
NOT_TAKEN = ("logger", "diagnostics", "live")


def branch_origin(args: SimpleNamespace, config: dict) -> tuple[Resumption, bool]:
    """The run that `branch_from` names, and whether keys differ that parts may read at their start only.

    Raises:
        ConfigError: there is no such run, it has no checkpoint, or a key differs that may not.
    """
    origin = Resumption.of(args.branch_from, args.local_results_path)
    return origin, check_branch(origin.recorded, config)


def begin_branch(origin: Resumption, at_start: bool, parts: Parts, console: logging.Logger) -> None:
    """Give the parts of a new run what the other's newest checkpoint has: weights, optimisers, buffers, environments,
    random streams and counts. Records are its own.

    Settings are those of the new run, learning rates among them. If parts read one of those that differ at their start
    (`at_start`), counts that a learner keeps as plain numbers, such as that of updates since the last one of its
    targets, begin again.

    Raises:
        CheckpointError: the checkpoint does not fit.
    """
    console.info(f"Continuing from {origin.checkpoint.folder}")
    optimisers = [one for team in parts.learning for one in getattr(team.learner, "optimisers", {}).values()]
    given = [[{**group, "params": None} for group in one.param_groups] for one in optimisers]
    restore_parts(parts, origin.checkpoint, NOT_TAKEN, figures=not at_start)
    for optimiser, groups in zip(optimisers, given, strict=True):
        for group, settings in zip(optimiser.param_groups, groups, strict=True):
            group.update({key: value for key, value in settings.items() if key != "params"})
