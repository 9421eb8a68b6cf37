"""`suite.py estimate`, and what `suite.py run` says of the time that it will take."""

import argparse
import os
import platform
import sys
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

from suites.command.chosen import chosen
from suites.command.hints import estimate_command
from suites.command.processes import fork_server, require_fork
from suites.command.runs import checked_suite, config_of, environment_configs
from suites.command.status import Column, lines_of
from suites.estimates.forecast import Forecast, forecast
from suites.estimates.short_runs import START, ShortRun, Watch, affordable, measured, short_run, to_measure
from suites.estimates.speeds import Speed, keep_speeds, known_speeds, words_of_speed
from suites.launch.launcher import Work
from suites.launch.leases import Leases
from suites.launch.local import LocalLauncher
from suites.plan.manifest import write_manifest
from suites.plan.resources import Machine, Resources, thread_variables
from suites.plan.suite_file import SuiteFile, read_suite, suite_path
from suites.state.runs import FAILED, RUNNING, SuiteRun
from suites.state.state import Attempt, SuiteFolder
from suites.state.table import last_line, live
from utils.console import fitted, terminal_width
from utils.errors import ConfigError
from utils.plain_values import counted
from utils.processes.stop_signals import Interrupted
from utils.timehelper import about


def estimate(options: argparse.Namespace) -> None:
    """Measure short trainings of the settings whose speed is not known, and say how long the suite will take.

    Raises:
        ConfigError: the suite is refused, or this machine has no room for its runs.
        Interrupted: SIGINT or SIGTERM; what was measured until then is kept.
    """
    suite = read_suite(suite_path(options.suite))
    require_fork("estimate")
    resources = {**suite.resources, "jobs": options.jobs or suite.resources["jobs"]}
    machine = Machine(resources)
    if not machine.has_room():
        raise ConfigError(f"{suite.path}: resources.gpus={resources['gpus']:g}: this machine has too few GPUs.")
    runs = chosen(suite, checked_suite(suite), options.only)
    folder = SuiteFolder(options.results.absolute(), suite.name)
    wanted = to_measure(runs, known_speeds(folder.results), options.again)
    if wanted:
        _measure(suite, wanted, machine, resources, options, folder.results)
    found = _forecast(folder, suite, runs, machine)
    print("\n".join(_table(runs, found)), end="\n\n")
    print(fitted(found.text(estimate_command(options)), terminal_width(sys.stdout)))


def forecast_text(
    folder: SuiteFolder, suite: SuiteFile, runs: list[SuiteRun], resources: Resources, options: argparse.Namespace
) -> str:
    """How long a suite will take on this machine, as far as it is known. `options`: of the command line."""
    return _forecast(folder, suite, runs, Machine(resources)).text(estimate_command(options))


def _forecast(folder: SuiteFolder, suite: SuiteFile, runs: list[SuiteRun], machine: Machine) -> Forecast:
    tests: dict[tuple, int] = {}

    def tests_of(run: SuiteRun) -> int:
        key = tuple(words_of_speed(run)), run.t_max
        if key not in tests:
            config = config_of(run)
            tests[key] = run.t_max // config["test_interval"] + 2 if config["test_nepisode"] else 0
        return tests[key]

    if suite.learning:  # its trials are not known beforehand, and take what one of them does
        others = [replace(run, id=f"{run.id}-{trial}") for trial in range(1, suite.trials) for run in runs]
        runs = [*runs, *others]
    newest = live(folder, folder.newest())
    return forecast(runs, newest, known_speeds(folder.results), machine.at_once(), tests_of)


def _measure(
    suite: SuiteFile,
    wanted: list[SuiteRun],
    machine: Machine,
    resources: Resources,
    options: argparse.Namespace,
    results: Path,
) -> None:
    """Run short trainings, as many at a time as the suite's runs, on the cores and cards that these would have."""
    count, seconds = affordable(len(wanted), machine.at_once(), 60 * options.minutes)
    left = f" (of {len(wanted)}; --minutes measures more)" if count < len(wanted) else ""
    took = about(count * (seconds + START) / machine.at_once())
    print(f"Measuring {counted(count, 'setting')}{left}, {about(seconds)} of training each: about {took}.", flush=True)
    speeds: list[Speed] = []
    with tempfile.TemporaryDirectory(prefix="muster-estimate-", ignore_cleanup_errors=True) as place:
        shorts = [short_run(run, i, seconds, config_of(run), Path(place)) for i, run in enumerate(wanted[:count])]
        by_id = {one.short.id: one for one in shorts}
        folder = SuiteFolder(Path(place), suite.name)
        write_manifest(folder, replace(suite, search=None), [one.short for one in shorts])
        watch = Watch(folder.results, seconds)

        def report(attempt: Attempt) -> None:
            if attempt.state != RUNNING and (speed := _told(folder, by_id[attempt.run], attempt)) is not None:
                speeds.append(speed)

        leases = Leases(folder, losses=resources["losses"])
        work = Work(folder, [one.short for one in shorts], leases, report, watch.look)
        variables = thread_variables(resources["threads"], machine.cores_each())
        start = partial(fork_server, environment_configs(suite), False, variables)
        outcome = LocalLauncher(work, machine, start).run()
    keep_speeds(results, speeds)
    if outcome.signum:
        raise Interrupted(outcome.signum, f"Stopped; {counted(len(speeds), 'setting')} measured.")
    if hasattr(os, "getloadavg") and (load := os.getloadavg()[0]) > len(machine.cores) + 0.5:
        print(f"note: this machine was busy with other work, too (load {load:.1f} on {len(machine.cores)} cores).")


def _told(folder: SuiteFolder, one: ShortRun, attempt: Attempt) -> Speed | None:
    """Say what a short run has come to."""
    name = f"{one.whole.algorithm}, {one.whole.map or one.whole.environment}"
    speed = measured(folder.results, one, attempt, platform.node())
    if attempt.state == FAILED:
        print(f"{name}: failed: {last_line(attempt.error)}", file=sys.stderr, flush=True)
    elif speed is None:
        print(f"{name}: no updates in this time", flush=True)
    else:
        print(f"{name}: {1 / speed.step:,.0f} steps/s, a test takes {speed.test:.1f} s", flush=True)
    return speed


def _table(runs: list[SuiteRun], found: Forecast) -> list[str]:
    """A line for each algorithm and map: how many runs are to come, their speed, and how long each takes."""
    rows: dict[tuple[str, str], list[SuiteRun]] = {}
    for run in runs:
        if run.id in found.durations:
            rows.setdefault((run.algorithm, run.map or run.environment), []).append(run)
    known = {place: found.durations[group[0].id] for place, group in rows.items()}
    columns = [
        Column("algorithm", [algorithm for algorithm, _ in rows], text=True),
        Column("map", [name for _, name in rows], text=True),
        Column("runs", [str(len(group)) for group in rows.values()]),
        Column("steps/s", ["" if one is None else f"{1 / one.step:,.0f}" for one in known.values()]),
        Column("each", ["" if one is None else about(one.seconds) for one in known.values()]),
        Column("known by", ["nothing" if one is None else one.how for one in known.values()], text=True),
    ]
    return lines_of(columns, terminal_width(sys.stdout))
