"""The same figures for papers, through matplotlib: data in, a matplotlib Figure out.

learning_curves(bands, "test_return_mean").savefig("curves.pdf")

`browser.figures.paper_style` has the styles of conferences; a figure is drawn and saved within
`matplotlib.rc_context(style.settings)`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter

from browser.figures.paper_style import Style
from browser.figures.paper_text import POINTS, fitting, points, wrapped
from browser.figures.wording import (
    AGGREGATE_TITLES,
    MATRIX_COLORS,
    axis_title,
    color,
    incomplete_stretches,
    is_share,
    numbered,
    staggered_dash,
    value_title,
)
from browser.stats.aggregates import Estimate, Profile, best_on_maps
from browser.stats.bands import Band

USUAL = Style()
# matplotlib's own dashes are as long as its dots are wide
_LINES: Mapping[str, Any] = {
    "solid": "-",
    "dash": (0, (4, 1.6)),
    "dashdot": (0, (4, 1.4, 1, 1.4)),
    "longdash": (0, (8, 2)),
    "longdashdot": (0, (8, 1.6, 1, 1.6, 1, 1.6)),
}
_LINE = 1.4
# inches beside a panel; of a matrix the names at its side, the bar of its colours, a cell that leaves room for the bar,
# and a letter
_MARGIN, _NAMES, _BAR, _LEAST_CELL, _LETTER = 0.3, 1.0, 0.8, 0.5, 0.05
_AREA: Mapping[str, Any] = {"alpha": 0.16, "linewidth": 0}
_MATHS = str.maketrans({"$": r"\$"})


def learning_curves(
    bands: Sequence[Band],
    metric: str,
    title: str = "",
    order: Sequence[str] = (),
    y_title: str = "",
    style: Style = USUAL,
) -> Figure:
    """A line with its band per group; see `figures.learning_curves`."""
    return curve_panels({title: bands}, metric, order, y_title, style)


def curve_panels(
    curves: Mapping[str, Sequence[Band]],
    metric: str,
    order: Sequence[str] = (),
    y_title: str = "",
    style: Style = USUAL,
) -> Figure:
    """Learning curves with a panel for each map, the same axes' titles for all, and one legend with n below them.

    Args:
        curves: bands by the title of their panel.
        order: labels in the order of their colours and of the legend; by default those of the first panel.
    """
    width = style.width_of(style.columns(max(1, len(curves)))) / style.columns(max(1, len(curves))) - _MARGIN
    titles = [wrapped(title, width, "axes.titlesize") for title in curves]
    lines = max((title.count("\n") for title in titles), default=0)
    figure, panels = _panels(len(curves), style, sharey=is_share(metric), more_lines=lines)
    order = order or list(dict.fromkeys(band.label for bands in curves.values() for band in bands))
    for axes, title, bands in zip(panels, titles, curves.values(), strict=False):
        axes.set_title(_plain(title), loc="left")
        for index, band in numbered(bands, order):
            _draw_band(axes, band, index)
        if bands and bands[0].axis != "seconds":
            axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        if is_share(metric):
            axes.set_ylim(-0.03, 1.03)
    some = next((bands for bands in curves.values() if len(bands)), ())
    _title_axes(
        panels,
        style.columns(max(1, len(curves))),
        axis_title(some[0].axis) if some else "",
        _plain(y_title or value_title(metric)),
    )
    runs = {label: [b.runs for bands in curves.values() for b in bands if b.label == label] for label in order}
    _legend(figure, {label: (k, _counted(label, runs[label])) for k, label in enumerate(order) if runs[label]})
    return figure


def score_heatmap(
    matrix: Mapping[str, Mapping[str, Estimate]],
    metric: str,
    title: str = "",
    share: bool = False,
    lower: bool = False,
    style: Style = USUAL,
) -> Figure:
    """A cell per algorithm and map; see `figures.score_heatmap`. In a column, the longer of both is the rows."""
    algorithms = list(matrix)
    maps = list(next(iter(matrix.values()), {}))
    rows, columns = (maps, algorithms) if style.width and len(maps) > len(algorithms) else (algorithms, maps)
    width = style.width or 2.2 + 1.3 * len(columns)
    figure = Figure(figsize=(width, 1.4 + 0.65 * len(rows)), layout="constrained")
    axes = figure.subplots()
    axes.set_title(_plain(wrapped(title, width - _MARGIN, "axes.titlesize")), loc="left")
    if not maps:
        return figure
    turned = rows is maps
    cells = {((name, label) if turned else (label, name)): matrix[label][name] for label in matrix for name in maps}
    values = np.array([[cells[row, column].value for column in columns] for row in rows])
    low, high = (0, 1) if share else (None, None)
    shades = LinearSegmentedColormap.from_list("matrix", MATRIX_COLORS)
    image = axes.imshow(np.ma.masked_invalid(values), cmap=shades, aspect="auto", vmin=low, vmax=high)
    best = best_on_maps(matrix, lower)
    names = [wrapped(name, _NAMES, "ytick.labelsize") for name in rows]
    all_cells = width - max(len(line) for name in names for line in name.split("\n")) * _LETTER
    with_bar = all_cells - _BAR >= _LEAST_CELL * len(columns)
    room = (all_cells - (_BAR if with_bar else _MARGIN)) / len(columns)
    size = fitting([_cell(cell) for cell in cells.values() if cell.n], 0.92 * room, "x-small")
    for y, row in enumerate(rows):
        for x, column in enumerate(columns):
            cell = cells[row, column]
            if cell.n:
                weight = "bold" if ((column, row) if turned else (row, column)) in best else "normal"
                axes.text(x, y, _cell(cell), ha="center", va="center", fontsize=size, fontweight=weight)
    heads = [wrapped(name, room, "xtick.labelsize") for name in columns]
    letters = fitting(heads, room, "xtick.labelsize")
    axes.set_xticks(range(len(columns)), [_plain(name) for name in heads], fontsize=letters)
    axes.set_yticks(range(len(rows)), [_plain(name) for name in names])
    axes.spines[:].set_visible(False)
    if with_bar:
        figure.colorbar(image, ax=axes, label=_plain(metric))
    return figure


def profile_curves(profiles: Sequence[Profile], metric: str, title: str = "", style: Style = USUAL) -> Figure:
    """The share of runs above every score; see `figures.profile_curves`."""
    figure, (axes,) = _panels(1, style)
    axes.set_title(_plain(title), loc="left")
    for index, profile in enumerate(profiles):
        axes.step(profile.thresholds, profile.share, where="post", **_line(index))
        axes.fill_between(profile.thresholds, profile.low, profile.high, step="post", color=color(index), **_AREA)
    axes.set_xlabel(f"{_plain(metric)} τ")
    axes.set_ylabel("Share of runs above τ")
    axes.set_ylim(-0.03, 1.03)
    _legend(figure, {one.label: (k, _counted(one.label, [one.n])) for k, one in enumerate(profiles)})
    return figure


def improvement_intervals(
    improvements: Sequence[tuple[str, str, Estimate]], title: str = "", style: Style = USUAL
) -> Figure:
    """P(X > Y) with its 95 % interval; see `figures.improvement_intervals`."""
    figure = Figure(figsize=(style.width_of(1), 1.2 + 0.35 * len(improvements)), layout="constrained")
    axes = _calm(figure.subplots())
    axes.set_title(_plain(title), loc="left")
    rows = [_counted(f"{x} > {y}", [estimate.n]) for x, y, estimate in improvements]
    _draw_intervals(axes, rows, [estimate for *_, estimate in improvements], [color(0)] * len(rows))
    axes.axvline(0.5, color="#999999", linestyle="--", linewidth=1)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel("Probability of improvement P(X > Y)")
    return figure


def aggregate_intervals(
    aggregates: Mapping[str, Mapping[str, Estimate]], title: str = "", style: Style = USUAL
) -> Figure:
    """Aggregates with their 95 % intervals; see `figures.aggregate_intervals`. The title is that of the values."""
    first = next(iter(aggregates.values()), {})
    columns = max(1, len(aggregates)) if style.width is None else style.columns(max(1, len(aggregates)))
    rows = -(-max(1, len(aggregates)) // columns)
    width, height = style.width or 2.4 * columns + 0.6, rows * (0.7 + 0.25 * len(first)) + 0.5
    figure = Figure(figsize=(width, height), layout="constrained")
    panels = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel()
    colors = [color(index) for index in range(len(first))]
    labels = [_counted(label, [estimate.n]) for label, estimate in first.items()]
    for axes, (how, estimates) in zip(panels, aggregates.items(), strict=False):
        _draw_intervals(axes, labels, [estimates[label] for label in first], colors)
        axes.set_title(AGGREGATE_TITLES.get(how, how).replace(" (", "\n("), fontsize="small")
        _calm(axes)
    for axes in panels[len(aggregates) :]:
        axes.set_axis_off()
    figure.supxlabel(_plain(title), fontsize="medium")
    return figure


def _panels(count: int, style: Style, sharey: bool = False, more_lines: int = 0) -> tuple[Figure, list[Axes]]:
    """A figure with room for so many panels of one size, and their axes; `more_lines` of the panels' titles."""
    columns = style.columns(max(1, count))
    rows = -(-max(1, count) // columns)
    width = style.width_of(columns)
    more = more_lines * 1.4 * points("axes.titlesize") / POINTS
    height = rows * ((width / columns * 0.66 if columns > 1 else width * 0.55) + more) + 0.5
    figure = Figure(figsize=(width, height), layout="constrained")
    panels = [_calm(axes) for axes in figure.subplots(rows, columns, sharey=sharey, squeeze=False).ravel()]
    for axes in panels[max(1, count) :]:
        axes.set_axis_off()
    return figure, panels[: max(1, count)]


def _title_axes(panels: Sequence[Axes], columns: int, x_title: str, y_title: str) -> None:
    """Titles below the lowest panel of each column, and beside the first of each row."""
    for index, axes in enumerate(panels):
        axes.set_xlabel(x_title if index + columns >= len(panels) else "")
        axes.set_ylabel(y_title if index % columns == 0 else "")


def _calm(axes: Axes) -> Axes:
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _draw_band(axes: Axes, band: Band, index: int) -> None:
    complete = band.complete()
    marker = "o" if complete.sum() == 1 else None
    axes.plot(band.x, np.where(complete, band.center, np.nan), marker=marker, **_line(index))
    if not complete.all():
        thin = np.where(incomplete_stretches(complete), band.center, np.nan)
        axes.plot(band.x, thin, color=color(index), linestyle=":", linewidth=1)
    axes.fill_between(band.x, band.low, band.high, color=color(index), **_AREA)


def _line(index: int) -> dict[str, Any]:
    return {"color": color(index), "linestyle": _LINES[staggered_dash(index)], "linewidth": _LINE}


def _legend(figure: Figure, entries: Mapping[str, tuple[int, str]]) -> None:
    """One legend below all panels: a line's number and text by label. Its columns fill the width."""
    if not entries:
        return
    handles = [Line2D([], [], **_line(index)) for index, _ in entries.values()]
    texts = [text for _, text in entries.values()]
    # a letter is about half as wide as high, and a line with its gaps as wide as nine letters
    letter = 0.5 * points("legend.fontsize") / POINTS
    columns = max(1, int(figure.get_figwidth() / (letter * (9 + max(map(len, texts))))))
    figure.legend(
        handles, texts, loc="outside lower center", ncols=min(columns, len(texts)), frameon=False, handlelength=2.8
    )


def _counted(label: str, runs: Sequence[int]) -> str:
    """A label with its number of runs, or with the least and the most of several panels."""
    least, most = min(runs), max(runs)
    return _plain(f"{label} (n = {least})" if least == most else f"{label} (n = {least}–{most})")


def _draw_intervals(axes: Axes, rows: list[str], estimates: Sequence[Estimate], colors: list[str]) -> None:
    for position, (estimate, dot) in enumerate(zip(estimates, colors, strict=True)):
        axes.plot([estimate.low, estimate.high], [position, position], color="#666666", linewidth=2, zorder=1)
        axes.plot([estimate.value], [position], "o", color=dot, zorder=2, markersize=5)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_ylim(max(1, len(rows)) - 0.5, -0.5)


def _plain(text: str) -> str:
    """Text from a config, escaped: matplotlib would take parts of it for formulas."""
    return str(text).translate(_MATHS)


def _cell(cell: Estimate) -> str:
    return "\n".join(filter(None, (f"{cell.value:.2f}", cell.spread(), f"n = {cell.n}")))
