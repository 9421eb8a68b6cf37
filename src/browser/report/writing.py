"""The report's parts put on a page and, if asked for, into image files."""

import json
import re
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from browser import cautions, figures
from browser.cautions import Caution
from browser.comparison import NO_MAP, Comparison, title_of_score
from browser.figures.wording import is_share, lower_is_better, metric_title
from browser.report import content
from browser.report.arguments import Options
from browser.report.content import Metric
from browser.report.page import Page, write_text, writing
from browser.stats import FEWEST, cells_of, mean_title
from utils.plain_values import counted

# the table of a report stays readable
ROWS_SHOWN = 2000
_TRACE_SHOWN = 4000


def write_report(options: Options) -> list[Path]:
    """Write everything that was asked for, and return the files.

    Raises:
        ConfigError: the results folder has no such runs, keys or metrics, or a file cannot be written.
    """
    _, comparison = content.choose(options)
    keys = options.metrics or comparison.usual_metrics()
    return write_parts(comparison, [content.compare(comparison, key, options) for key in keys], options)


def write_parts(comparison: Comparison, metrics: list[Metric], options: Options) -> list[Path]:
    """Write a report whose parts are there, as `write_report`."""
    keys = [metric.key for metric in metrics]
    page = render(comparison, metrics, options)
    written = [write_text(options.out, page)]
    for folder, suffix in ((options.png, "png"), (options.svg, "svg")):
        if folder is not None:
            written += write_images(metrics, folder, suffix, options)
    if options.marl_eval is not None:
        written.append(write_text(options.marl_eval, json.dumps(content.exported(comparison, keys), indent=1)))
    return written


def render(comparison: Comparison, metrics: list[Metric], options: Options) -> str:
    """The report as HTML."""
    page = Page(options.title or f"Runs in {comparison.results.root.name}")
    n = len(comparison.runs)
    page.text(
        f"{counted(n, 'run')} in {counted(len(comparison.groups), 'group')}, grouped by {', '.join(options.group_by)}."
    )
    if options.best_of:
        page.text(
            f"Of each {options.best_of} the group with the best mean score on each map. The runs that are shown have "
            "also chosen it, which flatters it: other seeds would tell."
        )
    _say(page, cautions.of_groups(comparison))
    page.heading("Runs")
    headings, rows = content.run_rows(comparison, [metric.key for metric in metrics], options)
    page.table(headings, rows[:ROWS_SHOWN])
    if len(rows) > ROWS_SHOWN:
        page.text(f"{len(rows) - ROWS_SHOWN} older runs are omitted from this table.")
    for metric in metrics:
        _metric_sections(page, comparison, metric, options)
    if options.threshold is not None and metrics:
        page.heading(f"{metrics[0].key} of at least {options.threshold:g}")
        page.table(*content.threshold_rows(comparison, metrics[0].key, options.threshold, options.smoothing))
    page.heading("Config differences")
    page.table(*content.difference_rows(comparison))
    stopped = content.troubled(comparison)
    if stopped:
        page.heading("Runs that did not complete")
    for run in stopped:
        trace = run.fail_trace or comparison.results.log_text(run, _TRACE_SHOWN)
        page.log(f"{run.id}: {run.status_at()}", trace[-_TRACE_SHOWN:] or "Nothing was printed.")
    return page.render()


def drawn(metric: Metric, draw: Any, options: Options) -> dict[str, Callable[[], Any]]:
    """The figures of a statistic by name, drawn when called.

    Args:
        draw: `browser.figures` or `browser.figures.paper`, which have the same functions.
    """
    title = metric_title(metric.key)
    scale = "normalised score (lowest run 0, highest 1 on every map)" if metric.normalised else title
    made: dict[str, Callable[[], Any]] = {}
    for name, bands in metric.curves.items():
        map_title = "" if name == NO_MAP else name
        made[f"curves_{name}"] = partial(draw.learning_curves, bands, metric.key, map_title, metric.algorithms)
    heading = f"{title}: {title_of_score(metric.key, options.score, options.last)}"
    share, lower = is_share(metric.key), lower_is_better(metric.key)
    made["matrix"] = partial(draw.score_heatmap, metric.matrix, title, heading, share=share, lower=lower)
    made["aggregates"] = partial(draw.aggregate_intervals, metric.aggregates, scale)
    made["profiles"] = partial(draw.profile_curves, metric.profiles, scale)
    if metric.improvements:
        made["improvement"] = partial(draw.improvement_intervals, metric.improvements, title)
    return made


def _say(page: Page, sentences: Iterable[Caution]) -> None:
    """Cautions, with the options of the command line that remedy them."""
    for caution in sentences:
        options = [remedy.option for remedy in caution.remedies if remedy.option]
        page.text(caution.text + (f" Remedy: report.py {' or '.join(options)}." if options else ""))


def write_images(metrics: list[Metric], folder: Path, suffix: str, options: Options) -> list[Path]:
    """Write every figure through matplotlib into a folder, as <metric>_<figure>.<suffix>."""
    from browser.figures import paper

    written = []
    for metric in metrics:
        for name, figure in drawn(metric, paper, options).items():
            path = folder / f"{_file_name(f'{metric.key}_{name}')}.{suffix}"
            with writing(path):
                figure().savefig(path, dpi=200)
            written.append(path)
    return written


def _metric_sections(page: Page, comparison: Comparison, metric: Metric, options: Options) -> None:
    made = drawn(metric, figures, options)
    title = metric_title(metric.key)
    page.heading(title if title == metric.key else f"{title} ({metric.key})")
    if not metric.curves:
        page.text("No run has a value of this statistic.")
        return
    page.heading("Learning curves", 3)
    _say(page, cautions.of_metric(comparison, metric.key, options.axis))
    for name, bands in metric.curves.items():
        page.figure(made[f"curves_{name}"]())
        _say(page, cautions.of_curves(comparison, bands, metric.key))
    page.heading("Algorithm × map", 3)
    _say(page, cautions.of_scores(comparison, metric.key, options.score, last=options.last))
    _say(page, cautions.of_few_runs(metric.matrix))
    score = title_of_score(metric.key, options.score, options.last)
    page.text(f"Score of a run: {score}. Each cell: {mean_title(cells_of(metric.matrix))}.")
    page.figure(made["matrix"]())
    page.heading("Over all maps", 3)
    if metric.normalised:
        page.text("Values of different maps are scaled: the lowest run on a map is 0, the highest 1.")
    if any(cell.few for cell in cells_of(metric.matrix)):
        page.text(
            f"Some algorithms have fewer than {FEWEST} runs on a map, so these intervals are probably too narrow."
        )
    for name in ("aggregates", "profiles", "improvement"):
        if name in made:
            page.figure(made[name]())


def _file_name(text: str) -> str:
    return re.sub(r"[^\w.+-]+", "_", text)
