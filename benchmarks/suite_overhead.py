"""What does a suite cost beyond its runs?

python benchmarks/suite_overhead.py [--runs 100] [--jobs 2] [--seconds 1] [--starts 10] [--steps 250]

Runs a suite of runs that only sleep, for a second each, two at a time, and prints how much longer that takes than the
sleeping: leases, supervisors, forks, and the first start. Then a suite of as many real runs, which train for --steps
steps (about a second): by how much the command takes longer, until its last run has ended, than its runs, from the
lease of each to its end, divided by how many run at a time. Then real runs that train for two steps, forked from a
process that has imported everything, and as interpreters of their own: the time of each is a run's own start and end.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from suites.launch.fork_server import ForkServer, serve  # noqa: E402
from suites.launch.launcher import Work  # noqa: E402
from suites.launch.leases import Leases  # noqa: E402
from suites.launch.local import LocalLauncher  # noqa: E402
from suites.plan.resources import Machine  # noqa: E402
from suites.state.runs import DONE, SuiteRun  # noqa: E402
from suites.state.state import Attempt, SuiteFolder  # noqa: E402

SUITE = """
algorithms: qmix
environments: two_step
seeds: {runs}
t_max: {steps}
settings: {{test_nepisode: 1, use_cuda: False}}
resources: {{jobs: {jobs}, gpus: 0}}
"""


def sleeping(count: int, jobs: int, seconds: float) -> tuple[float, float]:
    """(seconds of the launcher, seconds of its process's processor) for runs that sleep."""
    with tempfile.TemporaryDirectory() as place:
        folder = SuiteFolder(place, "sleep")
        folder.attempts.mkdir(parents=True)
        folder.output("").parent.mkdir()
        runs = [SuiteRun(f"run-{i}", "sleep", "none", "", i, {}, 1, [str(seconds)]) for i in range(count)]
        machine = Machine({"jobs": jobs, "cores": 0, "gpus": None})
        start = lambda: ForkServer([sys.executable, __file__, "--serve"], {})  # noqa: E731
        launcher = LocalLauncher(Work(folder, runs, Leases(folder), lambda _: None, lambda _: None), machine, start)
        begun, used = time.perf_counter(), time.process_time()
        launcher.run()
        return time.perf_counter() - begun, time.process_time() - used


def real(count: int, jobs: int = 1, steps: int = 2, cold: bool = False) -> tuple[float, list[Attempt]]:
    """(seconds from the command to the end of its last run, the runs in the order of their starts) for real runs."""
    with tempfile.TemporaryDirectory() as place:
        Path(place, "starts.yaml").write_text(SUITE.format(runs=count, jobs=jobs, steps=steps))
        words = [sys.executable, str(ROOT / "src" / "suite.py"), "run", "starts.yaml", *(["--cold"] if cold else [])]
        begun = time.time()
        subprocess.run(words, cwd=place, check=True, stdout=subprocess.DEVNULL)
        newest = SuiteFolder(Path(place, "results"), "starts").newest().values()
        if [one.state for one in newest] != [DONE] * count:
            raise SystemExit("A run has failed.")
        return max(one.ended for one in newest) - begun, sorted(newest, key=lambda one: one.claimed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(lambda words: time.sleep(float(words[0])) or os._exit(0), lambda: None)
    taken, used = sleeping(options.runs, options.jobs, options.seconds)
    least = options.runs * options.seconds / options.jobs
    print(f"{options.runs} runs that sleep {options.seconds:g} s, {options.jobs} at a time: {taken:.1f} s, ", end="")
    print(f"{100 * (taken / least - 1):.1f} % more than the sleeping; {used:.1f} s of it on the launcher's processor")
    taken, runs = real(options.runs, options.jobs, options.steps)
    own = sum(one.ended - one.claimed for one in runs)
    print(f"{options.runs} real runs of {options.steps} steps: {taken:.1f} s, ", end="")
    print(f"{100 * (taken * options.jobs / own - 1):.1f} % more than the runs, of {own / len(runs):.2f} s each")
    for cold in (False, True) if options.starts else ():
        # without the first, before which the fork server imports
        seconds = sorted(one.ended - one.claimed for one in real(options.starts + 1, cold=cold)[1][1:])
        name = "an interpreter of its own" if cold else "forked from one that has imported everything"
        print(f"a run of two steps, {name}: median {seconds[len(seconds) // 2]:.2f} s, least {seconds[0]:.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
