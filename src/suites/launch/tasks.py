"""Runs where there is no launcher beside them: tasks of SLURM's and Ray's take their runs and supervise them."""

import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from suites.launch import slurm
from suites.launch.leases import Leases
from suites.launch.processes import end_with_parent
from suites.launch.supervisor import PASSED_ON, command_of, supervise
from suites.state.runs import DROPPED, FAILED, LOST, RUNNING, STOPPED, SuiteRun
from suites.state.state import Attempt, SuiteFolder
from utils.errors import MusterError


@dataclass(frozen=True)
class Task:
    """What a task knows.

    Attributes:
        launcher: what the attempts say of who began them.
        program: the command of main.py.
        is_current: whether a run would still have the config that it had when the suite was started.
        failed: the numbers of failed attempts that may be followed by another one, by run.
        gpus: that the task was given.
        patient: whether to wait for the lease of an attempt that is under way.
    """

    folder: SuiteFolder
    leases: Leases
    launcher: str
    program: list[str]
    is_current: Callable[[SuiteRun], bool]
    failed: Mapping[str, int]
    gpus: Sequence[str] = ()
    patient: bool = False

    def do(self, run: SuiteRun) -> Attempt | None:
        """Take a run and return its attempt as it ended; None: there was nothing to do.

        Raises:
            MusterError: the run's config has changed since the suite was started.
        """
        folder, before = self.folder, self.folder.newest().get(run.id)
        if folder.stop.exists() or (before is not None and not self._is_free(before)):
            return None
        if before is not None and ((now := folder.attempt(run.id, before.number)) is None or now.state != before.state):
            return None  # its supervisor wrote down the end, and ended, since it was read
        if not self.is_current(run):
            raise MusterError(f"{run.id} was not started: a file of its config has changed since it was submitted.")
        attempt = self.leases.take(run, before, [], list(self.gpus))
        if attempt is None:
            return None
        ended = supervise(folder, replace(attempt, launcher=self.launcher), os.fork)
        if ended is None:
            output = os.open(folder.output(run.id), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.execv(self.program[0], [*self.program, *command_of(folder.results, attempt, run)])
        return ended

    def _is_free(self, before: Attempt) -> bool:
        if before.state == RUNNING:
            deadline = time.monotonic() + (before.lease + 1 if self.patient else 0)
            while not self.leases.is_over(before) and time.monotonic() < deadline:
                time.sleep(min(1.0, before.lease / 10))
            return self.leases.is_over(before)
        again = before.state == FAILED and before.number == self.failed.get(before.run)
        return again or before.state in (STOPPED, LOST, DROPPED)


def ray_task(words: Sequence[str], program: list[str], is_current: Callable[[SuiteRun], bool]) -> None:
    """Be the supervisor of one run, in a process that a task of Ray's has started; end when that one does.

    Args:
        words: results, suite, run, lease, losses, GPUs that were asked for, the number of the failed attempt that it
            may follow, and the number of the other process.
        program, is_current: as of `Task`, and so are the errors.
    """
    results, name, run_id, lease, losses, gpus, failed, parent = words
    end_with_parent(signal.SIGTERM, int(parent))
    folder = SuiteFolder(Path(results), name)
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if float(gpus) else []
    leases, launcher = Leases(folder, float(lease), int(losses)), f"task of process {parent}"
    task = Task(folder, leases, launcher, program, is_current, {run_id: int(failed)}, [*filter(None, visible)])
    task.do(next(run for run in folder.runs() if run.id == run_id))


def slurm_task(words: Sequence[str], program: list[str], is_current: Callable[[SuiteRun], bool]) -> list[Attempt]:
    """Be one task of an array of SLURM's; runs that share it have a process each.

    Args:
        words: results, suite, the number of the array, and that of the task in it.
        program, is_current: as of `Task`, and so are the errors.

    Returns:
        the attempts as they ended; those of runs for which there was nothing to do are missing.
    """
    results, name, array, index = words
    folder = SuiteFolder(Path(results), name)
    content = slurm.array(folder, int(array))
    runs, each = {run.id: run for run in folder.runs()}, content.get("each", 1)
    wanted = [runs[run] for run in content["runs"][int(index) * each : (int(index) + 1) * each]]
    leases = Leases(folder, content["lease"], content["losses"])
    launcher = f"slurm {os.environ.get('SLURM_JOB_ID', '')}"
    # patient: SLURM starts a task again after its node has failed, which the lease has not seen yet
    task = Task(folder, leases, launcher, program, is_current, content["failed"], patient=True)
    if len(wanted) == 1:
        ended = [attempt for run in wanted if (attempt := task.do(run)) is not None]
    else:
        ended = _side_by_side(task, wanted)
    if any(attempt.state in (STOPPED, LOST) for attempt in ended) and not folder.stop.exists():
        slurm.queue_again()
    return ended


def _side_by_side(task: Task, runs: list[SuiteRun]) -> list[Attempt]:
    """Supervise runs in processes of their own, to which the signals of this one are passed on."""
    before, signals = task.folder.newest(), (signal.SIGTERM, signal.SIGINT)
    supervisors: list[int] = []

    def pass_on(*_: Any) -> None:
        for pid in supervisors:
            with suppress(ProcessLookupError):
                os.kill(pid, PASSED_ON)

    # none comes between a supervisor's start and the note of its number
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    handlers = {signum: signal.signal(signum, pass_on) for signum in signals}
    for run in runs:
        if (pid := os.fork()) == 0:
            _be_supervisor(handlers, task, run)
        supervisors.append(pid)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
    for pid in list(supervisors):
        os.waitpid(pid, 0)
        supervisors.remove(pid)
    now = task.folder.newest()
    return [now[run.id] for run in runs if run.id in now and now[run.id] != before.get(run.id)]


def _be_supervisor(handlers: Mapping[signal.Signals, Any], task: Task, run: SuiteRun) -> NoReturn:
    code = 1
    try:
        for signum, handler in handlers.items():
            signal.signal(signum, handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, handlers)
        task.do(run)
        code = 0
    except MusterError as error:
        print(f"stopped: {error}", file=sys.stderr, flush=True)
    finally:
        os._exit(code)
