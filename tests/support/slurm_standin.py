"""SLURM without a cluster: its commands as programs that keep jobs in a folder, and a controller that starts tasks.

What it imitates: `sbatch --parsable SCRIPT` with `#SBATCH --array=0-N%K`, `squeue --array --format=F --jobs=J` with
%K, %T and %r in F, `scancel --state=PENDING J`, `scontrol requeue J_K`; preemption, time-outs, nodes that fail.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

PENDING, RUNNING = "PENDING", "RUNNING"


class Cluster:
    """A cluster whose queue lies in `folder`; `environment` makes its commands the ones that are found."""

    def __init__(self, folder):
        self._folder = folder
        (folder / "bin").mkdir(parents=True)
        for name in ("sbatch", "squeue", "scancel", "scontrol"):
            program = folder / "bin" / name
            program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{__file__}" {name} "{folder}" "$@"\n')
            program.chmod(0o755)
        self._processes = {}

    def environment(self):
        source = Path(__file__).parents[2] / "src"
        return {
            "PATH": f"{self._folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join([str(source), str(Path(__file__).parent)]),
        }

    def step(self):
        """What the controller does now and then: note tasks that have ended, and start those that may begin."""
        for (job, task), process in list(self._processes.items()):
            if process.poll() is not None:
                del self._processes[job, task]
                self._end(job, task)
        for path in self._folder.glob("*.job"):
            content = json.loads(path.read_text())
            for task, state in content["tasks"].items():
                running = sum(one == RUNNING for one in content["tasks"].values())
                if state == PENDING and running < content["at_a_time"]:
                    content["tasks"][task] = RUNNING
                    path.write_text(json.dumps(content))
                    self._start(path.stem, task, content["script"])

    def run(self, until=lambda: False, seconds=60):
        """Until no task is left, or `until` holds."""
        deadline = time.monotonic() + seconds
        while not until() and (self.tasks() or self._processes):
            assert time.monotonic() < deadline, self.tasks()
            self.step()
            time.sleep(0.01)

    def tasks(self):
        """(job, task) -> state of all that are in the queue."""
        jobs = {path.stem: json.loads(path.read_text())["tasks"] for path in self._folder.glob("*.job")}
        return {(job, task): state for job, tasks in jobs.items() for task, state in tasks.items()}

    def preempt(self, job, task, grace=30.0):
        """SIGTERM to every process of the task, after a while SIGKILL; then it is queued again."""
        self._signal(job, task, signal.SIGTERM)
        self._wait_or_kill(job, task, grace, again=True)

    def time_out(self, job, task, notice=30.0):
        """SIGTERM to the script alone (--signal=B:TERM), and later the end."""
        self._processes[job, task].send_signal(signal.SIGTERM)
        self._wait_or_kill(job, task, notice, again=False)

    def fail_node(self, job, task):
        """Everything is gone at once, and the task is queued again."""
        self._wait_or_kill(job, task, 0.0, again=True)

    def close(self):
        for (job, task), _ in list(self._processes.items()):
            self._signal(job, task, signal.SIGKILL)

    def _start(self, job, task, script):
        variables = {"SLURM_JOB_ID": f"{job}{task}", "SLURM_ARRAY_JOB_ID": job, "SLURM_ARRAY_TASK_ID": task}
        self._processes[job, task] = subprocess.Popen(
            ["bash", script],
            env={**os.environ, **self.environment(), **variables},
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _signal(self, job, task, signum):
        os.killpg(self._processes[job, task].pid, signum)

    def _wait_or_kill(self, job, task, seconds, again):
        process = self._processes[job, task]
        deadline = time.monotonic() + seconds
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        if process.poll() is None:
            self._signal(job, task, signal.SIGKILL)
            process.wait()
        del self._processes[job, task]
        self._end(job, task, again)

    def _end(self, job, task, again=False):
        mark, path = self._folder / f"{job}_{task}.requeue", self._folder / f"{job}.job"
        again = again or mark.exists()
        mark.unlink(missing_ok=True)
        content = json.loads(path.read_text())
        if again:
            content["tasks"][task] = PENDING
        else:
            content["tasks"].pop(task, None)
        path.write_text(json.dumps(content))


def _command(name, folder, words):
    if name == "sbatch":
        script = Path(words[-1])
        text = script.read_text()
        last, at_a_time = re.search(r"#SBATCH --array=0-(\d+)(?:%(\d+))?", text).groups()
        job = str(100 + len(list(folder.glob("*.job"))))
        tasks = {str(task): PENDING for task in range(int(last) + 1)}
        content = {"script": str(script), "tasks": tasks, "at_a_time": int(at_a_time or 1000)}
        (folder / f"{job}.job").write_text(json.dumps(content))
        print(job)
        return 0
    option = next((word for word in words if word.startswith("--jobs=")), None)
    job = option.partition("=")[2] if option else words[-1].partition("_")[0]
    path = folder / f"{job}.job"
    if not path.exists():
        print("slurm_load_jobs error: Invalid job id specified", file=sys.stderr)
        return 1
    content = json.loads(path.read_text())
    if name == "squeue":
        form = next(word for word in words if word.startswith("--format=")).partition("=")[2]
        for task, state in content["tasks"].items():
            reason = "Priority" if state == PENDING else "None"
            print(form.replace("%K", task).replace("%T", state).replace("%r", reason))
    elif name == "scancel":
        content["tasks"] = {task: state for task, state in content["tasks"].items() if state != PENDING}
        path.write_text(json.dumps(content))
    else:
        (folder / f"{words[-1]}.requeue").touch()
    return 0


if __name__ == "__main__":
    sys.exit(_command(sys.argv[1], Path(sys.argv[2]), sys.argv[3:]))
