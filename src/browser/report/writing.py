"""The report's parts put on a page and, as asked for, into images and tables for papers."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from browser import cautions, figures
from browser.cautions import Caution
from browser.comparison import NO_MAP, Comparison, title_of_score
from browser.figures.paper_style import Style, style_of
from browser.figures.wording import in_sentence, is_share, lower_is_better, metric_title
from browser.report import content
from browser.report.arguments import Options
from browser.report.captions import NORMALISED, captions_of
from browser.report.content import Metric
from browser.report.latex import as_fragment
from browser.report.naming import check_labels, renamed
from browser.report.page import Page, write_text, writing
from browser.report.tables import for_terminals
from browser.stats import FEWEST, cells_of
from utils.own_commands import as_typed
from utils.plain_values import counted

# the table of a report stays readable
ROWS_SHOWN = 2000
_TRACE_SHOWN = 4000
_DPI = 200
# that LaTeX includes, the best first
_FOR_LATEX = ("pdf", "png")


def write_report(options: Options, more: Callable[[Sequence[Metric]], str] | None = None) -> tuple[str, list[Path]]:
    """Write everything that was asked for.

    Args:
        more: a text that belongs below the tables, from the statistics before any of them has another name.

    Returns:
        the tables as text, and the files.

    Raises:
        ConfigError: the results folder has no such runs, keys or metrics, or a file cannot be written.
    """
    style = style_of(options.style, options.full_width)
    _, comparison = content.choose(options)
    keys = options.metrics or comparison.usual_metrics()
    if options.first and not options.metrics and comparison.has(options.first):
        keys = list(dict.fromkeys([options.first, *keys]))
    check_labels(options.labels, comparison, keys)
    found = [content.compare(comparison, key, options) for key in keys]
    metrics = [renamed(metric, options.labels) for metric in found]
    tables = "\n".join(table_of(metric, options) for metric in metrics) + (more(found) if more else "")
    written = [write_text(options.out, render(comparison, metrics, options))]
    if options.markdown is not None:
        written.append(write_text(options.markdown, tables))
    pictures = {
        suffix: write_images(metrics, folder, suffix, style, options) for suffix, folder in options.images().items()
    }
    written += [path for found in pictures.values() for named in found.values() for path in named.values()]
    if options.latex is not None:
        includable = next((pictures[suffix] for suffix in _FOR_LATEX if suffix in pictures), {})
        fragment = as_fragment(metrics, includable, options.latex, options)
        written.append(write_text(options.latex, fragment))
    if options.marl_eval is not None:
        written.append(write_text(options.marl_eval, json.dumps(content.exported(comparison, keys), indent=1)))
    return tables, written


def table_of(metric: Metric, options: Options) -> str:
    """The table of a statistic, algorithm × map, in Markdown."""
    named = metric.title if metric.key in options.labels else metric.key
    heading = f"{named}, {title_of_score(metric.key, options.score, options.last)}"
    return for_terminals(metric.matrix, metric.algorithms, heading)


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


def drawn(metric: Metric, draw: Any, options: Options) -> dict[str, Callable[..., Any]]:
    """The figures of a statistic by name, drawn when called; those of papers take a `style`.

    Args:
        draw: `browser.figures` or `browser.figures.paper`, which have the same functions.
    """
    scale = f"Normalised {in_sentence(metric.title)}" if metric.normalised else metric.title
    made: dict[str, Callable[..., Any]] = {}
    for name, bands in metric.curves.items():
        map_title = "" if name == NO_MAP else name
        made[f"curves_{name}"] = partial(draw.learning_curves, bands, metric.key, map_title, metric.lines, metric.title)
    heading = f"{metric.title}: {title_of_score(metric.key, options.score, options.last)}"
    share, lower = is_share(metric.key), lower_is_better(metric.key)
    made["matrix"] = partial(draw.score_heatmap, metric.matrix, metric.title, heading, share=share, lower=lower)
    made["aggregates"] = partial(draw.aggregate_intervals, metric.aggregates, scale)
    made["profiles"] = partial(draw.profile_curves, metric.profiles, scale)
    if metric.improvements:
        made["improvement"] = partial(draw.improvement_intervals, metric.improvements, metric.title)
    return made


def _say(page: Page, sentences: Iterable[Caution]) -> None:
    """Cautions, with the options of the command line that remedy them."""
    for caution in sentences:
        options = [remedy.option for remedy in caution.remedies if remedy.option]
        page.text(caution.text + (as_typed(f" Remedy: report.py {' or '.join(options)}.") if options else ""))


def write_images(
    metrics: list[Metric], folder: Path, suffix: str, style: Style, options: Options
) -> dict[str, dict[str, Path]]:
    """Write every figure through matplotlib into a folder, as <metric>_<figure>.<suffix>.

    Learning curves of several maps are the panels of one figure, with one legend. A file has its caption in its
    metadata.

    Returns:
        the files by statistic and figure.
    """
    from matplotlib import rc_context

    from browser.figures import paper

    written: dict[str, dict[str, Path]] = {}
    for metric in metrics:
        made, captions = drawn(metric, paper, options), captions_of(metric, options)
        if len(metric.curves) > 1:
            panels = {f"({_letter(k)}) {name}": bands for k, (name, bands) in enumerate(metric.curves.items())}
            alone = [name for name in made if name.startswith("curves_")]
            joint = partial(paper.curve_panels, panels, metric.key, metric.algorithms, metric.title)
            made = {"curves": joint, **{name: draw for name, draw in made.items() if name not in alone}}
        for name, draw in made.items():
            path = folder / f"{_file_name(f'{metric.key}_{name}')}.{suffix}"
            with writing(path), rc_context(style.settings):
                draw(style=style).savefig(path, dpi=_DPI, metadata=_metadata(suffix, captions[name]))
            written.setdefault(metric.key, {})[name] = path
    return written


def _metadata(suffix: str, caption: str) -> dict[str, Any]:
    """A file's caption, and no date: the same runs make the same file."""
    dates = {"pdf": "CreationDate", "svg": "Date"}
    kept: dict[str, Any] = {"Subject" if suffix == "pdf" else "Description": caption}
    return kept | ({dates[suffix]: None} if suffix in dates else {})


def _letter(index: int) -> str:
    """a, b, ... z, aa, ab, ... of a panel."""
    more, last = divmod(index, 26)
    return (_letter(more - 1) if more else "") + chr(ord("a") + last)


def _metric_sections(page: Page, comparison: Comparison, metric: Metric, options: Options) -> None:
    made, captions = drawn(metric, figures, options), captions_of(metric, options)
    title = metric.title if metric.key in options.labels else metric_title(metric.key)
    page.heading(title if title == metric.key else f"{title} ({metric.key})")
    if not metric.curves:
        page.text("No run has a value of this statistic.")
        return
    page.heading("Learning curves", 3)
    _say(page, cautions.of_metric(comparison, metric.key, options.axis))
    for name, bands in metric.curves.items():
        page.figure(made[f"curves_{name}"](), captions[f"curves_{name}"])
        _say(page, cautions.of_curves(comparison, bands, metric.key))
    page.heading("Algorithm × map", 3)
    _say(page, cautions.of_scores(comparison, metric.key, options.score, last=options.last))
    _say(page, cautions.of_few_runs(metric.matrix))
    page.figure(made["matrix"](), captions["matrix"])
    page.heading("Over all maps", 3)
    if metric.normalised:
        page.text(NORMALISED)
    if any(cell.few for cell in cells_of(metric.matrix)):
        page.text(
            f"Some algorithms have fewer than {FEWEST} runs on a map, so these intervals are probably too narrow."
        )
    for name in ("aggregates", "profiles", "improvement"):
        if name in made:
            page.figure(made[name](), captions[name])


def _file_name(text: str) -> str:
    return re.sub(r"[^\w.+-]+", "_", text)
