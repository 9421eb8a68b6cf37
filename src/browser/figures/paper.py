"""The same figures for papers, through matplotlib: data in, a matplotlib Figure out.

learning_curves(bands, "test_return_mean").savefig("curves.svg")
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from browser.figures.wording import (
    AGGREGATE_TITLES,
    MATRIX_COLORS,
    axis_title,
    color,
    dash,
    incomplete_stretches,
    metric_title,
    numbered,
)
from browser.stats.aggregates import Estimate, Profile, best_on_maps
from browser.stats.bands import Band

_LINES = {"solid": "-", "dash": "--", "dot": ":"}
_MATHS = str.maketrans({"$": r"\$"})


def learning_curves(bands: Sequence[Band], metric: str, title: str = "", order: Sequence[str] = ()) -> Figure:
    """A line with its band per group; see `figures.learning_curves`."""
    figure, axes = _figure(5.0, 3.4, title)
    for index, band in numbered(bands, order):
        complete = band.complete()
        label = f"{_plain(band.label)} (n = {band.runs})"
        style: dict[str, Any] = {"color": color(index), "linestyle": _LINES[dash(index)]}
        style["marker"] = "o" if complete.sum() == 1 else None
        axes.plot(band.x, np.where(complete, band.center, np.nan), label=label, linewidth=1.6, **style)
        if not complete.all():
            thin = np.where(incomplete_stretches(complete), band.center, np.nan)
            axes.plot(band.x, thin, color=color(index), linestyle=":", linewidth=1)
        axes.fill_between(band.x, band.low, band.high, color=color(index), alpha=0.18, linewidth=0)
    axes.set_xlabel(axis_title(bands[0].axis) if bands else "")
    axes.set_ylabel(_plain(metric_title(metric)))
    if bands:
        axes.legend(frameon=False, fontsize="small")
    return figure


def score_heatmap(
    matrix: Mapping[str, Mapping[str, Estimate]],
    metric: str,
    title: str = "",
    share: bool = False,
    lower: bool = False,
) -> Figure:
    """A cell per algorithm and map; see `figures.score_heatmap`."""
    algorithms = list(matrix)
    maps = list(next(iter(matrix.values()), {}))
    figure, axes = _figure(2.2 + 1.3 * len(maps), 1.4 + 0.65 * len(algorithms), title)
    if not maps:
        return figure
    values = np.array([[matrix[row][column].value for column in maps] for row in algorithms])
    low, high = (0, 1) if share else (None, None)
    shades = LinearSegmentedColormap.from_list("matrix", MATRIX_COLORS)
    image = axes.imshow(np.ma.masked_invalid(values), cmap=shades, aspect="auto", vmin=low, vmax=high)
    best = best_on_maps(matrix, lower)
    for row, algorithm in enumerate(algorithms):
        for column, name in enumerate(maps):
            cell = matrix[algorithm][name]
            if cell.n:
                weight = "bold" if (algorithm, name) in best else "normal"
                axes.text(column, row, _cell(cell), ha="center", va="center", fontsize="x-small", fontweight=weight)
    axes.set_xticks(range(len(maps)), [_plain(name) for name in maps])
    axes.set_yticks(range(len(algorithms)), [_plain(name) for name in algorithms])
    figure.colorbar(image, ax=axes, label=_plain(metric))
    return figure


def profile_curves(profiles: Sequence[Profile], metric: str, title: str = "") -> Figure:
    """The share of runs above every score; see `figures.profile_curves`."""
    figure, axes = _figure(5.0, 3.4, title)
    for index, profile in enumerate(profiles):
        label = f"{_plain(profile.label)} (n = {profile.n})"
        line: dict[str, Any] = {"color": color(index), "linestyle": _LINES[dash(index)], "linewidth": 1.6}
        axes.step(profile.thresholds, profile.share, where="post", label=label, **line)
        area: dict[str, Any] = {"color": color(index), "alpha": 0.18, "linewidth": 0}
        axes.fill_between(profile.thresholds, profile.low, profile.high, step="post", **area)
    axes.set_xlabel(f"{_plain(metric)} τ")
    axes.set_ylabel("share of runs with a score above τ")
    if profiles:
        axes.legend(frameon=False, fontsize="small")
    return figure


def improvement_intervals(improvements: Sequence[tuple[str, str, Estimate]], title: str = "") -> Figure:
    """P(X > Y) with its 95 % interval; see `figures.improvement_intervals`."""
    figure, axes = _figure(5.0, 1.2 + 0.35 * len(improvements), title)
    rows = [f"{x} > {y}" for x, y, _ in improvements]
    _draw_intervals(axes, rows, [estimate for *_, estimate in improvements], [color(0)] * len(rows))
    axes.axvline(0.5, color="#999999", linestyle="--", linewidth=1)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel("probability of improvement P(X > Y)")
    return figure


def aggregate_intervals(aggregates: Mapping[str, Mapping[str, Estimate]], title: str = "") -> Figure:
    """Aggregates with their 95 % intervals; see `figures.aggregate_intervals`."""
    labels = list(next(iter(aggregates.values()), {}))
    figure = Figure(figsize=(2.4 * max(1, len(aggregates)) + 0.6, 1.2 + 0.35 * len(labels)), layout="constrained")
    panels = figure.subplots(1, max(1, len(aggregates)), sharey=True, squeeze=False)[0]
    colors = [color(index) for index in range(len(labels))]
    for axes, (how, estimates) in zip(panels, aggregates.items(), strict=False):
        _draw_intervals(axes, labels, [estimates[label] for label in labels], colors)
        axes.set_title(AGGREGATE_TITLES.get(how, how), fontsize="small")
        _calm(axes)
    figure.suptitle(_plain(title), fontsize="medium")
    return figure


def _figure(width: float, height: float, title: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    axes.set_title(_plain(title), fontsize="medium", loc="left")
    _calm(axes)
    return figure, axes


def _calm(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize="small")


def _draw_intervals(axes: Axes, rows: list[str], estimates: Sequence[Estimate], colors: list[str]) -> None:
    for position, (estimate, dot) in enumerate(zip(estimates, colors, strict=True)):
        axes.plot([estimate.low, estimate.high], [position, position], color="#666666", linewidth=2, zorder=1)
        axes.plot([estimate.value], [position], "o", color=dot, zorder=2)
    axes.set_yticks(range(len(rows)), [_plain(row) for row in rows])
    axes.set_ylim(max(1, len(rows)) - 0.5, -0.5)


def _plain(text: str) -> str:
    """Text from a config, escaped: matplotlib would take parts of it for formulas."""
    return str(text).translate(_MATHS)


def _cell(cell: Estimate) -> str:
    return "\n".join(filter(None, (f"{cell.value:.2f}", cell.spread(), f"n = {cell.n}")))
