"""The launcher on Ray: a task for each run, which Ray starts where there is room.

A task is the parent of a supervisor (`suites.launch.ray_task`), which takes its run in the suite's folder like all
others: Ray decides when and where, and the files what is done. So tasks are never repeated by Ray; what became of one
that is gone its run's file says.
"""

import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from suites.launch import ray_task
from suites.launch.launcher import Launcher, Work
from suites.plan.resources import Resources, cores_asked_for, task_variables
from suites.state.runs import FAILED, RUNNING, SuiteRun
from suites.state.state import Attempt
from utils.errors import ConfigError
from utils.plain_values import escaped
from utils.processes.ray_cluster import RayCluster

# of a suite's folder
RAY = "ray"
# tasks that wait at Ray at a time
MOST = 1000
# tasks of a run in a row that may be lost before they have begun it
MOST_LOST = 5


@dataclass
class _Task:
    """A task at Ray; `before`: the number of its run's last attempt by then; `reported`: its beginning."""

    reference: Any
    before: int
    reported: bool = False
    cancelled: bool = False


class RayLauncher(Launcher):
    """Starts a suite's runs on a cluster of Ray.

    Args:
        cluster: that this process is connected to; closed at the end.
        resources: of the suite; `jobs`: runs at a time, 0: as many as the cluster has room for.
        program: the script and the first words that call `suites.launch.tasks.ray_task`.
        lease: seconds.
    """

    def __init__(self, work: Work, cluster: RayCluster, resources: Resources, program: list[str], lease: float):
        super().__init__(work)
        self._cluster, self._resources, self._program, self._lease = cluster, resources, program, lease
        self._most = resources["jobs"] or MOST
        self._mine: dict[str, _Task] = {}
        self._lost: dict[str, int] = {}
        self._stopped = 0
        (work.folder.path / RAY).mkdir(mode=0o700, parents=True, exist_ok=True)
        self._stops_file = work.folder.path / RAY / f"{work.leases.launcher}.stops"
        ray, wanted = cluster.ray, needed(resources)
        # by value: see there
        ray.cloudpickle.register_pickle_by_value(ray_task)
        self._attend = ray.remote(ray_task.attend).options(
            num_cpus=wanted["cpus"], num_gpus=wanted["gpus"], memory=wanted["memory"] or None, max_retries=0
        )

    def _fill(self, newest: dict[str, Attempt]) -> bool:
        started = False
        for run in list(self._runs.values()):
            if len(self._mine) >= self._most:
                break
            before = newest.get(run.id)
            if run.id not in self._mine and self._is_free(run.id, before) and self._still_current(run):
                self._submit(run, before)
                started = True
        return started

    def _submit(self, run: SuiteRun, before: Attempt | None) -> None:
        failed = before.number if before is not None and before.state == FAILED else 0
        numbers = (self._lease, self._resources["losses"], needed(self._resources)["gpus"], failed)
        words = [str(self._folder.results), self._folder.name, run.id, *map(str, numbers)]
        variables = task_variables(self._resources)
        reference = self._attend.remote(self._program, words, str(self._stops_file), variables)
        self._mine[run.id] = _Task(reference, before.number if before else 0)

    def _note_ended(self, newest: dict[str, Attempt]) -> None:
        for run, task in self._mine.items():
            now = newest.get(run)
            if not task.reported and now is not None and now.number > task.before:
                task.reported = True
                if now.state == RUNNING:
                    self._report(now)
        ray = self._cluster.ray
        references = {task.reference: run for run, task in self._mine.items()}
        ended, _ = ray.wait(list(references), num_returns=len(references), timeout=0) if references else ([], [])
        for reference in ended:
            run = references[reference]
            try:
                code, text = ray.get(reference)
            except ray.exceptions.RayError as error:
                code, text = None, type(error).__name__
            self._end(run, self._mine.pop(run), code, text, newest)

    def _end(self, run: str, task: _Task, code: int | None, text: str, newest: dict[str, Attempt]) -> None:
        """Note the end of a task, which is not always that of its run; `code` is None if it is lost, as `text` says."""
        # read after the task has ended: what `newest` has may be older
        now = self._folder.newest().get(run)
        if now is not None and now.number > task.before:
            self._lost.pop(run, None)
            newest[run] = now
            if now.state != RUNNING or self._leases.is_over(now):
                self._report(now)
            return
        if task.cancelled or self._stops():
            return
        # without an attempt and a fault, it was under way elsewhere when the task began
        self._lost[run] = self._lost.get(run, 0) + 1
        if code or self._lost[run] >= MOST_LOST:
            self._refused[run] = escaped(text) or f"Its task ended with the exit code {code} before it had begun."
            self._runs.pop(run, None)

    def _stop(self, newest: dict[str, Attempt], stops: int) -> None:
        if stops > self._stopped:
            self._stopped = stops
            self._stops_file.write_bytes(b"x" * stops)
        for run, task in self._mine.items():
            now = newest.get(run)
            if not task.cancelled and (now is None or now.number <= task.before):
                # it has not begun: where there is no room it never would, and see the file
                task.cancelled = True
                self._cluster.ray.cancel(task.reference)

    def _one_ends(self, seconds: float) -> bool:
        if references := [task.reference for task in self._mine.values()]:
            return bool(self._cluster.ray.wait(references, num_returns=1, timeout=seconds)[0])
        time.sleep(seconds)
        return False

    def _close(self) -> None:
        self._cluster.close()
        with suppress(OSError):
            self._stops_file.unlink()


def connected(address: str | None, resources: Resources) -> RayCluster:
    """The cluster at an address, or one of this machine alone, for runs with these resources.

    Raises:
        ConfigError: there is no such cluster, or a cluster of this machine alone has no room for a run.
    """
    wanted = needed(resources)
    # a cluster of our own offers what the command line asks for
    cluster = RayCluster(address, resources["jobs"] * max(int(wanted["cpus"]), 1) or None)
    if not cluster.has_room(**wanted):
        asked = ", ".join(f"{amount:g} {name}" for name, amount in wanted.items() if amount)
        if cluster.own:
            cluster.close()
            raise ConfigError(f"resources: this machine has no room for a run: {asked}.")
        print(f"No machine of the cluster has room for a run ({asked}): they wait until one joins.", file=sys.stderr)
    return cluster


def needed(resources: Resources) -> dict[str, float]:
    """What a suite's resources ask of Ray for a run: CPUs, GPUs, bytes of memory."""
    cpus = cores_asked_for(resources)
    return {"cpus": cpus, "gpus": resources["gpus"] or 0, "memory": int(resources["memory"] * 2**30)}
