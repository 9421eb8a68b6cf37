"""Curves of chosen runs, grouped by their seeds, and what differs between the runs."""

from typing import Any, NamedTuple

from dash import Dash, Input, Output, State, ctx, dcc, html, no_update
from dash.exceptions import PreventUpdate

from browser.comparison import ONLY
from browser.page.compare.comparing import (
    AXIS_TITLES,
    MOST_SMOOTHING,
    SINGLE,
    WISHES,
    Compared,
    compare,
    metric_options,
    query_of,
    settled,
)
from browser.page.compare.curves import as_file, drawn, same_runs
from browser.page.parts.components import card, checklist, dropdown, field, notices, number, table, table_buttons
from browser.page.parts.context import Context
from browser.page.parts.differences import MOST_COMPARED, config_rows, difference_columns, source_rows
from browser.page.parts.frame import follow_address
from browser.reading import Run
from browser.stats.bands import BANDS

PATH = "/compare"
TITLE = "Compare"
SETTINGS = WISHES

SPREADS = {**{kind: title.partition(" with ")[0] for kind, title in BANDS.items()}, SINGLE: "every run"}

_CONTROLS = ("metric", "axis", "band", "smoothing", "group", "only")


class Shown(NamedTuple):
    """The parts of the view of a comparison, in the order of _SHOWN."""

    figures: Any
    digest: Any
    legend: Any
    cautions: Any
    summary: Any
    differences: Any


# the component and its property that each part of `Shown` belongs to
_SHOWN = (
    ("compare-figures", "children"),
    ("compare-digest", "data"),
    ("compare-legend", "children"),
    ("compare-cautions", "children"),
    ("compare-summary", "children"),
    ("compare-differences", "children"),
)


def layout(context: Context, query: dict[str, str]) -> html.Div:
    """The comparison that an address asks for."""
    compared = compare(context, query)
    if not compared.runs:
        return html.Div([notices(compared.wrong), html.Div([html.H1("No runs to compare")], className="empty")])
    wish = compared.wish
    shown = shown_of(context, compared)
    controls = [
        field("Statistic", dropdown("compare-metric", metric_options(compared.metrics), wish.metric), wide=True),
        field("Over", dropdown("compare-axis", AXIS_TITLES, wish.axis)),
        field("Line and band", dropdown("compare-band", SPREADS, wish.band)),
        field("Smoothing (values)", number("compare-smoothing", wish.smoothing, 1, MOST_SMOOTHING)),
        field(
            "Grouped by",
            dropdown("compare-group", compared.keys, list(wish.group), multi=True, searchable=True),
            wide=True,
        ),
        field("Only", checklist("compare-only", ONLY, wish.only)),
    ]
    bar = [
        html.Span(shown.summary, id="compare-summary", className="count"),
        html.Span(className="gap"),
        html.Button("Curves as CSV", id="compare-csv", className="small"),
        html.Button("JSON", id="compare-json", className="small"),
    ]
    return html.Div(
        [
            html.Div(controls, className="controls"),
            html.Div(notices(compared.wrong), id="compare-wrong"),
            html.Div(shown.cautions, id="compare-cautions"),
            html.Div(bar, className="bar"),
            html.Div(shown.legend, id="compare-legend"),
            html.Div(shown.figures, id="compare-figures", className="cards"),
            html.Div(shown.differences, id="compare-differences", className="view"),
            dcc.Store(id="compare-address", data=wish.address(PATH)),
            dcc.Store(id="compare-runs", data=list(wish.runs)),
            dcc.Store(id="compare-hide", data=list(wish.hide)),
            dcc.Store(id="compare-digest", data=shown.digest),
            dcc.Download(id="compare-download"),
        ],
        className="view",
    )


def register(app: Dash, context: Context) -> None:
    """Its callbacks."""
    follow_address(app, "compare-address")
    kept = [State("compare-runs", "data"), State("compare-hide", "data")]
    controls = [*kept, *(State(f"compare-{name}", "value") for name in _CONTROLS)]

    @app.callback(
        [Output(*part) for part in _SHOWN],
        Output("compare-wrong", "children"),
        Output("compare-address", "data"),
        [Input(f"compare-{name}", "value") for name in _CONTROLS],
        State("compare-digest", "data"),
        *kept,
        prevent_initial_call=True,
    )
    def change(*arguments: Any):
        *values, digest, runs, hide = arguments
        shown, wrong, own = changed(context, _query(runs, hide, values), digest)
        return *shown, wrong, own

    @app.callback(
        [Output(*part, allow_duplicate=True) for part in _SHOWN],
        Input("tick", "n_intervals"),
        State("compare-digest", "data"),
        *controls,
        prevent_initial_call=True,
    )
    def follow(_: Any, digest: Any, runs: Any, hide: Any, *values: Any):
        return grown(context, _query(runs, hide, values), digest)

    @app.callback(
        Output("compare-download", "data"),
        Input("compare-csv", "n_clicks"),
        Input("compare-json", "n_clicks"),
        *controls,
        prevent_initial_call=True,
    )
    def save(csv_clicks: Any, json_clicks: Any, runs: Any, hide: Any, *values: Any):
        if not (csv_clicks or json_clicks):
            raise PreventUpdate
        return exported(context, _query(runs, hide, values), "json" if ctx.triggered_id == "compare-json" else "csv")


def changed(context: Context, query: dict[str, str], digest: str | None = None) -> tuple[Shown, Any, str]:
    """After a control was changed: what is shown, what is wrong, and the address."""
    compared = compare(context, query)
    return shown_of(context, compared, digest), notices(compared.wrong), compared.wish.address(PATH)


def grown(context: Context, query: dict[str, str], digest: str | None) -> Shown:
    """The view's parts, if runs have logged, ended or appeared since the digest; else no updates."""
    unchanged = Shown(*(no_update for _ in _SHOWN))
    if settled(context, query, digest):
        return unchanged
    shown = shown_of(context, compare(context, query), digest)
    return unchanged if shown.digest == digest else shown


def shown_of(context: Context, compared: Compared, digest: str | None = None) -> Shown:
    """Everything below the controls; the differences of the runs only if they are not those of the digest."""
    figures = drawn(compared, PATH)
    differences = no_update if same_runs(figures.digest, digest) else _differences(context, compared)
    return Shown(figures.cards, figures.digest, figures.legend, figures.cautions, _summary(compared), differences)


def exported(context: Context, query: dict[str, str], form: str) -> dict[str, str]:
    """The curves as a file: "csv" or "json"."""
    return as_file(compare(context, query), form)


def _query(runs: Any, hide: Any, values: Any) -> dict[str, str]:
    return query_of(runs, hide=hide, **dict(zip(_CONTROLS, values, strict=True)))


def _differences(context: Context, compared: Compared) -> list[html.Section]:
    runs = compared.comparison.runs
    return [
        _difference_table("Config differences", "compare-configs", "key", config_rows(runs), runs),
        _difference_table("Source and packages", "compare-sources", "what", source_rows(context, runs), runs),
    ]


def _difference_table(title: str, grid_id: str, what: str, rows: list[dict], runs: list[Run]) -> html.Section:
    if not rows:
        alike = "There is only one run." if len(runs) == 1 else f"All {len(runs)} runs agree."
        return card(title, html.P(alike, className="note"))
    note = f"{len(rows)} rows in which the {len(runs)} runs differ; differences from the first run are marked."
    if len(runs) > MOST_COMPARED:
        note += f" The first {MOST_COMPARED} runs have a column."
    columns = difference_columns(runs, what)
    return card(
        title, html.P(note, className="note"), table(grid_id, columns, rows), tools=table_buttons(grid_id, grid_id)
    )


def _summary(compared: Compared) -> str:
    runs, groups, maps = len(compared.comparison.runs), len(compared.comparison.groups), len(compared.comparison.maps)
    counts = ((runs, "run"), (groups, "group"), (maps, "map"))
    return " · ".join(f"{n} {word}{'' if n == 1 else 's'}" for n, word in counts)
