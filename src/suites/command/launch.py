"""`suite.py run`: check a suite, freeze it, and start its runs."""

import argparse
import contextlib
import os
import signal
import sys
import time
from functools import partial

from browser.packages import REQUIREMENTS, missing
from suites.command.hints import command
from suites.command.progress import Progress
from suites.command.report import PACKAGES, PAGE, is_older, report
from suites.command.runs import checked_runs, checked_search, environment_configs, is_current, trial_runs
from suites.command.starter import starter
from suites.launch.claims import Claims
from suites.launch.launcher import Launcher, Outcome, Work
from suites.launch.local import LocalLauncher
from suites.plan.freezing import freeze
from suites.plan.metrics import doubt_about
from suites.plan.resources import Machine, thread_variables
from suites.plan.search import TPE
from suites.plan.suite_file import SuiteFile, read_suite, suite_path
from suites.search.searcher import Searcher
from suites.search.study import require_optuna
from suites.state.scores import trial_rows, trials_summary
from suites.state.state import DONE, FAILED, SuiteFolder, SuiteRun
from suites.state.table import last_line, live
from suites.state.trials import FAILED as TRIAL_FAILED
from utils.config.renamed_keys import note_of_former_names
from utils.errors import ConfigError, MusterError
from utils.plain_values import counted
from utils.processes.stop_signals import Interrupted


def launch(options: argparse.Namespace) -> None:
    """Run a suite until it is done.

    Raises:
        ConfigError: it is refused; nothing has started, and nothing was written.
        MusterError: runs have failed.
        Interrupted: SIGINT, SIGTERM or `suite.py stop`; the runs have saved.
    """
    # before anything is imported that may be interrupted in the middle
    suite = read_suite(suite_path(options.suite))
    if not (options.dry_run or hasattr(os, "fork")):
        raise ConfigError("suite.py run forks a process for each run, which this system cannot. On Windows, use WSL 2.")
    machine = Machine(suite.resources, options.jobs)
    if options.launcher == "local" and not machine.has_room():
        raise ConfigError(
            f"{suite.path}: resources.gpus={suite.resources['gpus']:g}: this machine has "
            f"{counted(len(machine.gpus), 'GPU')}. With gpus: 0 runs use the processor."
        )
    if options.launcher == "ray":
        from suites.command.ray import require_for_launcher

        require_for_launcher()
    elif options.address:
        raise ConfigError(f"--address={options.address} goes with --launcher=ray.")
    learns = suite.search is not None and suite.search.learns
    if learns:
        require_optuna()
        if options.launcher != "local":
            raise ConfigError(
                f"{suite.path}: search.method={TPE}: --launcher={options.launcher} starts runs that are known "
                "beforehand. Start the local launcher, on as many machines as share the folder of results."
            )
    runs = _checked(suite)
    if suite.search is not None and (doubt := doubt_about(suite.search.options["metric"], options.results)):
        print(f"warning: {suite.path}: {doubt}", file=sys.stderr)
    folder = SuiteFolder(options.results.absolute(), suite.name)
    if options.dry_run:
        if learns:
            print(f"{_trials(suite, runs)}. At a corner of the space:")
        for run in runs:
            print(run.id, " ".join(run.words))
        if options.launcher == "slurm":
            from suites.command.slurm import script

            print("\nThe script for sbatch:\n")
            print(script(folder, runs, suite.resources, options.jobs), end="")
        return
    new, gone = freeze(folder, suite, runs)
    if new or gone:
        print(f"The suite has changed: {counted(new, 'new run')}, {gone} no longer in it (results stay).")
    with contextlib.suppress(FileNotFoundError):
        folder.stop.unlink()
    if options.launcher == "slurm":
        from suites.command.slurm import submit

        submit(folder, runs, suite.resources, options)
        return
    _run_here(folder, runs, suite, machine, options)


def _trials(suite: SuiteFile, runs: list[SuiteRun]) -> str:
    return f"{counted(suite.search.options['trials'], 'trial')} of {counted(len(runs), 'run')} each"


def _checked(suite: SuiteFile) -> list[SuiteRun]:
    begun = time.monotonic()
    if suite.search is not None and suite.search.learns:
        runs = checked_search(suite)
        what = _trials(suite, runs)
    else:
        runs = checked_runs(suite)
        what = counted(len(runs), "run")
    if note := note_of_former_names():
        print(note)
    print(f"{suite.name}: {what}, checked in {time.monotonic() - begun:.1f} s", flush=True)
    return runs


def _run_here(
    folder: SuiteFolder, runs: list[SuiteRun], suite: SuiteFile, machine: Machine, options: argparse.Namespace
) -> None:
    if absent := missing(*PACKAGES):
        print(
            f"The page of figures at the end needs packages that are not installed: {', '.join(absent)}. Install them "
            f"meanwhile with: pip install -r {REQUIREMENTS}"
        )
    learns, count = suite.search is not None and suite.search.learns, len(runs)
    if learns:
        count, runs = count * suite.search.options["trials"], folder.runs()
    progress = Progress(folder, runs, sys.stdout, count)
    claims = Claims(folder, options.lease, suite.resources["losses"])
    work = Work(folder, runs, claims, progress.report, progress.look, options.retry_failed, is_current)
    if options.launcher == "ray":
        from suites.command.ray import ray_launcher

        launcher: Launcher = ray_launcher(work, suite.resources, options)
    else:
        searcher = None
        if learns:
            searcher = Searcher(folder, suite.search, partial(trial_runs, suite), progress.say, options.retry_failed)
        variables = thread_variables(suite.resources["threads"], machine.cores_each())
        start = partial(starter, environment_configs(suite), options.cold, variables)
        launcher = LocalLauncher(work, machine, start, searcher)
    with progress:
        outcome = launcher.run()
    _end(folder, folder.runs(), outcome)


def _end(folder: SuiteFolder, runs: list[SuiteRun], outcome: Outcome) -> None:
    states = [outcome.newest[run.id].state for run in runs if run.id in outcome.newest]
    done, failed = states.count(DONE), states.count(FAILED)
    so_far = f"{done} of {counted(len(runs), 'run')} done"
    plan, trials = trial_rows(folder, live(folder, outcome.newest))
    if plan.method:
        print(trials_summary(plan, trials))
    if outcome.stopped:
        raise Interrupted(
            outcome.signum or signal.SIGTERM,
            f"Stopped: {so_far}. The same command as before resumes the suite ({command(folder, 'run')}).",
        )
    if outcome.changed:
        raise MusterError(
            f"{so_far}, {len(outcome.changed)} not started, since a file of the config has changed after the suite "
            f"was started: {', '.join(outcome.changed[:3])}. The same command takes the change up."
        )
    if outcome.refused:
        run, reason = next(iter(outcome.refused.items()))
        raise MusterError(f"{so_far}, {len(outcome.refused)} could not be started: {run}: {reason}")
    if failed:
        raise MusterError(
            f"{so_far}, {failed} failed: {command(folder, 'status')} shows the "
            f"last errors, {folder.output('').parent} has all that they printed. --retry-failed tries them again."
        )
    if errors := [row.error for row in trials if row.state == TRIAL_FAILED]:
        raise MusterError(
            f"{len(errors)} of {counted(len(trials), 'trial')} failed, the last one: {last_line(errors[-1])}"
        )
    dropped = len(runs) - done
    print(f"{so_far}." if dropped == 0 else f"{so_far}, {dropped} dropped by the search.")
    if not is_older(folder, max(attempt.ended for attempt in outcome.newest.values())):
        print(f"Figures: {folder.path / PAGE} ({command(folder, 'report')})")
        return
    try:
        report(folder)
    except ConfigError as error:  # the page needs packages that runs do not
        print(f"{error} Then: {command(folder, 'report')}")
