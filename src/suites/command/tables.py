"""`suite.py export` and `suite.py tables`: from results to small files, and from these to tables."""

import argparse
from pathlib import Path

from browser.reading import Results, Run
from browser.reading.curve_files import ENDING, CurveFile, RunCurve, read_curves, write_curves
from records.absolute_metric import absolute_key
from suites.command.hints import command
from suites.state.runs import DONE, SuiteRun
from suites.state.state import Attempt, SuiteFolder
from utils.errors import ConfigError, MusterError
from utils.page_packages import require
from utils.plain_values import counted

# settings of a run that say nothing about its setting
APART = ("seed=", "label=", "torch_threads=", "absolute_metric=")


def export(folder: SuiteFolder, options: argparse.Namespace) -> None:
    """Write the curves of a suite's runs that are done into a file, beside those that it has of this suite.

    Raises:
        ConfigError: no run has the statistic, or the file is of another one, or cannot be written.
    """
    runs, newest = folder.runs(), folder.newest()
    results = Results(folder.results)
    recorded = {run.token: run for run in results.runs()}
    done = {run.id: newest[run.id] for run in runs if run.id in newest and newest[run.id].state == DONE}
    curves = [
        _curve(results, recorded[attempt.token], run, attempt, options.metric)
        for run in runs
        if (attempt := done.get(run.id)) is not None and attempt.token in recorded
    ]
    found = [curve for curve in curves if curve.values]
    if curves and not found:
        known = {key for run in recorded.values() for key in results.metric_keys(run)}
        raise ConfigError(f"No run of {folder.name} has the metric '{options.metric}'. There are {', '.join(known)}.")
    path = options.folder / f"{folder.name}{ENDING}"
    before = CurveFile(folder.name, str(folder.content().get("description", "")), options.metric, [])
    if path.exists():
        old = read_curves(path)
        if old.metric != options.metric:
            raise ConfigError(f"{path} is of {old.metric}; another --folder keeps {options.metric}.")
        before = CurveFile(before.suite, before.description, before.metric, old.runs)
    file = before.updated(found, {run.id for run in runs})
    if not file.runs:
        raise ConfigError(f"No run of {folder.name} is done yet: {command(folder, 'status')}")
    write_curves(path, file)
    gone = len({run.id for run in before.runs} - {run.id for run in file.runs})
    notes = f", {gone} that are no longer in the suite removed" if gone else ""
    print(f"{path}: {len(file.runs)} of {counted(len(runs), 'run')}{notes}, {path.stat().st_size / 1024:.0f} kB")


def tables(options: argparse.Namespace) -> None:
    """Print the tables of a folder's files, or write them into a page.

    Raises:
        ConfigError: a file cannot be read, or the page has no place for a table.
        MusterError: with `--check`, the page has other tables.
    """
    require("suite.py tables", "scipy")
    from browser.reading.curve_files import curve_files
    from suites.tables.markdown import OTHERS, rendered
    from suites.tables.page import filled, write_page
    from suites.tables.published import read_published
    from suites.tables.results import settings_of

    published = read_published(options.folder)
    found = rendered(published, settings_of(curve_files(options.folder)))
    if options.page is None:
        if not found:
            raise ConfigError(f"{options.folder} has no curves yet: python src/suite.py export SUITE writes them.")
        print("\n".join(found.values()), end="")
        return
    text = filled(options.page, found, [*(table.name for table in published.tables), OTHERS])
    if options.check:
        if options.page.read_text(encoding="utf-8") != text:
            raise MusterError(f"{options.page} has other tables than {options.folder}: make tables writes them.")
    else:
        print(f"{options.page}: {'written' if write_page(options.page, text) else 'nothing has changed'}")


def _curve(results: Results, recorded: Run, run: SuiteRun, attempt: Attempt, metric: str) -> RunCurve:
    absolute = absolute_key(metric)
    curves = results.curves(recorded, [metric, absolute] if absolute else [metric])
    curve = curves.get(metric)
    source = recorded.newest.source
    tests = curve.finite() if curve is not None else None
    return RunCurve(
        id=run.id,
        algorithm=run.algorithm,
        environment=run.environment,
        map=run.map,
        seed=run.seed,
        t_max=run.t_max,
        words=[_public(word) for word in run.words if not word.startswith(APART)],
        commit=source.commit[:8] + ("+" if source.dirty else ""),
        seconds=round(attempt.seconds, 1),
        steps=[] if tests is None else tests.steps.tolist(),
        values=[] if tests is None else tests.values.tolist(),
        absolute=curves[absolute].finite().values[-1:].tolist() if absolute in curves else [],
    )


def _public(word: str) -> str:
    """A word without the folders of this machine: of a config's path its name is left."""
    key, equals, value = word.partition("=")
    return f"{key}={Path(value).name}" if equals and key.startswith("--") else word
