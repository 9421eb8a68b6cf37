"""Is every run of a suite done exactly once, whatever is killed?

python benchmarks/suite_chaos.py [--minutes 10] [--runs 40] [--steps 4000] [--compare 8] [--seed 1] [--folder DIR]

Two machines share a folder, and each has a launcher of one suite of short runs (QMIX on two_step), one run at a time.
A machine is a space of processes of its own (Linux, root: unshare), so that neither sees the other's processes; without
the right to make one, it is an ordinary process. Every few seconds one of these is

- killed: a launcher, a fork server or supervisor, a run, a whole machine with everything on it
- suspended for longer than a lease, and continued: a supervisor with its run, which the other machine has taken over
- interrupted: a run, by SIGTERM

and launchers and machines start again after a while. When the time is up, the suite is left to end. Then every run must
be done, by one attempt, and a sample of them must have logged the values that undisturbed runs log. Prints the events
and the problems; the exit code is 0 without problems.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from records.metric_rows import read_metric_log  # noqa: E402
from suites.state.runs import DONE, FAILED  # noqa: E402
from suites.state.state import SuiteFolder  # noqa: E402

LEASE = 8
SUITE = """
algorithms: qmix
environments: two_step
seeds: {runs}
t_max: {steps}
settings: {{test_nepisode: 2, use_cuda: False, checkpoint_interval: 300, test_interval: 1000, batch_size: 8}}
resources: {{jobs: 1, gpus: 0, losses: 1000}}
"""
EVENTS = {
    "run killed": 5,
    "run interrupted": 2,
    "supervisor or fork server killed": 3,
    "launcher killed": 3,
    "machine killed": 1,
    "supervisor and run suspended": 1,
}


class Machine:
    """A space of processes with a launcher in it, which starts again whenever it is killed."""

    def __init__(self, folder: Path, apart: bool):
        self._folder, self._apart, self._back = folder, apart, 0.0
        self.process = self._start()

    def _start(self) -> subprocess.Popen:
        alone = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"] if self._apart else []
        with open(self._folder / "launchers.log", "a") as log:
            command = [*alone, sys.executable, __file__, "--be-machine", str(self._folder)]
            return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    def inside(self) -> list[psutil.Process]:
        """Everything on it."""
        with suppress(psutil.Error):
            return psutil.Process(self.process.pid).children(recursive=True)
        return []

    def kill(self, rng: random.Random) -> None:
        inside = self.inside()
        self.process.kill()
        for process in inside:
            with suppress(psutil.Error):
                process.kill()
        self.process.wait()
        self._back = time.monotonic() + rng.uniform(0.5, 5)

    def look(self) -> bool:
        """Start it again if it is time to; whether it has ended in good order."""
        if self.process.poll() is None:
            return False
        if self.process.returncode == 0:
            return True
        if time.monotonic() >= self._back:
            self.process = self._start()
        return False


def be_machine(folder: Path) -> int:
    """The first process of a machine: a launcher, again and again until the suite has ended."""
    words = [sys.executable, str(ROOT / "src" / "suite.py"), "run", "chaos.yaml", f"--lease={LEASE}"]
    while True:
        launcher = subprocess.Popen(words, cwd=folder)
        while True:  # orphans come to the first process of a space, which has to wait for them
            pid, status = os.wait()
            if pid == launcher.pid:
                break
        code = os.waitstatus_to_exitcode(status)
        if code in (0, 2) or _has_ended(SuiteFolder(folder / "results", "chaos")):
            return 2 if code == 2 else 0
        time.sleep(random.uniform(0.2, 3))


def _has_ended(folder: SuiteFolder) -> bool:
    """Whether nothing is left to be done: runs that failed are not tried again, and are reported at the end."""
    if not folder.manifest.exists():  # the first launcher was killed at its start
        return False
    newest = folder.newest()
    return all(run.id in newest and newest[run.id].state in (DONE, FAILED) for run in folder.runs())


def disturb(machines: list[Machine], rng: random.Random) -> str:
    """One event; empty if nothing was there to be disturbed."""
    event = rng.choices(list(EVENTS), list(EVENTS.values()))[0]
    machine = rng.choice(machines)
    if event == "machine killed":
        machine.kill(rng)
        return event
    launchers, leaders, runs = [], [], []
    for process in machine.inside():
        with suppress(psutil.Error, ProcessLookupError):
            words = process.cmdline()
            if "serve" in words:
                (leaders if os.getsid(process.pid) == process.pid else runs).append(process)
            elif "run" in words:
                launchers.append(process)
    chosen = {"launcher killed": launchers, "supervisor or fork server killed": leaders}.get(event, runs)
    if not chosen:
        return ""
    victim = rng.choice(chosen)
    with suppress(psutil.Error):
        if event == "supervisor and run suspended":
            _suspend([victim.parent(), victim])
        else:
            victim.send_signal(signal.SIGTERM if event == "run interrupted" else signal.SIGKILL)
        return event
    return ""


def _suspend(processes: list[psutil.Process]) -> None:
    for process in processes:
        process.suspend()
    time.sleep(1.5 * LEASE)
    for process in processes:
        with suppress(psutil.Error):
            process.resume()


def problems_of(folder: SuiteFolder, compare: int, plain: Path) -> list[str]:
    """What is wrong with a suite that has ended."""
    found, newest = [], folder.newest()
    for run in folder.runs():
        attempts = [folder.attempt(run.id, number) for number in range(1, newest[run.id].number + 1)]
        states = [attempt.state for attempt in attempts]
        if states[-1] != DONE or states.count(DONE) != 1:
            found.append(f"{run.id}: {states} {attempts[-1].error}")
    for run in folder.runs()[:compare]:
        words = [f"local_results_path={plain}", f"run_name=plain{run.seed}"]
        subprocess.run([sys.executable, str(ROOT / "src" / "main.py"), *run.words, *words], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder.results)  # fmt: skip
        logs = [values(folder.results, newest[run.id].token), values(plain, f"plain{run.seed}")]
        if logs[0] != logs[1] or len(logs[0]) < 20:
            found.append(f"{run.id}: its {len(logs[0])} values are not the {len(logs[1])} of an undisturbed run")
    return found


def values(results: Path, token: str) -> list[tuple]:
    """What a run has logged, without the times."""
    rows = read_metric_log(results / "runs" / token / "metrics.csv")
    return [(row.t_env, row.episode, row.key, row.value) for row in rows]


def spaces_can_be_made() -> bool:
    """Whether this process may make spaces of processes."""
    command = ["unshare", "--pid", "--fork", "--mount-proc", "true"]
    return shutil.which("unshare") is not None and subprocess.run(command, capture_output=True).returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--compare", type=int, default=8, help="runs that are compared with undisturbed ones")
    parser.add_argument("--pause", type=float, default=4, help="seconds between events, on average")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--be-machine", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.be_machine:
        return be_machine(options.be_machine)
    place = options.folder or Path(tempfile.mkdtemp(prefix="suite-chaos-"))
    place.mkdir(parents=True, exist_ok=True)
    (place / "chaos.yaml").write_text(SUITE.format(runs=options.runs, steps=options.steps))
    rng, events, apart = random.Random(options.seed), Counter(), spaces_can_be_made()
    print(f"{options.runs} runs on two {'machines' if apart else 'launchers (no spaces of processes here)'}: {place}")
    machines = [Machine(place, apart), Machine(place, apart)]
    try:
        begun = time.monotonic()
        while time.monotonic() - begun < 60 * options.minutes:
            time.sleep(rng.expovariate(1 / options.pause))
            if [machine.look() for machine in machines] == [True, True]:
                break
            events[disturb(machines, rng)] += 1
        disturbed = time.monotonic() - begun
        while [machine.look() for machine in machines] != [True, True]:
            time.sleep(0.5)
    finally:
        for machine in machines:
            machine.kill(rng)
    folder = SuiteFolder(place / "results", "chaos")
    attempts = sum(attempt.number for attempt in folder.newest().values())
    print(f"Disturbed for {disturbed:.0f} s; done after {time.monotonic() - begun:.0f} s, in {attempts} attempts.")
    for event, count in events.most_common():
        print(f"{count:4} x {event or 'nothing to disturb'}")
    problems = problems_of(folder, options.compare, place / "plain")
    print("\n".join(problems) or "Every run is done exactly once, and the sample has the values of undisturbed runs.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
