"""One run where there is no launcher beside it: a task of SLURM's or Ray's claims it and is its keeper."""

import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from suites.launch.claims import Claims
from suites.launch.keeper import command_of, keep
from suites.launch.processes import end_with_parent
from suites.state.state import DROPPED, FAILED, LOST, RUNNING, STOPPED, Attempt, SuiteFolder, SuiteRun
from utils.errors import MusterError


def do_run(
    folder: SuiteFolder, run: SuiteRun, claims: Claims, launcher: str, program: list[str], failed: int | None,
    is_current: Callable[[SuiteRun], bool], gpus: list[str] | None = None, patient: bool = False,
) -> Attempt | None:  # fmt: skip
    """Claim a run and keep it until it has ended.

    Args:
        launcher: what the attempt says of who began it.
        program: the command of main.py.
        failed: the number of the failed attempt that may be followed by another one.
        is_current: whether the run would still have the config that it was frozen with.
        gpus: that the task was given.
        patient: whether to wait for the lease of an attempt that is under way.

    Returns:
        the attempt as it ended; None if there was nothing to do.

    Raises:
        MusterError: the run's config has changed since it was frozen.
    """
    if folder.stop.exists():
        return None
    before = folder.newest().get(run.id)
    if before is not None and not _is_free(before, claims, failed, patient):
        return None
    if before is not None and folder.attempt(run.id, before.number).state != before.state:
        return None  # its keeper wrote down the end, and ended, since it was read
    if not is_current(run):
        raise MusterError(f"{run.id} was not started: a file of its config has changed since it was submitted.")
    claim = claims.claim(run, before, [], gpus or [])
    if claim is None:
        return None
    words = command_of(folder.results, claim.attempt, run.words, run.confirmed)
    ended = keep(folder, replace(claim.attempt, launcher=launcher), os.fork)
    if ended is None:
        output = os.open(folder.output(run.id), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.execv(program[0], [*program, *words])
    return ended


def keep_one(words: Sequence[str], program: list[str], is_current: Callable[[SuiteRun], bool]) -> None:
    """Be the keeper of one run, in a process that another one has started; end when that one does.

    Args:
        words: results, suite, run, lease, losses, GPUs that were asked for, the number of the failed attempt that it
            may follow, and the number of the other process.
        program: the command of main.py.
        is_current: see `do_run`.

    Raises:
        MusterError: the run's config has changed since it was frozen.
    """
    results, name, run_id, lease, losses, gpus, failed, parent = words
    end_with_parent(signal.SIGTERM, int(parent))
    folder = SuiteFolder(Path(results), name)
    run = next(run for run in folder.runs() if run.id == run_id)
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if float(gpus) else []
    claims = Claims(folder, float(lease), int(losses))
    given = [name for name in visible if name]
    do_run(folder, run, claims, f"task of process {parent}", program, int(failed), is_current, given)


def _is_free(before: Attempt, claims: Claims, failed: int | None, patient: bool) -> bool:
    if before.state == RUNNING:
        deadline = time.monotonic() + (before.lease + 1 if patient else 0)
        while not claims.is_over(before) and time.monotonic() < deadline:
            time.sleep(min(1.0, before.lease / 10))
        return claims.is_over(before)
    return before.state in (STOPPED, LOST, DROPPED) or (before.state == FAILED and before.number == failed)
