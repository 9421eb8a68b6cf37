"""Does a run survive faults?

python benchmarks/soak.py [--minutes 20] [--pause 8] [--seed 1] [--folder DIR]

Trains QMIX on Skirmish's 3m, in two environment processes, into a small disk (a tmpfs of 64 MB; where none can be
mounted, an ordinary folder, and the disk is never full). Every few seconds a random fault follows:

- an environment process is killed, or suspended (it then hangs)
- the whole run is killed (SIGKILL) or interrupted (SIGTERM, Ctrl-C), and resumed with --resume=latest
- the run gets the signal to write a checkpoint (SIGUSR1)
- the disk is full for a few seconds
- the newest checkpoint is damaged while the run is down

When the time is up, the run continues to its end. Then its records are compared: the metric log, Sacred's info and
TensorBoard must have every statistic once for each step at which it was due. Prints the faults and the problems; the
exit code is 0 without problems.
"""

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
from soak_records import LOG_EVERY, Records

ROOT = Path(__file__).resolve().parents[1]
DISK = 64 * 2**20
SETTINGS = (
    "env_args.map_name=3m runner=parallel batch_size_run=2 batch_size=16 buffer_size=200 seed=1 "
    f"log_interval={LOG_EVERY} test_interval=2000 test_nepisode=4 runner_log_interval={LOG_EVERY} "
    "learner_log_interval=1000 checkpoint_interval=1000 checkpoint_minutes=0 use_tensorboard=True worker_timeout=20 "
    "max_worker_restarts=1000000 t_max=1000000000"
).split()
EVENTS = {
    "environment process killed": 4,
    "environment process hangs": 1,
    "run killed": 3,
    "SIGTERM": 2,
    "Ctrl-C": 1,
    "SIGUSR1": 2,
    "disk full": 2,
    "run killed, its newest checkpoint damaged": 1,
}


class Soak:
    """One run, its faults, and the count of each."""

    def __init__(self, folder: Path, disk_is_small: bool, seed: int, pause: float):
        self.folder, self.results, self.disk_is_small = folder, folder / "results", disk_is_small
        self.rng, self.pause = random.Random(seed), pause
        self.happened: Counter = Counter()
        self.problems: list[str] = []
        self.sessions = 0
        self._output = (folder.parent / "soak-output.txt").open("w+")
        self._start()

    def _start(self, *changes: str) -> None:
        self.sessions += 1
        self._offset = Path(self._output.name).stat().st_size
        resumed = any(self.results.glob("runs/*/checkpoints/[0-9]*/manifest.json"))
        words = ["--config=qmix_smac", "--env-config=skirmish", "with", *SETTINGS, f"local_results_path={self.results}"]
        if resumed:
            words = ["--resume=latest", "with", f"local_results_path={self.results}", *changes]
        elif self.results.exists():  # killed before its first checkpoint: restart it
            shutil.rmtree(self.results)
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "src" / "main.py"), *words],
            stdout=self._output,
            stderr=subprocess.STDOUT,
            cwd=self.folder,
            # started in a shell's background it would ignore Ctrl-C
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def _trains(self) -> bool:
        """Whether this session has started to train."""
        return "Beginning training" in self._said()

    def _said(self) -> str:
        """The output of this session."""
        with open(self._output.name, errors="replace") as file:
            file.seek(self._offset)
            return file.read()

    def play(self, seconds: float) -> None:
        """Let things happen for so long, once the run trains."""
        while self.process.poll() is None and not self._trains():
            self._sleep(0.2)
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            self._sleep(self.rng.uniform(self.pause / 8, self.pause))
            if self.process.poll() is not None:
                self._ended_by_itself()
                continue
            if not self._trains():  # a run that never starts tests nothing
                continue
            events = [event for event in EVENTS if self.disk_is_small or event != "disk full"]
            event = self.rng.choices(events, [EVENTS[event] for event in events])[0]
            self.do(event)

    def do(self, event: str) -> None:
        """Let one of `EVENTS` happen."""
        self.happened[event] += 1
        print(f"{time.strftime('%H:%M:%S')} {event}", flush=True)
        if event.startswith("environment process"):
            # the other children are Python's own
            workers = [p for p in self._children() if "spawn_main" in _command(p)]
            if workers:
                with suppress(psutil.Error):
                    self.rng.choice(workers).send_signal(signal.SIGSTOP if "hangs" in event else signal.SIGKILL)
        elif event == "disk full":
            self._fill_the_disk(self.rng.uniform(self.pause / 8, self.pause))
        elif event == "SIGUSR1":
            self.process.send_signal(signal.SIGUSR1)
        elif event.startswith("run killed"):
            self._end(signal.SIGKILL, -signal.SIGKILL)
            if event.endswith("damaged"):
                self._damage()
            self._start()
        else:
            number = {"SIGTERM": signal.SIGTERM, "Ctrl-C": signal.SIGINT}[event]
            self._end(number, 128 + number)
            self._start()

    def _children(self) -> list[psutil.Process]:
        with suppress(psutil.Error):
            return psutil.Process(self.process.pid).children(recursive=True)
        return []

    def _end(self, number: int, code: int) -> None:
        """Send a signal and see that the run ends as it should, and leaves no process behind."""
        children = self._children()
        self.process.send_signal(number)
        try:
            found = self.process.wait(90)
        except subprocess.TimeoutExpired:
            self.problems.append(f"signal {number}: the run did not end within 90 seconds")
            self.process.kill()
            self.process.wait()
            return
        if found != code:
            self.problems.append(f"signal {number}: exit code {found} instead of {code}\n{self._tail()}")
        _, left = psutil.wait_procs(children, timeout=20)
        if left:
            self.problems.append(f"signal {number}: left behind {[p.pid for p in left]}")

    def _fill_the_disk(self, seconds: float) -> None:
        ballast = self.folder / "ballast"
        with suppress(OSError), ballast.open("wb") as file:
            while True:
                file.write(b"x" * 65536)
                file.flush()
        self._sleep(seconds)
        ballast.unlink(missing_ok=True)

    def _damage(self) -> None:
        """Cut the last bytes off a file of the newest of several checkpoints."""
        folders = [path.parent for path in self.results.glob("runs/*/checkpoints/[0-9]*/manifest.json")]
        folders.sort(key=lambda path: json.loads((path / "manifest.json").read_text())["number"])
        if len(folders) > 1:
            own = [path for path in folders[-1].iterdir() if path.stat().st_nlink == 1]
            victim = self.rng.choice(own)
            victim.write_bytes(victim.read_bytes()[:-1])

    def _ended_by_itself(self) -> None:
        """On a disk that stays full a run stops cleanly; anything else is a fault."""
        self.happened["stopped by itself"] += 1
        tail = self._tail()
        if self.process.returncode != 1 or "No checkpoint could be written" not in tail:
            self.problems.append(f"the run ended by itself with exit code {self.process.returncode}\n{tail}")
        self._start()

    def _tail(self) -> str:
        return self._said()[-1500:]

    def _sleep(self, seconds: float) -> None:
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)

    def finish(self) -> None:
        """Stop the run and let it come to its end a little later."""
        while self.process.poll() is None and not self._trains():
            self._sleep(0.2)
        if self.process.poll() is None:
            self._end(signal.SIGTERM, 128 + signal.SIGTERM)
        steps = [int(path.name) for path in self.results.glob("runs/*/checkpoints/[0-9]*")]
        self._start(f"t_max={max(steps) + 1000}")
        if self.process.wait(300) != 0:
            self.problems.append(f"the last session ended with exit code {self.process.returncode}\n{self._tail()}")

    def check(self) -> None:
        """Compare the records."""
        records = Records(self.results)
        self.problems += records.problems
        self.steps, self.restarts = records.steps, records.restarts


def _command(process: psutil.Process) -> str:
    with suppress(psutil.Error):  # it has just ended
        return " ".join(process.cmdline())
    return ""


@contextmanager
def small_disk(parent: Path):
    """A folder on a separate disk; yields whether it is one."""
    parent.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(parent)]
    try:
        mounted = subprocess.run(command, capture_output=True).returncode == 0
    except OSError:
        mounted = False
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(parent)], check=False)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=20.0, help="with faults (default 20)")
    parser.add_argument("--pause", type=float, default=8.0, help="most seconds between two events (default 8)")
    parser.add_argument("--seed", type=int, default=1, help="of the faults (default 1)")
    parser.add_argument("--folder", default=None, help="where to work (default: a temporary folder)")
    arguments = parser.parse_args()
    work = Path(arguments.folder or tempfile.mkdtemp(prefix="soak-"))
    with small_disk(work / "disk") as mounted:
        soak = Soak(work / "disk", mounted, arguments.seed, arguments.pause)
        try:
            soak.play(60 * arguments.minutes)
            soak.finish()
            soak.check()
        finally:
            with suppress(OSError):
                soak.process.kill()
        print(f"\n{soak.steps} steps in {soak.sessions} sessions; environments were re-created {soak.restarts} times")
    for event, count in soak.happened.most_common():
        print(f"{count:5} x {event}")
    if not mounted:
        print("      No small disk could be mounted here: the disk was never full.")
    print(
        "\n".join(["Problems:", *soak.problems]) if soak.problems else "Nothing is missing, and nothing is there twice."
    )
    if arguments.folder is None and not soak.problems:
        shutil.rmtree(work, ignore_errors=True)
    return 1 if soak.problems else 0


if __name__ == "__main__":
    sys.exit(main())
