"""`suite.py report`: the figures, the table and the export of a suite's runs."""

import argparse
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from records.run_score import LAST, score_title
from suites.command.hints import command
from suites.state.runs import DONE, DROPPED, RUNNING, STOPPED
from suites.state.scores import TrialRow, trial_rows
from suites.state.state import SuiteFolder
from suites.state.table import live
from suites.state.trials import AXIS, MINIMIZE, SearchPlan
from utils.errors import ConfigError
from utils.plain_values import counted

if TYPE_CHECKING:
    from browser.report.content import Metric

PAGE, TABLE, EXPORT, IMAGES = "report.html", "table.md", "marl_eval.json", "figures"
# of a terminal
COLUMNS = 80
# that runs do not need
PACKAGES = ("scipy", "plotly")
USUAL = argparse.Namespace(metrics=[], last=LAST, png=False)


def report(folder: SuiteFolder, options: argparse.Namespace = USUAL) -> None:
    """Write `report.html`, `table.md`, `marl_eval.json` and, if asked for, `figures/` into the suite's folder.

    Raises:
        ConfigError: no run has anything to show, a package is missing, or a file cannot be written.
    """
    from browser.packages import require

    require("suite.py report", *PACKAGES)
    if options.png:
        require("--png", "matplotlib")
    from browser.report import content
    from browser.report.arguments import Options
    from browser.report.page import write_text
    from browser.report.writing import write_parts

    runs, newest = folder.runs(), folder.newest()
    begun = [newest[run.id] for run in runs if run.id in newest and newest[run.id].state in (DONE, RUNNING, STOPPED)]
    if not begun:
        raise ConfigError(f"No run of {folder.name} has results yet: {command(folder, 'status')}")
    done = f"{sum(attempt.state == DONE for attempt in begun)} of {counted(len(runs), 'run')} done"
    dropped = sum(run.id in newest and newest[run.id].state == DROPPED for run in runs)
    asked = Options(
        results=folder.results,
        group_by=["label"],
        metrics=[key for keys in options.metrics for key in keys.split(",")],
        tokens=frozenset(attempt.token for attempt in begun),
        last=options.last,
        title=f"{folder.name}: {done}" + (f", {dropped} dropped by the search" if dropped else ""),
        out=folder.path / PAGE,
        png=folder.path / IMAGES if options.png else None,
        marl_eval=folder.path / EXPORT,
    )
    _, comparison = content.choose(asked)
    plan, trials = trial_rows(folder, live(folder, newest))
    keys = asked.metrics or comparison.usual_metrics()
    if not asked.metrics and comparison.has(plan.metric):  # what a search goes by comes first
        keys = list(dict.fromkeys([plan.metric, *keys]))
    metrics = [content.compare(comparison, key, asked) for key in keys]
    table = "\n".join(markdown(metric, asked.last) for metric in metrics)
    if trials:
        table += "\n" + ranking(metrics[0], {run.algorithm: run.choices[AXIS] for run in runs}, plan, trials)
    written = [write_text(folder.path / TABLE, table), *write_parts(comparison, metrics, asked)]
    print(table)
    for path in written:
        print(path)


def is_older(folder: SuiteFolder, time: float) -> bool:
    """Whether the page was made before `time`, in seconds since the epoch, or never."""
    try:
        return (folder.path / PAGE).stat().st_mtime < time
    except FileNotFoundError:
        return True


def markdown(metric: "Metric", last: int) -> str:
    """A statistic's table, algorithm × map, in Markdown."""
    from browser.stats import cells_of, mean_title

    maps = sorted({name for row in metric.matrix.values() for name in row})
    rows = [["", *maps]]
    for algorithm in metric.algorithms:
        found = metric.matrix.get(algorithm, {})
        rows.append([algorithm, *(found[name].text() if name in found else "" for name in maps)])
    what = mean_title(cells_of(metric.matrix), over="seeds")
    return _section(f"{metric.key}, {score_title(metric.key, last)}: {what}", rows)


def ranking(metric: "Metric", trial_of: Mapping[str, str], plan: SearchPlan, trials: Sequence[TrialRow]) -> str:
    """The trials of a search in Markdown: the best first, and at the end those that are not done, with their states.

    Args:
        trial_of: the trial by algorithm with its overrides.
    """
    from browser.figures.wording import lower_is_better
    from browser.stats import mean_title

    values, alone = metric.aggregates["iqm"], len({name for row in metric.matrix.values() for name in row}) == 1
    if alone:  # in the statistic's own unit
        values = {name: next(iter(row.values())) for name, row in metric.matrix.items() if row}
    lower = plan.direction == MINIMIZE if metric.key == plan.metric else lower_is_better(metric.key)
    settings = {row.trial.name: row.trial.settings for row in trials}
    unfinished = {row.trial.name: row for row in trials if row.state != DONE}
    best = [name for name in values if values[name].n and trial_of[name] not in unfinished]
    best.sort(key=lambda name: values[name].value if lower else -values[name].value)
    keys = list(dict.fromkeys(key for one in settings.values() for key in one))
    rows = [["", *keys, metric.key]]
    for name in best:
        rows.append([name, *(str(settings[trial_of[name]].get(key, "")) for key in keys), values[name].text(4)])
    for name, row in unfinished.items():
        at = "" if row.value is None else f" at {row.value:.4f}"
        rows.append([name, *(str(settings[name].get(key, "")) for key in keys), row.state + at])
    scaled = ", scaled to 0-1 on every map," if metric.normalised and not alone else ""
    over = "seeds" if alone else f"seeds and maps{scaled}"
    return _section(f"Trials by {metric.key}: {mean_title((values[name] for name in best), over)}", rows)


def _section(heading: str, rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown under a line of text; its columns stand below one another in a terminal, too."""
    widths = [max(3, *map(len, column)) for column in zip(*rows, strict=True)]
    lines = [" | ".join(map(str.ljust, row, widths)) for row in (rows[0], ["-" * width for width in widths], *rows[1:])]
    return "\n".join([textwrap.fill(heading, COLUMNS), "", *(f"| {line} |" for line in lines), ""])
