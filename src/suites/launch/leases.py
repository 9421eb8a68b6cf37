"""Who has which run: leases that hold while they are renewed, among launchers that share nothing but a folder.

An attempt is taken by creating its file, which the file system lets one launcher do. It is renewed by rewriting it, and
over when nobody does so for the time of its lease. Then whoever creates the next attempt's file has the run. Nobody
writes or removes the file of another's attempt, so a run that is taken over cannot be taken twice.
"""

import itertools
import os
import time
import uuid
from dataclasses import replace

from records.layout import DONE as DONE_FILE
from records.layout import RUNS
from records.metric_log import progress
from records.recorded import newest_step
from suites.launch.processes import born, is_alive, kill, machine
from suites.state.runs import DONE, FAILED, LOST, RUNNING, STOPPED, SuiteRun
from suites.state.state import Attempt, SuiteFolder
from utils.files.whole_files import create_whole

# seconds after which a run is taken over whose supervisor, on another machine, gives no sign of life
LEASE = 300.0
# what a run says whose folder another process still holds
IN_USE = "is still in use by the process"
# seconds in which a run that a launcher has taken is begun, or never
HANDOVER = 5.0
# within the time of a lease
RENEWALS = 10


class Leases:
    """Leases of one launcher, of `lease` seconds; `losses`: so many in a row may be lost without a new checkpoint."""

    def __init__(self, folder: SuiteFolder, lease: float = LEASE, losses: int = 5):
        self._folder, self._lease, self._losses = folder, lease, losses
        self.machine = machine()
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
        """Whether a lost or stopped run may be taken: one whose folder is still locked rests for a renewal or two.

        That is so after its machine was silent, and then was not: its supervisor is about to notice, and to end it.
        """
        return IN_USE not in attempt.error or self._age(attempt) > 2 * attempt.lease / RENEWALS

    def take(self, run: SuiteRun, before: Attempt | None, cores: list[int], gpus: list[str]) -> Attempt | None:
        """Try to get a run whose newest attempt is `before`, which is over; None: it is done, or another's.

        A run without an attempt may have a folder: the suite's was removed, or moved. It is the same run, by its id.
        """
        made = Attempt(
            run.id,
            before.number + 1 if before else 1,
            token=f"{self._folder.name}_{run.id}",
            machine=self.machine,
            host=os.uname().nodename,
            pid=os.getpid(),
            born=born(os.getpid()),
            lease=self._lease,
            launcher=self.launcher,
            claimed=time.time(),
            cores=cores,
            gpus=gpus,
        )
        if before is not None or (self._folder.results / RUNS / made.token).exists():
            before = before or Attempt(run.id, 0, state=STOPPED, token=made.token)
            if before.machine == self.machine:  # it was stopped by force, and may not have noticed
                kill(before.run_pid, before.run_born)
            made = self._continued(made, before)
        if not create_whole(str(self._folder.place(run.id, made.number)), made.to_bytes()):
            return None
        return made if made.state == RUNNING else None

    def _continued(self, made: Attempt, before: Attempt) -> Attempt:
        """The attempt that continues another one: resumed, begun once more, or given up."""
        root, token = self._folder.results, before.token or made.token
        if (root / RUNS / token / DONE_FILE).is_file():  # its supervisor was killed before it could say so
            steps, seconds = progress(root, token) or (before.steps, before.seconds)
            return replace(made, token=token, state=DONE, ended=time.time(), steps=steps, seconds=seconds)
        step = newest_step(root, token)
        lost = before.state in (RUNNING, LOST)
        losses = before.losses + 1 if lost and (step or 0) <= before.resumed else 0
        if IN_USE in before.error:
            losses = before.losses
        if losses > self._losses:
            error = f"Lost {losses} times in a row without a new checkpoint. {before.error}"
            return replace(made, token=token, state=FAILED, ended=time.time(), error=error, losses=0)
        if step is not None:
            return replace(made, token=token, losses=losses, resumed=step, steps=step, resumes=True)
        # never a name that the attempt before could still take
        names = (f"{made.token}.{number}" for number in itertools.count(made.number))
        return replace(made, token=next(name for name in names if not (root / RUNS / name).exists()), losses=losses)

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
