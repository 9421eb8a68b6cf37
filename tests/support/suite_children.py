"""Suites whose runs are small pretended ones, which take no second: they write what real ones do, and obey signals."""

import hashlib
import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

from suites.launch import launcher as launchers
from suites.launch import supervisor
from suites.launch.fork_server import ForkServer, serve
from suites.launch.launcher import Work
from suites.launch.leases import Leases
from suites.launch.local import LocalLauncher
from suites.launch.tasks import ray_task, slurm_task
from suites.plan.manifest import write_manifest
from suites.plan.resources import Machine
from suites.plan.search import read_search
from suites.plan.suite_file import read_suite
from suites.state.runs import SuiteRun
from suites.state.state import SuiteFolder
from suites.state.trials import SearchPlan
from utils.files.whole_files import write_whole

# where the pretended runs of a search do best
BEST_RATE = 0.003
RESOURCES = {"jobs": 2, "cores": 0, "gpus": None}
SAVES = 5
# seconds that a run waits to be stopped
HELD = 60.0


def runs_of(count, **options):
    """Runs that take `steps` steps of `pause` seconds and may `fail` at a step, or hang."""
    options = {"steps": 20, "pause": 0.002, "fail": 0, **options}
    words = [f"{key}={value}" for key, value in options.items()]
    return [
        SuiteRun(f"run-{i}", "fake", "none", "", i, {}, options["steps"], [*words, f"seed={i}"]) for i in range(count)
    ]


def folder_in(results, name="mine"):
    folder = SuiteFolder(results, name)
    folder.attempts.mkdir(parents=True, exist_ok=True)
    folder.output("").parent.mkdir(exist_ok=True)
    return folder


def write_manifest_of(folder, runs, text="{algorithms: qmix, environments: two_step}"):
    """Write down the runs of a suite, as `suite.py run` does before it starts any."""
    path = folder.path.parent / f"{folder.path.name}.yaml"
    path.write_text(text)
    write_manifest(folder, read_suite(path), runs)


def searched(results, search, name="mine", runs_per_trial=1, said=None, held=(), **options):
    """A search of pretended runs, whose tests come to -(log10(lr / BEST_RATE))^2 of the trial's rate.

    Args:
        search: as in a suite's file.
        said: a list to which its lines are added.
        held: trials whose runs wait to be stopped once they have taken three quarters of their steps.

    Returns:
        the suite's folder, and the searcher.
    """
    from suites.search.searcher import Searcher  # with NumPy, which pretended runs do without

    read, folder = read_search(search), folder_in(results, name)
    options = {"steps": 20, "pause": 0.002, **options}
    plan = SearchPlan(read.options["method"], read.options["trials"], last=read.options["last"], folder="0" * 8)
    # whole: others read it while this launcher starts
    write_whole(str(folder.manifest), json.dumps({"version": 1, "runs": [], "search": asdict(plan)}).encode())
    folder.trial_folder(plan).path.mkdir(parents=True, exist_ok=True)

    def make(trial, settings):
        hold = {"hold": options["steps"] * 3 // 4} if trial in held else {}
        words = [f"{key}={value}" for key, value in {**options, **settings, **hold}.items()]
        rate = hashlib.sha256(str(settings["lr"]).encode()).hexdigest()[:8]
        return [
            SuiteRun(f"fake+{trial}-s{i}-{rate}", f"fake+{trial}", "none", "", i, {"trial": trial}, options["steps"],
                     [*words, f"seed={i}"])
            for i in range(1, runs_per_trial + 1)
        ]  # fmt: skip

    retry_failed = options.pop("retry_failed", False)
    said = [] if said is None else said
    return folder, Searcher(folder, read, make, said.append, retry_failed)


def start():
    """A fork server of pretended runs."""
    source = Path(__file__).parents[2] / "src"
    path = os.pathsep.join([str(source), str(Path(__file__).parent)])
    return ForkServer([sys.executable, __file__], {"PYTHONPATH": path})


def launcher(
    folder, runs, seen=None, lease=300.0, losses=5, look=lambda newest: None, machine=None, searcher=None, **options
):
    """A launcher of pretended runs, which notes what it reports in the list `seen`."""
    leases = Leases(folder, lease, losses)
    report = (lambda attempt: None) if seen is None else seen.append
    work = Work(folder, runs, leases, report, look, **options)
    return LocalLauncher(work, machine or Machine(RESOURCES), start, searcher)


def trace(results, token):
    """What a pretended run computed, a number for each step."""
    return [int(line) for line in (results / "runs" / token / "trace").read_text().split()]


def undisturbed(run):
    """What a run computes that nothing disturbs."""
    numbers = [run.seed]
    for step in range(1, run.t_max + 1):
        numbers.append((numbers[-1] * 31 + step) % 10007)
    return numbers


def require_done(folder, runs, numbers=None):
    """That every run is done, by the attempts of these numbers, and has computed what undisturbed ones do."""
    newest = folder.newest()
    assert [newest[run.id].state for run in runs] == ["done"] * len(runs), newest
    assert numbers is None or [newest[run.id].number for run in runs] == numbers
    assert [trace(folder.results, newest[run.id].token) for run in runs] == [undisturbed(run) for run in runs]


def start_launcher(results, count, lease=300.0, losses=5, **options):
    """A launcher in a process of its own, in a session of its own."""
    return _process("launch", results, count, lease, losses, json.dumps(options))


def start_search(results, search, lease=300.0, **options):
    """A launcher of a search, one run at a time, in a process of its own."""
    return _process("search", results, json.dumps(search), lease, json.dumps(options))


def _process(*words):
    source = Path(__file__).parents[2] / "src"
    path = [str(source), str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    return subprocess.Popen([sys.executable, __file__, *map(str, words)], env=variables, stdout=subprocess.DEVNULL)


def _play(words):
    """A run: its n-th number follows from the one before, so a step that is left out or repeated shows."""
    told = []
    signal.signal(signal.SIGTERM, lambda *_: told.append(1))
    resumed = words[0].startswith("--resume=")
    options = dict(word.split("=", 1) for word in words if "=" in word)
    options = {"steps": options.get("t_max", 0), "pause": 0.001, "fail": 0, "hold": -1, **options}
    if resumed:
        place = Path(options["--resume"])
        manifests = sorted(int(path.name) for path in (place / "checkpoints").iterdir() if path.name.isdigit())
        state = json.loads((place / "checkpoints" / str(manifests[-1]) / "manifest.json").read_text())
    else:
        place = Path(options["local_results_path"].strip("'"), "runs", options["run_name"].strip("'"))
        place.mkdir(parents=True)
        state = {"options": options, "step": 0, "trace": [int(options["seed"])]}
    options = state["options"]
    while state["step"] < int(options["steps"]):
        held = time.monotonic() + HELD * (state["step"] == int(options["hold"]))
        while not told and time.monotonic() < held:
            time.sleep(0.01)
        time.sleep(float(options["pause"]))
        state["step"] += 1
        state["trace"].append((state["trace"][-1] * 31 + state["step"]) % 10007)
        if state["step"] == int(options["fail"]):
            print("error: a planted fault", file=sys.stderr)
            return 1
        if told or state["step"] % SAVES == 0:
            _save(place, state)
        if told:
            # as a real run: SLURM and the supervisor may both say it, and by the second time Python has put the
            # handlers back
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            return 143
    (place / "trace").write_text("\n".join(map(str, state["trace"])))
    (place / "done.json").write_text("{}")
    return 0


def _save(place, state):
    unfinished, whole = place / "checkpoints" / ".new", place / "checkpoints" / str(state["step"])
    unfinished.mkdir(parents=True, exist_ok=True)
    (unfinished / "manifest.json").write_text(json.dumps({**state, "t_env": state["step"]}))
    if not whole.exists():
        os.rename(unfinished, whole)
    new, options = not (place / "metrics.csv").exists(), state["options"]
    with open(place / "metrics.csv", "a") as log:
        log.write("t_env,episode,seconds,key,value\n" if new else "")
        log.write(f"{state['step']},1,{state['step'] / 10},loss,0.5\n")
        if "lr" in options:
            value = -(math.log10(float(options["lr"]) / BEST_RATE) ** 2)
            log.write(f"{state['step']},1,{state['step'] / 10},test_return_mean,{value}\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["launch"]:
        results, count, lease, losses, options = sys.argv[2:]
        made = launcher(
            folder_in(Path(results)), runs_of(int(count), **json.loads(options)), lease=float(lease), losses=int(losses)
        )
        made.run()
    elif sys.argv[1:2] == ["search"]:
        results, search, lease, options = sys.argv[2:]
        launchers.LOOK = 0.1
        folder, searcher = searched(Path(results), json.loads(search), **json.loads(options))
        one = Machine({**RESOURCES, "jobs": 1})
        launcher(folder, [], lease=float(lease), losses=1000, machine=one, searcher=searcher).run()
    elif sys.argv[1:2] == ["play"]:
        sys.exit(_play(sys.argv[2:]))
    elif sys.argv[1:2] == ["task"]:
        ended = slurm_task(sys.argv[2:], [sys.executable, __file__, "play"], lambda run: True)
        sys.exit(any(attempt.state == "failed" for attempt in ended))
    elif sys.argv[1:2] == ["keep"]:
        ray_task(sys.argv[2:], [sys.executable, __file__, "play"], lambda run: True)
    else:
        supervisor.LOOK = 0.1
        sys.exit(serve(_play, lambda: None))
