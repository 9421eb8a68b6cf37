"""Compare: curves of chosen runs, grouped by their seeds, and what differs between the runs."""

from functools import partial

from dash import html
from dash.development.base_component import Component

from browser.comparison import ONLY
from browser.page.compare.comparison_view import ComparisonView
from browser.page.compare.curves import as_file, drawn
from browser.page.compare.differences import differences
from browser.page.compare.request import (
    AXIS_TITLES,
    MOST_SMOOTHING,
    SCALES,
    SETTINGS,
    SINGLE,
    Compared,
    metric_options,
)
from browser.page.parts.components import checklist, dropdown, field, number
from browser.page.parts.filters import where_field
from browser.page.parts.frame import View
from browser.stats.bands import BANDS
from utils.plain_values import counted

PATH = "/compare"
SPREADS = {**{kind: title.partition(" with ")[0] for kind, title in BANDS.items()}, SINGLE: "every run"}


def fields(compared: Compared) -> list[Component]:
    """The controls."""
    request, options = compared.request, metric_options(compared.metrics)
    return [
        field("Statistic", dropdown("compare-metric", options, request.metric), wide=True),
        field(
            "Beside it", dropdown("compare-also", options, list(request.also), multi=True, clearable=True), wide=True
        ),
        field("Over", dropdown("compare-axis", AXIS_TITLES, request.axis)),
        field("Axes", dropdown("compare-scale", SCALES, request.scale)),
        field("Line and band", dropdown("compare-band", SPREADS, request.band)),
        field("Smoothing (values)", number("compare-smoothing", request.smoothing, 1, MOST_SMOOTHING)),
        field(
            "Grouped by",
            dropdown("compare-group", compared.keys, list(request.group), multi=True, searchable=True),
            wide=True,
        ),
        field(
            "Published curves",
            dropdown(
                "compare-reference",
                compared.references,
                list(request.reference),
                multi=True,
                searchable=True,
                clearable=True,
            ),
            wide=True,
        ),
        field("Only", checklist("compare-only", ONLY, request.only)),
        where_field("compare-where", request.where),
    ]


def draw(compared: Compared) -> tuple:
    """The parts above the differences."""
    comparison = compared.comparison
    counts = (len(comparison.runs), "run"), (len(comparison.groups), "group"), (len(comparison.maps), "map")
    cautions, legend, cards = drawn(compared, PATH)
    bar = [
        html.Span(" · ".join(counted(n, word) for n, word in counts), className="count"),
        html.Span(className="gap"),
        html.Button("Curves as CSV", id="compare-csv", className="small"),
        html.Button("JSON", id="compare-json", className="small"),
    ]
    return cautions, bar, legend, cards


COMPARE = ComparisonView(
    name="compare",
    path=PATH,
    controls=("metric", "also", "axis", "scale", "band", "smoothing", "group", "reference", "only", "where"),
    fields=fields,
    parts={"cautions": "", "bar": "bar", "legend": "", "figures": "cards linked", "differences": "view"},
    draw=draw,
    files={form: partial(as_file, form=form) for form in ("csv", "json")},
    lasting=differences,
)
VIEW = View(PATH, SETTINGS, COMPARE.layout, COMPARE.register, "Compare")
