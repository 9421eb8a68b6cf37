"""SLURM: one array job for a suite, each of whose tasks keeps one run, or several on one card.

The array is submitted once and its tasks are listed in a file, so task k has the same runs whenever SLURM starts it:
one, or as many as share a card. On SIGTERM, before the time is up or when the job is preempted, the runs save, and
their task is queued again. State stays in the suite's folder: what the queue forgets, the next submission finds.
"""

import json
import math
import os
import re
import shlex
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from suites.launch.claims import Claims
from suites.launch.keeper import PASSED_ON
from suites.launch.one_run import do_run
from suites.plan.resources import cores_asked_for, runs_of_card, thread_variables
from suites.state.state import DONE, FAILED, LOST, RUNNING, STOPPED, Attempt, SuiteFolder, SuiteRun
from utils.errors import MusterError
from utils.files.regular_files import read_regular
from utils.files.whole_files import write_whole
from utils.plain_values import counted, escaped

JOBS = "slurm"
# seconds' notice before the time is up
NOTICE = 120
# seconds that a command of SLURM's may take
PATIENCE = 60.0
_LARGEST = 2**24
_NUMBER = re.compile(r"(\d+)(;[\w.-]+)?\s*")


def unfinished(
    folder: SuiteFolder, runs: list[SuiteRun], claims: Claims, retry_failed: bool
) -> tuple[list[str], dict[str, int]]:
    """The runs that a new array has to do: all but those that are done, failed, under way or in the queue.

    Returns:
        their ids, and the numbers of the failed attempts among them.
    """
    newest, queued = folder.newest(), _queued(folder)
    wanted, failed = [], {}
    for run in runs:
        attempt = newest.get(run.id)
        state = attempt.state if attempt else ""
        if state == DONE or run.id in queued or (state == RUNNING and not claims.is_over(attempt)):
            continue
        if state == FAILED:
            if not retry_failed:
                continue
            failed[run.id] = attempt.number
        wanted.append(run.id)
    return wanted, failed


def submit(
    folder: SuiteFolder, wanted: list[str], failed: Mapping[str, int], resources: Mapping[str, Any], program: list[str],
    lease: float,
) -> str:  # fmt: skip
    """Submit one array for these runs and return the job's number.

    Args:
        program: the command of a task, to which the suite's place and the number of the array are added.
        lease: seconds.

    Raises:
        MusterError: sbatch is missing, or refuses the job.
    """
    (folder.path / JOBS).mkdir(exist_ok=True, mode=0o700)
    number = _next_number(folder)
    script, text = folder.path / JOBS / f"{number}.sh", script_of(folder, len(wanted), resources, program)
    content = {"runs": wanted, "failed": dict(failed), "lease": lease, "losses": resources["losses"]}
    content["each"] = runs_of_card(resources)
    write_whole(str(_list(folder, number)), json.dumps(content).encode())
    write_whole(str(script), text.encode())
    match = _NUMBER.fullmatch(_called(["sbatch", "--parsable", str(script)]))
    if match is None:
        raise MusterError("sbatch did not print the number of the job.")
    write_whole(str(_list(folder, number)), json.dumps({**content, "job": match[1]}).encode())
    return match[1]


def script_of(folder: SuiteFolder, count: int, resources: Mapping[str, Any], program: list[str]) -> str:
    """The script of the next array.

    Args:
        count: how many runs it has.
        program: as for `submit`.
    """
    number, each, cores = _next_number(folder), runs_of_card(resources), cores_asked_for(resources)
    hours, memory, gpus = resources["hours"], resources["memory"], resources["gpus"]
    at_a_time = f"%{math.ceil(resources['jobs'] / each)}" if resources["jobs"] else ""
    options = [
        f"--job-name=muster-{folder.name}",
        f"--array=0-{math.ceil(count / each) - 1}{at_a_time}",
        f"--cpus-per-task={each * cores}",
        *([f"--time={math.ceil(60 * hours)}"] if hours else []),
        *([f"--mem={math.ceil(1024 * memory * each)}M"] if memory else []),
        *([f"--gpus={math.ceil(gpus)}"] if gpus else []),
        "--requeue",
        "--open-mode=append",
        f"--signal=B:TERM@{NOTICE}",
        f"--output={folder.path / JOBS}/{number}-%a.out",
        *resources["slurm"],
    ]
    lines = [f"#SBATCH {option}" for option in options]
    variables = [f"export {key}={value}" for key, value in thread_variables(resources["threads"], cores).items()]
    if gpus == 0:
        variables.append("export CUDA_VISIBLE_DEVICES=")
    task = shlex.join([*program, str(folder.results), folder.name, str(number)])
    # the shell is replaced, so that the signal reaches the task
    run = " ".join(filter(None, ["exec", resources["inside"], task, "$SLURM_ARRAY_TASK_ID"]))
    place = f"cd {shlex.quote(os.getcwd())} || exit 1"
    return "\n".join(["#!/bin/bash", *lines, "", *variables, place, *resources["shell"], run, ""])


def _next_number(folder: SuiteFolder) -> int:
    numbers = (int(path.stem) for path in (folder.path / JOBS).glob("*.json") if path.stem.isdigit())
    return 1 + max(numbers, default=0)


def queue(folder: SuiteFolder) -> list[str]:
    """What SLURM says of a suite's jobs, a line for each that it still has: its number, states, and why tasks wait."""
    said = []
    for _, content in _arrays(folder):
        if not isinstance(job := content.get("job"), str):
            continue
        try:
            tasks = _asked(job, "%T %r")
        except MusterError as error:
            return [*said, f"SLURM job {job}: {error}"]
        states: Counter[str] = Counter()
        for state, _, reason in (task.partition(" ") for task in tasks):
            waits = state == "PENDING" and reason and reason != "None"
            states[f"{state.lower()} ({reason})" if waits else state.lower()] += 1
        if states:
            each = f", {content['each']} runs each" if content.get("each", 1) > 1 else ""
            told = ", ".join(f"{count} {state}" for state, count in states.items())
            said.append(f"SLURM job {job}: {counted(states.total(), 'task')}{each}: {escaped(told)}")
    return said


def cancel_pending(folder: SuiteFolder) -> list[str]:
    """Cancel the tasks of a suite that have not begun, and return their jobs; those that run see the mark of the stop.

    Raises:
        MusterError: scancel is missing or fails.
    """
    jobs = [job for _, content in _arrays(folder) if isinstance(job := content.get("job"), str) and _tasks(job)]
    for job in jobs:
        _called(["scancel", "--state=PENDING", job])
    return jobs


def run_task(
    results: Path,
    name: str,
    array: int,
    index: int,
    program: list[str],
    is_current: Callable[[SuiteRun], bool] = lambda run: True,
) -> list[Attempt]:
    """Be one task of an array: claim its runs and keep them, each in a process of its own if there are several.

    Args:
        program: the command of main.py.
        is_current: whether a run would still have the config that it was frozen with.

    Returns:
        the attempts as they ended; those of runs for which there was nothing to do are missing.

    Raises:
        MusterError: the config of a single run has changed since the suite was submitted.
    """
    folder = SuiteFolder(results, name)
    content = json.loads(read_regular(_list(folder, array), _LARGEST))
    runs = {run.id: run for run in folder.runs()}
    each = content.get("each", 1)
    wanted = [runs[run] for run in content["runs"][index * each : (index + 1) * each]]
    claims = Claims(folder, content["lease"], content["losses"])
    launcher = f"slurm {os.environ.get('SLURM_JOB_ID', '')}"

    def do(run: SuiteRun) -> Attempt | None:
        # SLURM starts a task again after its node has failed, which the lease has not seen yet
        return do_run(folder, run, claims, launcher, program, content["failed"].get(run.id), is_current, patient=True)

    if len(wanted) == 1:
        ended = [attempt for run in wanted if (attempt := do(run)) is not None]
    else:
        ended = _side_by_side(folder, wanted, do)
    if any(attempt.state in (STOPPED, LOST) for attempt in ended) and not folder.stop.exists():
        _queue_again()
    return ended


def _side_by_side(folder: SuiteFolder, runs: list[SuiteRun], do: Callable[[SuiteRun], Attempt | None]) -> list[Attempt]:
    """Keep runs in processes of their own, to which the signals of this one are passed on."""
    before, keepers, signals = folder.newest(), [], (signal.SIGTERM, signal.SIGINT)

    def pass_on(*_: Any) -> None:
        for pid in keepers:
            with suppress(ProcessLookupError):
                os.kill(pid, PASSED_ON)

    # none comes between a keeper's start and the note of its number
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    handlers = {signum: signal.signal(signum, pass_on) for signum in signals}
    for run in runs:
        if (pid := os.fork()) == 0:
            _be_keeper(handlers, run, do)
        keepers.append(pid)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
    for pid in list(keepers):
        os.waitpid(pid, 0)
        keepers.remove(pid)
    now = folder.newest()
    return [now[run.id] for run in runs if run.id in now and now[run.id] != before.get(run.id)]


def _be_keeper(handlers: Mapping[int, Any], run: SuiteRun, do: Callable[[SuiteRun], Any]) -> NoReturn:
    code = 1
    try:
        for signum, handler in handlers.items():
            signal.signal(signum, handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, handlers)
        do(run)
        code = 0
    except MusterError as error:
        print(f"stopped: {error}", file=sys.stderr, flush=True)
    finally:
        os._exit(code)


def _queue_again() -> None:
    """Ask for another turn of this task; where the site does not allow that, the next submission has the run."""
    job, task = os.environ.get("SLURM_ARRAY_JOB_ID"), os.environ.get("SLURM_ARRAY_TASK_ID")
    with suppress(MusterError):
        _called(["scontrol", "requeue", f"{job}_{task}"])


def _list(folder: SuiteFolder, number: int) -> Path:
    return folder.path / JOBS / f"{number}.json"


def _arrays(folder: SuiteFolder) -> list[tuple[int, dict[str, Any]]]:
    found = []
    for path in (folder.path / JOBS).glob("*.json"):
        with suppress(OSError, ValueError):
            found.append((int(path.stem), json.loads(read_regular(path, _LARGEST))))
    return sorted(found, key=lambda one: one[0])


def _queued(folder: SuiteFolder) -> set[str]:
    """The runs whose tasks SLURM still has."""
    return {
        content["runs"][index]
        for _, content in _arrays(folder)
        if isinstance(job := content.get("job"), str)
        for task in _tasks(job)
        for index in range(task * content.get("each", 1), (task + 1) * content.get("each", 1))
        if index < len(content["runs"])
    }


def _tasks(job: str) -> set[int]:
    """The tasks of an array that are pending or running."""
    return {int(line) for line in map(str.strip, _asked(job, "%K")) if line.isdigit()}


def _asked(job: str, form: str) -> list[str]:
    """A line for each task of an array that is pending or running; none if SLURM has forgotten the job."""
    try:
        return _called(["squeue", "--noheader", "--array", f"--format={form}", f"--jobs={job}"]).splitlines()
    except MusterError as error:
        if "nvalid job id" in str(error):
            return []
        raise


def _called(command: list[str]) -> str:
    """What one of SLURM's commands prints.

    Raises:
        MusterError: it is missing, fails or does not end.
    """
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        raise MusterError(f"{command[0]} was not found: --launcher=slurm needs SLURM's commands.") from None
    except subprocess.TimeoutExpired:
        raise MusterError(f"{command[0]} did not answer for {PATIENCE:g} seconds.") from None
    if done.returncode:
        raise MusterError(f"{command[0]} failed: {escaped(done.stderr.strip()[-500:])}")
    return done.stdout
