"""`suite.py run --launcher=slurm`, and the tasks of its array: `src/suite.py task`, which the job's script calls."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from suites.command.hints import command
from suites.command.runs import is_current
from suites.command.starter import SRC
from suites.launch import slurm
from suites.launch.claims import Claims
from suites.state.state import DONE, FAILED, SuiteFolder, SuiteRun
from suites.state.table import last_line
from utils.errors import MusterError
from utils.plain_values import counted

PROGRAM = [sys.executable, str(SRC / "suite.py"), "task"]


def submit(
    folder: SuiteFolder, runs: list[SuiteRun], resources: Mapping[str, Any], options: argparse.Namespace
) -> None:
    """Submit what is to be done as one array.

    Raises:
        MusterError: SLURM is not there, or refuses the job.
    """
    if options.jobs:
        resources = {**resources, "jobs": options.jobs}
    claims = Claims(folder, options.lease, resources["losses"])
    wanted, failed = slurm.unfinished(folder, runs, claims, options.retry_failed)
    if not wanted:
        newest = folder.newest()
        done = sum(run.id in newest and newest[run.id].state == DONE for run in runs)
        others = "; others have failed or are in the queue" if done < len(runs) else ""
        print(f"Nothing to submit: {done} of {counted(len(runs), 'run')} done{others}.")
        return
    job = slurm.submit(folder, wanted, failed, resources, PROGRAM, options.lease)
    print(f"Job {job}: {counted(len(wanted), 'run')}. {command(folder, 'status')} shows them.")


def script(folder: SuiteFolder, runs: list[SuiteRun], resources: Mapping[str, Any], jobs: int) -> str:
    """The script that `submit` would give to sbatch for all these runs.

    Args:
        jobs: runs at a time; 0: as the suite says.
    """
    return slurm.script_of(folder, len(runs), {**resources, "jobs": jobs or resources["jobs"]}, PROGRAM)


def task(words: Sequence[str]) -> None:
    """Be one task.

    Raises:
        MusterError: a run of it has failed, or the config of its only one has changed since.
    """
    results, name, array, index = words
    program = [sys.executable, str(SRC / "main.py")]
    ended = slurm.run_task(Path(results), name, int(array), int(index), program, is_current)
    if failed := [attempt for attempt in ended if attempt.state == FAILED]:
        raise MusterError("\n".join(f"{one.run} has failed: {last_line(one.error)}" for one in failed))
