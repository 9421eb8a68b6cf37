"""Who has which run: claims that hold while they are renewed, among launchers that share nothing but a folder.

An attempt is claimed by creating its file, which the file system lets one of them do. It is renewed by rewriting it,
and over when nobody does so for the time of its lease. Then whoever creates the next attempt's file has the run. Nobody
writes or removes the file of another's attempt, so a claim that is taken over cannot be taken twice.
"""

import itertools
import os
import time
import uuid
from dataclasses import dataclass, replace

from records.layout import DONE, RUNS
from records.metric_tail import progress
from records.recorded import newest_step
from suites.launch.processes import born, is_alive, kill, machine
from suites.state.state import DONE as IS_DONE
from suites.state.state import FAILED, LOST, RUNNING, STOPPED, Attempt, SuiteFolder, SuiteRun
from utils.files.whole_files import create_whole

# seconds after which a run is taken over whose keeper, on another machine, gives no sign of life
LEASE = 300.0
# what a run says whose folder another process still holds
IN_USE = "is still in use by the process"
# seconds in which a run that a launcher has claimed is begun, or never
HANDOVER = 5.0
# renewals within that time
RENEWALS = 10


@dataclass(frozen=True)
class Claim:
    """A run that this process has.

    Attributes:
        attempt: as it stands in its file.
        resume: whether the run is resumed, rather than begun.
    """

    run: SuiteRun
    attempt: Attempt
    resume: bool


class Claims:
    """Claims of one launcher.

    Args:
        folder: the suite's.
        lease: seconds.
        losses: how many attempts in a row may be lost without a new checkpoint.
    """

    def __init__(self, folder: SuiteFolder, lease: float = LEASE, losses: int = 5):
        self._folder, self._lease, self._losses = folder, lease, losses
        self.machine, self._host = machine(), os.uname().nodename
        # the process and its start first, by which others find out whether it has ended
        self.launcher = f"{os.getpid()}-{born(os.getpid())}-{uuid.uuid4().hex[:8]}"

    def is_over(self, attempt: Attempt) -> bool:
        """Whether nobody works on a running attempt any more."""
        if attempt.machine == self.machine and attempt.pid:
            dead = not is_alive(attempt.pid, attempt.born) and not is_alive(attempt.run_pid, attempt.run_born)
            # a launcher that was killed may have asked for the run just before
            return dead and (attempt.run_pid > 0 or self._age(attempt) > min(HANDOVER, attempt.lease))
        return self._age(attempt) > attempt.lease

    def is_here(self, attempt: Attempt) -> bool:
        """Whether an attempt is under way on this machine."""
        return attempt.state == RUNNING and attempt.machine == self.machine and not self.is_over(attempt)

    def may_continue(self, attempt: Attempt) -> bool:
        """Whether a lost or stopped run may be claimed: one whose folder is still locked rests for a renewal or two.

        That is so after its machine was silent, and then was not: its keeper is about to notice, and to end the run.
        """
        return IN_USE not in attempt.error or self._age(attempt) > 2 * attempt.lease / RENEWALS

    def claim(self, run: SuiteRun, before: Attempt | None, cores: list[int], gpus: list[str]) -> Claim | None:
        """Try to get a run whose newest attempt is `before`, which is over; None: it is done, or another's.

        A run without an attempt may have a folder: the suite's was removed, or moved. It is the same run, by its id.
        """
        made = Attempt(
            run.id,
            before.number + 1 if before else 1,
            token=f"{self._folder.name}_{run.id}",
            machine=self.machine,
            host=self._host,
            pid=os.getpid(),
            born=born(os.getpid()),
            lease=self._lease,
            launcher=self.launcher,
            claimed=time.time(),
            cores=cores,
            gpus=gpus,
        )
        if before is None and not (self._folder.results / RUNS / made.token).exists():
            return Claim(run, made, False) if self._create(made) else None
        before = before or Attempt(run.id, 0, state=STOPPED, token=made.token)
        if before.machine == self.machine:  # it was stopped by force, and may not have noticed
            kill(before.run_pid, before.run_born)
        made, resume = self._continued(made, before)
        if not self._create(made):
            return None
        return Claim(run, made, resume) if made.state == RUNNING else None

    def _continued(self, made: Attempt, before: Attempt) -> tuple[Attempt, bool]:
        """The attempt that continues another one: resumed, begun once more, or given up."""
        root, token = self._folder.results, before.token or made.token
        if (root / RUNS / token / DONE).is_file():  # its keeper was killed before it could say so
            steps, seconds = progress(root, token) or (before.steps, before.seconds)
            return replace(made, token=token, state=IS_DONE, ended=time.time(), steps=steps, seconds=seconds), False
        step = newest_step(root, token)
        lost = before.state in (RUNNING, LOST)
        losses = before.losses + 1 if lost and (step or 0) <= before.resumed else 0
        if IN_USE in before.error:
            losses = before.losses
        if losses > self._losses:
            error = f"Lost {losses} times in a row without a new checkpoint. {before.error}"
            return replace(made, token=token, state=FAILED, ended=time.time(), error=error, losses=0), False
        if step is not None:
            return replace(made, token=token, losses=losses, resumed=step, steps=step, resumes=True), True
        # never a name that the attempt before could still take
        names = (f"{made.token}.{number}" for number in itertools.count(made.number))
        token = next(name for name in names if not (root / RUNS / name).exists())
        return replace(made, token=token, losses=losses), False

    def _create(self, attempt: Attempt) -> bool:
        return create_whole(str(self._folder.place(attempt.run, attempt.number)), attempt.to_bytes())

    def _age(self, attempt: Attempt) -> float:
        """Seconds since an attempt's file was written, by the clock of the machine that has the files."""
        clock = self._folder.path / f".clock-{self.launcher}"
        try:
            clock.write_bytes(b"")
            now = clock.stat().st_mtime
            clock.unlink()
            return now - self._folder.place(attempt.run, attempt.number).stat().st_mtime
        except OSError:
            return 0.0
