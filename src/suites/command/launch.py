"""`suite.py run`: check a suite, write its manifest, and start its runs."""

import argparse
import signal
import sys
import time
from functools import partial

from suites.command.chosen import chosen
from suites.command.estimate import forecast_text
from suites.command.hints import command
from suites.command.processes import fork_server, require_fork
from suites.command.progress import Progress
from suites.command.report import PACKAGES, PAGE, is_older, report
from suites.command.runs import checked_suite, environment_configs, is_current, trial_runs
from suites.launch import slurm
from suites.launch.launcher import Launcher, Outcome, Work
from suites.launch.leases import Leases
from suites.launch.local import LocalLauncher
from suites.launch.ray_launcher import RayLauncher, connected
from suites.plan.manifest import write_manifest
from suites.plan.metrics import doubt_about
from suites.plan.resources import Machine, Resources, thread_variables
from suites.plan.search import TPE
from suites.plan.suite_file import SuiteFile, read_suite, suite_path
from suites.search.searcher import Searcher, place_of
from suites.search.study import require_optuna
from suites.state.runs import DONE, FAILED, SuiteRun
from suites.state.scores import trial_rows, trials_summary
from suites.state.state import SuiteFolder
from suites.state.table import last_line, live
from utils.config.renamed_keys import note_of_former_names
from utils.console import fitted, terminal_width
from utils.errors import ConfigError, MusterError
from utils.own_modules import door, door_command
from utils.page_packages import REQUIREMENTS, missing
from utils.plain_values import counted
from utils.processes.ray_cluster import require_ray
from utils.processes.stop_signals import Interrupted

# the commands of SLURM's tasks, and of Ray's, which put their machine's Python before it
TASK, KEEP = [*door_command("suite"), "task"], [*door("suite"), "keep"]


def launch(options: argparse.Namespace) -> None:
    """Run a suite until it is done.

    Raises:
        ConfigError: it is refused; nothing has started, and nothing was written.
        MusterError: runs have failed.
        Interrupted: SIGINT, SIGTERM or `suite.py stop`; the runs have saved.
    """
    # before anything is imported that may be interrupted in the middle
    suite = read_suite(suite_path(options.suite))
    if not options.dry_run:
        require_fork("run")
    resources = {**suite.resources, "jobs": options.jobs or suite.resources["jobs"]}
    _require_launcher(suite, resources, options)
    whole = _checked(suite)
    runs = chosen(suite, whole, options.only)
    if len(runs) < len(whole):
        print(f"Of these, {counted(len(runs), 'run')}: {' '.join(options.only)}", flush=True)
    if suite.search is not None and (doubt := doubt_about(suite.search.options["metric"], options.results)):
        print(f"warning: {suite.path}: {doubt}", file=sys.stderr)
    folder = SuiteFolder(options.results.absolute(), suite.name)
    # other machines are not known
    forecast = forecast_text(folder, suite, runs, resources, options) if options.launcher == "local" else ""
    if options.dry_run:
        if suite.learning:
            print(f"{_count(suite, runs)}. At a corner of the space:")
        for run in runs:
            print(run.id, " ".join(run.words))
        if options.launcher == "slurm":
            print("\nThe script for sbatch:\n")
            print(slurm.script_of(folder, len(runs), resources, TASK), end="")
        elif forecast:
            print(fitted(forecast, terminal_width(sys.stdout)))
        return
    if forecast:
        print(fitted(forecast, terminal_width(sys.stdout)), flush=True)
    new, gone = write_manifest(folder, suite, whole)
    if new or gone:
        print(f"The suite has changed: {counted(new, 'new run')}, {gone} no longer in it (results stay).")
    folder.stop.unlink(missing_ok=True)
    if options.launcher == "slurm":
        _submit(folder, runs, resources, options)
    else:
        _run_here(folder, runs, suite, resources, options)


def _require_launcher(suite: SuiteFile, resources: Resources, options: argparse.Namespace) -> None:
    """Raises: ConfigError: the launcher has no room for a run of this suite, lacks a package, or starts no such."""
    machine = Machine(resources)
    if options.launcher == "local" and not machine.has_room():
        raise ConfigError(
            f"{suite.path}: resources.gpus={resources['gpus']:g}: this machine has "
            f"{counted(len(machine.gpus), 'GPU')}. With gpus: 0 runs use the processor."
        )
    if options.launcher == "ray":
        require_ray("--launcher=ray")
    elif options.address:
        raise ConfigError(f"--address={options.address} goes with --launcher=ray.")
    if suite.learning:
        method = suite.learning.options["method"]
        if method == TPE:
            require_optuna()
        if options.launcher != "local":
            raise ConfigError(
                f"{suite.path}: search.method={method}: --launcher={options.launcher} starts runs that are known "
                "beforehand. Start the local launcher, on as many machines as share the folder of results."
            )
    if options.launcher == "slurm" and not options.dry_run:
        slurm.require_commands()


def _checked(suite: SuiteFile) -> list[SuiteRun]:
    begun = time.monotonic()
    runs = checked_suite(suite)
    if note := note_of_former_names():
        print(note)
    print(f"{suite.name}: {_count(suite, runs)}, checked in {time.monotonic() - begun:.1f} s", flush=True)
    return runs


def _count(suite: SuiteFile, runs: list[SuiteRun]) -> str:
    count = counted(len(runs), "run")
    return f"{counted(suite.trials, 'trial')} of {count} each" if suite.learning else count


def _submit(folder: SuiteFolder, runs: list[SuiteRun], resources: Resources, options: argparse.Namespace) -> None:
    """Submit what is to be done as one array."""
    leases = Leases(folder, options.lease, resources["losses"])
    wanted, failed = slurm.unfinished(folder, runs, leases, options.retry_failed)
    if not wanted:
        newest = folder.newest()
        done = sum(run.id in newest and newest[run.id].state == DONE for run in runs)
        others = "; others have failed or are in the queue" if done < len(runs) else ""
        print(f"Nothing to submit: {done} of {counted(len(runs), 'run')} done{others}.")
        return
    job = slurm.submit(folder, wanted, failed, resources, TASK, options.lease)
    print(f"Job {job}: {counted(len(wanted), 'run')}. {command(folder, 'status')} shows them.")


def _run_here(
    folder: SuiteFolder, runs: list[SuiteRun], suite: SuiteFile, resources: Resources, options: argparse.Namespace
) -> None:
    """Run the launcher of this machine, or that of Ray, until the suite is done."""
    if absent := missing(*PACKAGES):
        print(
            f"The page of figures at the end needs packages that are not installed: {', '.join(absent)}. Install them "
            f"meanwhile with: pip install -r {REQUIREMENTS}"
        )
    count, lengths = len(runs), {place_of(run.axes): run.t_max for run in runs}
    if suite.learning:
        count, runs = count * suite.trials, folder.runs()
    progress = Progress(folder, runs, sys.stdout, count)
    leases = Leases(folder, options.lease, resources["losses"])
    work = Work(folder, runs, leases, progress.report, progress.look, options.retry_failed, is_current)
    launcher: Launcher
    if options.launcher == "ray":
        cluster = connected(options.address, resources)
        launcher = RayLauncher(work, cluster, resources, KEEP, options.lease)
    else:
        searcher, machine = None, Machine(resources)
        if suite.learning:
            make = partial(trial_runs, suite)
            searcher = Searcher(folder, suite.learning, make, progress.say, options.retry_failed, lengths)
        variables = thread_variables(resources["threads"], machine.cores_each())
        start = partial(fork_server, environment_configs(suite), options.cold, variables)
        launcher = LocalLauncher(work, machine, start, searcher)
    with progress:
        outcome = launcher.run()
    _end(folder, folder.runs() if suite.learning else runs, outcome, options.only)


def _end(folder: SuiteFolder, runs: list[SuiteRun], outcome: Outcome, only: list[str]) -> None:
    states = [outcome.newest[run.id].state for run in runs if run.id in outcome.newest]
    done, failed = states.count(DONE), states.count(FAILED)
    so_far = f"{done} of {counted(len(runs), 'run')} done"
    plan, trials = trial_rows(folder, live(folder, outcome.newest))
    if plan.method:
        print(trials_summary(plan, trials))
    if outcome.stopped:
        raise Interrupted(
            outcome.signum or signal.SIGTERM,
            f"Stopped: {so_far}. The same command as before resumes the suite ({command(folder, 'run', only)}).",
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
    if errors := [row.error for row in trials if row.state == FAILED]:
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
