"""`suite.py report`: the figures, the table and the export of a suite's runs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suites.command.hints import command
from suites.state.runs import DONE, DROPPED, RUNNING, STOPPED
from suites.state.scores import TrialRow, trial_rows
from suites.state.state import SuiteFolder
from suites.state.table import live
from suites.state.trials import AXIS, MINIMIZE, SearchPlan
from utils.command_line import OptionParser
from utils.errors import ConfigError
from utils.page_packages import require
from utils.plain_values import counted

if TYPE_CHECKING:
    from browser.report.arguments import Options
    from browser.report.content import Metric

PAGE, TABLE, EXPORT = "report.html", "table.md", "marl_eval.json"
# that runs do not need
PACKAGES = ("scipy", "plotly")
GROUP_BY = "label"


def add_report_options(parser: OptionParser) -> None:
    """Declare report.py's options, with a suite's defaults."""
    from browser.report.arguments import add_options

    add_options(parser, GROUP_BY, Path(PAGE), "in the suite's folder, ")


def report_options(folder: SuiteFolder, parsed: Mapping[str, Any]) -> "Options":
    """The options of a command line that `add_report_options` has parsed: files are in the suite's folder."""
    from browser.report.arguments import options_of

    parsed = {**parsed, "results": folder.results}
    if parsed["out"] == Path(PAGE):
        parsed["out"] = folder.path / PAGE
    return options_of(parsed)


def report(folder: SuiteFolder, options: "Options | None" = None) -> None:
    """Write `report.html`, `table.md`, `marl_eval.json` and what else was asked for into the suite's folder.

    Raises:
        ConfigError: no run has anything to show, a package is missing, or a file cannot be written.
    """
    require("suite.py report", *PACKAGES)
    from browser.report.arguments import Options
    from browser.report.command import report as write

    runs, newest = folder.runs(), folder.newest()
    begun = [newest[run.id] for run in runs if run.id in newest and newest[run.id].state in (DONE, RUNNING, STOPPED)]
    if not begun:
        raise ConfigError(f"No run of {folder.name} has results yet: {command(folder, 'status')}")
    done = f"{sum(attempt.state == DONE for attempt in begun)} of {counted(len(runs), 'run')} done"
    dropped = sum(run.id in newest and newest[run.id].state == DROPPED for run in runs)
    plan, trials = trial_rows(folder, live(folder, newest))
    options = options or Options(results=folder.results, group_by=[GROUP_BY], out=folder.path / PAGE)
    asked = replace(
        options,
        tokens=frozenset(attempt.token for attempt in begun),
        first=plan.metric,  # what a search goes by
        title=options.title or f"{folder.name}: {done}" + (f", {dropped} dropped by the search" if dropped else ""),
        markdown=options.markdown or folder.path / TABLE,
        marl_eval=options.marl_eval or folder.path / EXPORT,
    )
    trial_of = {run.algorithm: run.choices[AXIS] for run in runs} if trials else {}
    ranked = trials and asked.group_by == [GROUP_BY]  # other groups mix trials
    write(asked, (lambda metrics: "\n" + ranking(metrics[0], trial_of, plan, trials)) if ranked else None)


def is_older(folder: SuiteFolder, time: float) -> bool:
    """Whether the page was made before `time`, in seconds since the epoch, or never."""
    try:
        return (folder.path / PAGE).stat().st_mtime < time
    except FileNotFoundError:
        return True


def ranking(metric: "Metric", trial_of: Mapping[str, str], plan: SearchPlan, trials: Sequence[TrialRow]) -> str:
    """The trials of a search in Markdown: the best first, and at the end those that are not done, with their states.

    Args:
        trial_of: the trial by algorithm with its overrides.
    """
    from browser.figures.wording import lower_is_better
    from browser.report.tables import aligned
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
    return aligned(f"Trials by {metric.key}: {mean_title((values[name] for name in best), over)}", rows)
