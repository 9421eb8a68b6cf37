"""`suite.py run`: check a suite, freeze it, and start its runs."""

import argparse
import contextlib
import signal
import sys
import time
from functools import partial

from cli.suite_progress import Progress
from cli.suite_report import PAGE, is_older, report
from cli.suite_runs import checked_runs, is_current
from cli.suite_starter import starter
from records.suite_state import DONE, FAILED, SuiteFolder, SuiteRun
from suites.claims import Claims
from suites.freezing import freeze
from suites.launcher import Launcher, Outcome
from suites.local import LocalLauncher
from suites.resources import Machine, thread_variables
from suites.suite_file import SuiteFile, read_suite, suite_path
from utils.errors import ConfigError, MusterError
from utils.stop_signals import Interrupted


def launch(options: argparse.Namespace) -> None:
    """Run a suite until it is done.

    Raises:
        ConfigError: it is refused; nothing has started, and nothing was written.
        MusterError: runs have failed.
        Interrupted: SIGINT, SIGTERM or `suite.py stop`; the runs have saved.
    """
    # before anything is imported that may be interrupted in the middle
    suite = read_suite(suite_path(options.suite))
    machine = Machine(suite.resources, options.jobs)
    if options.launcher == "local" and not machine.has_room():
        raise ConfigError(
            f"{suite.path}: resources.gpus={suite.resources['gpus']:g}: this machine has {len(machine.gpus)} GPUs. "
            "With gpus: 0 runs use the processor."
        )
    if options.launcher == "ray":
        from cli.suite_ray import require_for_launcher

        require_for_launcher()
    elif options.address:
        raise ConfigError(f"--address={options.address} goes with --launcher=ray.")
    runs = _checked(suite)
    if options.dry_run:
        for run in runs:
            print(run.id, " ".join(run.words))
        return
    folder = SuiteFolder(options.results.absolute(), suite.name)
    new, gone = freeze(folder, suite, runs)
    if new or gone:
        print(f"The suite has changed: {new} runs are new, {gone} are no longer in it (their results stay).")
    with contextlib.suppress(FileNotFoundError):
        folder.stop.unlink()
    if options.launcher == "slurm":
        from cli.suite_slurm import submit

        submit(folder, runs, suite.resources, options)
        return
    _run_here(folder, runs, suite, machine, options)


def _checked(suite: SuiteFile) -> list[SuiteRun]:
    begun = time.monotonic()
    runs = checked_runs(suite)
    print(f"{suite.name}: {len(runs)} runs, checked in {time.monotonic() - begun:.1f} s", flush=True)
    return runs


def _run_here(
    folder: SuiteFolder, runs: list[SuiteRun], suite: SuiteFile, machine: Machine, options: argparse.Namespace
) -> None:
    progress = Progress(folder, runs, sys.stdout)
    if options.launcher == "ray":
        from cli.suite_ray import ray_launcher

        launcher: Launcher = ray_launcher(folder, runs, suite.resources, options, progress.report, progress.look)
    else:
        launcher = LocalLauncher(
            folder,
            runs,
            Claims(folder, options.lease, suite.resources["losses"]),
            machine,
            partial(starter, suite.values("environment"), options.cold, thread_variables(suite.resources["threads"])),
            progress.report,
            progress.look,
            options.retry_failed,
            is_current,
        )
    with progress:
        outcome = launcher.run()
    _end(folder, runs, outcome)


def _end(folder: SuiteFolder, runs: list[SuiteRun], outcome: Outcome) -> None:
    states = [outcome.newest[run.id].state for run in runs if run.id in outcome.newest]
    done, failed = states.count(DONE), states.count(FAILED)
    if outcome.stopped:
        command = f"python src/suite.py run {folder.name}"
        raise Interrupted(
            outcome.signum or signal.SIGTERM,
            f"Stopped: {done} of {len(runs)} runs are done. The same command as before resumes the suite ({command}).",
        )
    if outcome.changed:
        raise MusterError(
            f"{done} of {len(runs)} runs are done. {len(outcome.changed)} were not started: a file of their configs "
            f"has changed since the suite was: {', '.join(outcome.changed[:3])}. The same command takes the change up."
        )
    if outcome.refused:
        run, reason = next(iter(outcome.refused.items()))
        raise MusterError(
            f"{done} of {len(runs)} runs are done. {len(outcome.refused)} could not be started: {run}: {reason}"
        )
    if failed:
        raise MusterError(
            f"{done} of {len(runs)} runs are done, {failed} have failed: suite.py status {folder.name} shows the last "
            f"errors, {folder.output('').parent} has all that they printed. --retry-failed tries them again."
        )
    print(f"All {done} runs are done.")
    command = f"python src/suite.py report {folder.name}"
    if not is_older(folder, max(attempt.ended for attempt in outcome.newest.values())):
        print(f"Figures: {folder.path / PAGE} ({command})")
        return
    try:
        report(folder)
    except ConfigError as error:  # the page needs packages that runs do not
        print(f"{error} Then: {command}")
