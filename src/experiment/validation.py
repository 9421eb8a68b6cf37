"""A trial of an experiment: it assembles everything, plays a little, learns once, and says what to expect."""

import logging
import sys
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from checks.collection import COLLECTORS
from components.sampling.compose import Minibatches
from experiment.assembly import Parts
from experiment.learning_checks import NotCopiedError, faults_of_learning
from experiment.teams import Member
from learners.intrinsic.rewards import rewarded
from records.logger import Logger
from utils.errors import MusterError
from utils.sizes import readable_size
from utils.tensors.devices import CPU, kind_of
from utils.timehelper import time_str

# rollouts that are played and timed; updates likewise, of which the first is slow
ROLLOUTS, UPDATES = 3, 3
# seconds that playing, and filling a buffer, may take
PATIENCE = 20.0


def validate(args: SimpleNamespace, parts: Parts, logger: Logger) -> dict[str, float]:
    """Play some rollouts, and make updates on copies of them; log what the experiment takes.

    Returns:
        `steps_per_second`, `seconds_per_update` by team, `megabytes`: of the process so far.

    Raises:
        MusterError: something of it does not work.
    """
    console = logger.console_logger
    try:
        parts.live.before_rollout(0, logger)
        batch, figures = _play(parts) if parts.fill is None else (None, _read(parts.fill))
        warned = False
        for team in parts.learning:
            figures |= _learn(team, batch, parts)
            warned |= _look_at_learning(team, parts, console)
    finally:
        parts.collection.close()
    figures["megabytes"] = _megabytes()
    speed = figures["steps_per_second"]
    plays = parts.fill is None
    console.info(f"Playing: {speed:,.0f} steps/s." if plays else "Nothing is played: the data are learned from.")
    playing, learning = args.t_max / speed if plays else 0.0, 0.0
    for team in parts.learning:
        update = figures[f"{team.name}/seconds_per_update".lstrip("/")]
        updates = figures[f"{team.name}/updates_per_step".lstrip("/")] * args.t_max
        learning += update * updates
        size = sum(weight.numel() for weight in team.mac.parameters())
        name = f" of {team.name}" if team.name else ""
        console.info(
            f"Learning{name}: {size:,} weights; {1000 * update:.1f} ms an update, of which {updates:,.0f} follow."
        )
    # other processes play meanwhile, if there are cores for them
    seconds = max(playing, learning) if args.collection == COLLECTORS else playing + learning
    console.info(
        f"Memory: {readable_size(int(figures['megabytes'] * 2**20))} now, and what the buffer takes when it is full. "
        f"Time: about {time_str(seconds)} for {args.t_max:,} steps, without tests."
    )
    result = "Valid, but for the warnings above" if warned else "Valid"
    console.info(f"{result}: everything was assembled, played and learned once; nothing was kept.")
    return figures


def _play(parts: Parts) -> tuple[Any, dict[str, float]]:
    """The last of a few rollouts, and the speed of playing."""
    collection = parts.collection
    # the first one starts and compiles
    batch: Any = collection.take().batch
    before, started = collection.t_env, time.monotonic()
    for _ in range(ROLLOUTS):
        batch = collection.take().batch
        if time.monotonic() - started > PATIENCE:
            break
    if place := batch.first_non_finite():
        raise MusterError(f"The environment's data is not finite: {place}.")
    seconds = max(time.monotonic() - started, 1e-9)
    return batch, {"steps_per_second": (collection.t_env - before) / seconds}


def _read(fill: Callable[[], None]) -> dict[str, float]:
    """Fill the buffers with the run's data."""
    fill()
    return {"steps_per_second": 0.0}


def _fill(team: Member, batch: Any) -> int:
    """Fill the buffer with copies of a rollout; returns the transitions of one."""
    seen, started = team.learns_from(batch, None), time.monotonic()
    # enough for a sample will do
    team.args.buffer_min = 0
    added = team.buffer.insert(seen)
    while not team.buffer.ready():
        added = team.buffer.insert(seen)
        if time.monotonic() - started > PATIENCE:
            raise MusterError(
                f"The buffer got {added} transitions from each rollout, and none were enough for a sample."
            )
    return added


def _learn(team: Member, batch: Any, parts: Parts) -> dict[str, float]:
    """Learn from copies of a rollout, or from data (None), of which each step is an update."""
    added = 0 if batch is None else _fill(team, batch)
    seconds = []
    for _ in range(UPDATES):
        sample = team.buffer.sample()
        for part in sample if isinstance(sample, Minibatches) else (sample,):
            started = time.monotonic()
            team.learner.train(rewarded(team.learner, part, parts.collection.t_env), parts.collection.t_env, 0)
            seconds.append(time.monotonic() - started)
    # on average over some rollouts
    per_step = sum(team.plan.due(added) for _ in range(100)) / 100 / added if added else 1.0
    name = f"{team.name}/" if team.name else ""
    return {f"{name}seconds_per_update": min(seconds), f"{name}updates_per_step": per_step}


def _look_at_learning(team: Member, parts: Parts, console: logging.Logger) -> bool:
    """Warn of what is wrong with how a team learns; whether something is."""
    if kind_of(team.args.device) != CPU and team.args.cuda_graphs == "on":
        return False  # captured updates cannot be copied
    sample = team.buffer.sample()
    part = next(iter(sample)) if isinstance(sample, Minibatches) else sample
    try:
        faults = faults_of_learning(team.learner, part, parts.collection.t_env)
    except NotCopiedError as error:
        console.info(str(error))
        return False
    for fault in faults:
        console.warning(f"learner={team.args.learner}: {fault}.")
    return bool(faults)


def _megabytes() -> float:
    """The most memory that this process has had so far; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:  # not a POSIX system
        return 0.0
    # bytes on macOS, KiB elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
