"""SLURM: one array job for a suite, each of whose tasks (`suites.launch.tasks`) has one run, or several on one card.

The array is submitted once and its tasks are listed in a file, so task k has the same runs whenever SLURM starts it:
one, or as many as share a card. On SIGTERM, before the time is up or when the job is preempted, the runs save, and
their task is queued again. State stays in the suite's folder: what the queue forgets, the next submission finds.
"""

import json
import math
import os
import re
import shlex
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from suites.launch.leases import Leases
from suites.plan.resources import Resources, cores_asked_for, runs_of_card, task_variables
from suites.state.runs import DONE, FAILED, RUNNING, SuiteRun
from suites.state.state import SuiteFolder
from utils.errors import ConfigError, MusterError
from utils.files.regular_files import read_regular
from utils.files.whole_files import write_whole
from utils.plain_values import counted, escaped

JOBS = "slurm"
# seconds' notice before the time is up
NOTICE = 120
# seconds that a command of SLURM's may take
PATIENCE = 60.0
_LARGEST = 2**24
_ABSENT = "{} was not found: --launcher=slurm needs SLURM's commands."
_NUMBER = re.compile(r"(\d+)(;[\w.-]+)?\s*")


def require_commands() -> None:
    """Raises: ConfigError: this machine cannot submit jobs."""
    if shutil.which("sbatch") is None:
        raise ConfigError(
            f"{_ABSENT.format('sbatch')} Start it on a node that submits jobs; --dry-run shows the script anywhere."
        )


def unfinished(
    folder: SuiteFolder, runs: list[SuiteRun], leases: Leases, retry_failed: bool
) -> tuple[list[str], dict[str, int]]:
    """The ids of the runs that a new array has to do: all but those that are done, failed, under way or in the queue.

    And the numbers of the failed attempts among them.
    """
    newest, queued = folder.newest(), _queued(folder)
    wanted: list[str] = []
    failed: dict[str, int] = {}
    for run in runs:
        attempt = newest.get(run.id)
        if run.id in queued:
            continue
        if attempt is not None:
            under_way = attempt.state == RUNNING and not leases.is_over(attempt)
            if attempt.state == DONE or under_way or (attempt.state == FAILED and not retry_failed):
                continue
            if attempt.state == FAILED:
                failed[run.id] = attempt.number
        wanted.append(run.id)
    return wanted, failed


def submit(
    folder: SuiteFolder, wanted: list[str], failed: Mapping[str, int], resources: Resources, program: list[str],
    lease: float,
) -> str:  # fmt: skip
    """Submit one array for these runs and return the job's number.

    Args:
        failed: the numbers of the failed attempts among them.
        program: the command of a task, to which the suite's place and the number of the array are added.

    Raises:
        MusterError: sbatch is missing, or refuses the job.
    """
    jobs = folder.path / JOBS
    jobs.mkdir(exist_ok=True, mode=0o700)
    number = _next_number(folder)
    listed, script = str(jobs / f"{number}.json"), str(jobs / f"{number}.sh")
    text = script_of(folder, len(wanted), resources, program)
    content = {"runs": wanted, "failed": dict(failed), "lease": lease, "losses": resources["losses"]}
    content["each"] = runs_of_card(resources)
    write_whole(listed, json.dumps(content).encode())
    write_whole(script, text.encode())
    match = _NUMBER.fullmatch(_called(["sbatch", "--parsable", script]))
    if match is None:
        raise MusterError("sbatch did not print the number of the job.")
    write_whole(listed, json.dumps({**content, "job": match[1]}).encode())
    return match[1]


def script_of(folder: SuiteFolder, count: int, resources: Resources, program: list[str]) -> str:
    """The script of the next array, of `count` runs; `program`: as for `submit`."""
    number, each = _next_number(folder), runs_of_card(resources)
    hours, memory, gpus = resources["hours"], resources["memory"], resources["gpus"]
    at_a_time = f"%{math.ceil(resources['jobs'] / each)}" if resources["jobs"] else ""
    options = [
        f"--job-name=muster-{folder.name}",
        f"--array=0-{math.ceil(count / each) - 1}{at_a_time}",
        f"--cpus-per-task={each * cores_asked_for(resources)}",
        *([f"--time={math.ceil(60 * hours)}"] if hours else []),
        *([f"--mem={math.ceil(1024 * memory * each)}M"] if memory else []),
        *([f"--gpus={math.ceil(gpus)}"] if gpus else []),
        "--requeue",
        "--open-mode=append",
        f"--signal=B:TERM@{NOTICE}",
        f"--output={folder.path / JOBS}/{number}-%a.out",
        *resources["slurm"],
    ]
    task = shlex.join([*program, str(folder.results), folder.name, str(number)])
    lines = [
        "#!/bin/bash",
        *(f"#SBATCH {option}" for option in options),
        "",
        *(f"export {key}={value}" for key, value in task_variables(resources).items()),
        f"cd {shlex.quote(os.getcwd())} || exit 1",
        *resources["shell"],
        # the shell is replaced, so that the signal reaches the task
        " ".join(filter(None, ["exec", resources["inside"], task, "$SLURM_ARRAY_TASK_ID"])),
        "",
    ]
    return "\n".join(lines)


def queue(folder: SuiteFolder) -> list[str]:
    """What SLURM says of a suite's jobs, a line for each that it still has: its number, states, and why tasks wait."""
    lines: list[str] = []
    for content in _submitted(folder):
        job = content["job"]
        try:
            tasks = _asked(job, "%T %r")
        except MusterError as error:
            return [*lines, f"SLURM job {job}: {error}"]
        states: Counter[str] = Counter()
        for state, _, reason in (task.partition(" ") for task in tasks):
            waits = state == "PENDING" and reason and reason != "None"
            states[f"{state.lower()} ({reason})" if waits else state.lower()] += 1
        if states:
            each = f", {content['each']} runs each" if content.get("each", 1) > 1 else ""
            text = ", ".join(f"{count} {state}" for state, count in states.items())
            lines.append(f"SLURM job {job}: {counted(states.total(), 'task')}{each}: {escaped(text)}")
    return lines


def cancel_pending(folder: SuiteFolder) -> list[str]:
    """Cancel the tasks of a suite that have not begun, and return their jobs; the others see the mark of the stop."""
    jobs = [content["job"] for content in _submitted(folder) if _tasks(content["job"])]
    for job in jobs:
        _called(["scancel", "--state=PENDING", job])
    return jobs


def array(folder: SuiteFolder, number: int) -> dict[str, Any]:
    """What a submitted array is made of: its `runs`, how many `each` task has, the `failed` ones among them, ..."""
    return json.loads(read_regular(folder.path / JOBS / f"{number}.json", _LARGEST))


def queue_again() -> None:
    """Ask for another turn of this task; where the site does not allow that, the next submission has the run."""
    job, task = os.environ.get("SLURM_ARRAY_JOB_ID"), os.environ.get("SLURM_ARRAY_TASK_ID")
    with suppress(MusterError):
        _called(["scontrol", "requeue", f"{job}_{task}"])


def _numbers(folder: SuiteFolder) -> list[int]:
    return sorted(int(path.stem) for path in (folder.path / JOBS).glob("*.json") if path.stem.isdigit())


def _next_number(folder: SuiteFolder) -> int:
    return max(_numbers(folder), default=0) + 1


def _submitted(folder: SuiteFolder) -> list[dict[str, Any]]:
    """The arrays of a suite that SLURM has taken, in order."""
    found = []
    for number in _numbers(folder):
        with suppress(OSError, ValueError):
            content = array(folder, number)
            if isinstance(content.get("job"), str):
                found.append(content)
    return found


def _queued(folder: SuiteFolder) -> set[str]:
    """The runs whose tasks SLURM still has."""
    found: set[str] = set()
    for content in _submitted(folder):
        each = content.get("each", 1)
        for task in _tasks(content["job"]):
            found.update(content["runs"][task * each : (task + 1) * each])
    return found


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
    """What one of SLURM's commands prints; MusterError: it is missing, fails or does not end."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        raise MusterError(_ABSENT.format(command[0])) from None
    except subprocess.TimeoutExpired:
        raise MusterError(f"{command[0]} did not answer for {PATIENCE:g} seconds.") from None
    if done.returncode:
        raise MusterError(f"{command[0]} failed: {escaped(done.stderr.strip()[-500:])}")
    return done.stdout
