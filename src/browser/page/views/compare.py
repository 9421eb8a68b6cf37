"""Curves of chosen runs, grouped by their seeds, and what differs between the runs."""

import csv
import hashlib
import io
import json
from typing import Any

from dash import Dash, Input, Output, State, ctx, dcc, html, no_update
from dash.exceptions import PreventUpdate

from browser.comparison import NO_MAP
from browser.figures import learning_curves, metric_title, run_curves
from browser.page.comparing import MOST_SMOOTHING, Compared, compare, metric_options, query_of, settled, stands_for
from browser.page.components import (
    card,
    dropdown,
    field,
    graph,
    notices,
    number,
    png_button,
    run_title,
    table,
    table_buttons,
)
from browser.page.context import Context
from browser.page.differences import config_rows, difference_columns, source_rows
from browser.page.frame import follow_address
from browser.stats.bands import BANDS

PATH = "/compare"
TITLE = "Compare"

SINGLE = "runs"
SPREADS = {**{kind: title.partition(" with ")[0] for kind, title in BANDS.items()}, SINGLE: "every run"}
AXIS_TITLES = {"steps": "environment steps", "episodes": "episodes", "seconds": "wall-clock"}
# figures on one page, and lines in one of them, beyond which a browser would stall
MOST_MAPS = 24
MOST_LINES = 200

_CONTROLS = ("metric", "axis", "band", "smoothing", "group")


def layout(context: Context, query: dict[str, str]) -> html.Div:
    """The comparison that an address asks for."""
    query, single = _without_single(query)
    compared = compare(context, query)
    if not compared.runs:
        return html.Div([notices(compared.wrong), html.Div([html.H1("No runs to compare")], className="empty")])
    wish = compared.wish
    figures, digest = drawn(compared, single)
    controls = [
        field("Statistic", dropdown("compare-metric", metric_options(compared.metrics), wish.metric), wide=True),
        field("Over", dropdown("compare-axis", AXIS_TITLES, wish.axis)),
        field("Line and band", dropdown("compare-band", SPREADS, SINGLE if single else wish.band)),
        field("Smoothing (values)", number("compare-smoothing", wish.smoothing, 1, MOST_SMOOTHING)),
        field(
            "Grouped by",
            dropdown("compare-group", compared.keys, list(wish.group), multi=True, searchable=True),
            wide=True,
        ),
    ]
    configs, sources = config_rows(compared.runs), source_rows(context, compared.runs)
    bar = [
        html.Span(_summary(compared), className="count"),
        html.Span(className="gap"),
        html.Button("Curves as CSV", id="compare-csv", className="small"),
        html.Button("JSON", id="compare-json", className="small"),
    ]
    return html.Div(
        [
            html.Div(controls, className="controls"),
            html.Div(notices(compared.wrong), id="compare-wrong"),
            html.Div(bar, className="bar"),
            html.Div(figures, id="compare-figures", className="cards"),
            _differences("Config differences", "compare-configs", "key", configs, compared),
            _differences("Source and packages", "compare-sources", "what", sources, compared),
            dcc.Store(id="compare-address", data=_address(compared, single)),
            dcc.Store(id="compare-runs", data=list(wish.runs)),
            dcc.Store(id="compare-digest", data=digest),
            dcc.Download(id="compare-download"),
        ],
        className="view",
    )


def register(app: Dash, context: Context) -> None:
    """Its callbacks."""
    follow_address(app, "compare-address")
    controls = [State("compare-runs", "data")] + [State(f"compare-{name}", "value") for name in _CONTROLS]

    @app.callback(
        Output("compare-figures", "children"),
        Output("compare-digest", "data"),
        Output("compare-wrong", "children"),
        Output("compare-address", "data"),
        [Input(f"compare-{name}", "value") for name in _CONTROLS],
        State("compare-runs", "data"),
        prevent_initial_call=True,
    )
    def change(metric: Any, axis: Any, band: Any, smoothing: Any, group: Any, runs: Any):
        return changed(context, query_of(runs, metric=metric, axis=axis, band=band, smoothing=smoothing, group=group))

    @app.callback(
        Output("compare-figures", "children", allow_duplicate=True),
        Output("compare-digest", "data", allow_duplicate=True),
        Input("tick", "n_intervals"),
        State("compare-digest", "data"),
        *controls,
        prevent_initial_call=True,
    )
    def follow(_: Any, digest: Any, runs: Any, *values: Any):
        return grown(context, query_of(runs, **dict(zip(_CONTROLS, values, strict=True))), digest)

    @app.callback(
        Output("compare-download", "data"),
        Input("compare-csv", "n_clicks"),
        Input("compare-json", "n_clicks"),
        *controls,
        prevent_initial_call=True,
    )
    def save(csv_clicks: Any, json_clicks: Any, runs: Any, *values: Any):
        if not (csv_clicks or json_clicks):
            raise PreventUpdate
        query = query_of(runs, **dict(zip(_CONTROLS, values, strict=True)))
        return exported(context, query, "json" if ctx.triggered_id == "compare-json" else "csv")


def changed(context: Context, query: dict[str, str]) -> tuple[list, str, Any, str]:
    """After a control was changed: figures, their digest, what is wrong, and the address."""
    query, single = _without_single(query)
    compared = compare(context, query)
    figures, digest = drawn(compared, single)
    return figures, digest, notices(compared.wrong), _address(compared, single)


def grown(context: Context, query: dict[str, str], digest: str | None) -> tuple[Any, Any]:
    """Figures and digest anew if runs have gone on since; nothing otherwise."""
    if settled(context, query, digest):
        return no_update, no_update
    query, single = _without_single(query)
    figures, now = drawn(compare(context, query), single)
    return (no_update, no_update) if now == digest else (figures, now)


def drawn(compared: Compared, single: bool) -> tuple[list, str]:
    """A card with a figure per map, and a digest of what they show."""
    wish, comparison = compared.wish, compared.comparison
    cards, digest = [], hashlib.sha256()
    for index, name in enumerate(comparison.maps[:MOST_MAPS]):
        if single:
            figure = run_curves(_single_curves(compared, name), wish.metric, wish.axis)
        else:
            bands = comparison.bands(wish.metric, name, wish.band, wish.axis, wish.smoothing)
            figure = learning_curves(bands, wish.metric)
        if not figure.data:
            continue
        figure.update_layout(legend={"orientation": "h", "y": -0.2, "x": 0}, margin={"t": 12})
        digest.update(figure.to_json().encode())
        known = name != NO_MAP
        title, file_name = name if known else metric_title(wish.metric), wish.metric + (f"_{name}" if known else "")
        tools = [png_button(f"curves-{index}", file_name)]
        cards.append(card(title, graph(figure, f"curves-{index}"), tools=tools, key=name))
    if not cards:
        cards = [card("No curves", html.P("None of these runs has logged this statistic on this axis."))]
    if len(comparison.maps) > MOST_MAPS:
        cards.append(card("More maps", html.P(f"The first {MOST_MAPS} of {len(comparison.maps)} maps are shown.")))
    return cards, stands_for(compared.runs) + digest.hexdigest()


def curve_rows(compared: Compared) -> list[dict[str, Any]]:
    """The bands of all maps as rows: a row per map, algorithm and position."""
    wish, rows = compared.wish, []
    for name in compared.comparison.maps:
        for band in compared.comparison.bands(wish.metric, name, wish.band, wish.axis, wish.smoothing):
            numbers = zip(band.x, band.center, band.low, band.high, band.n, strict=True)
            for x, center, low, high, n in numbers:
                values = {wish.axis: x, wish.band: center, "low": low, "high": high}
                texts = {key: None if value != value else float(value) for key, value in values.items()}
                rows.append({"map": name, "algorithm": band.label, "metric": wish.metric, **texts, "n": int(n)})
    return rows


def exported(context: Context, query: dict[str, str], form: str) -> dict[str, str]:
    """The curves as a file: "csv" or "json"."""
    query, _ = _without_single(query)
    rows = curve_rows(compare(context, query))
    if form == "json":
        return {"content": json.dumps(rows, indent=1), "filename": "curves.json"}
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]) if rows else ["map"])
    writer.writeheader()
    writer.writerows(rows)
    return {"content": text.getvalue(), "filename": "curves.csv"}


def _single_curves(compared: Compared, map_name: str) -> dict:
    curves = {}
    for run in [run for run in compared.runs if compared.comparison.map_of(run) == map_name][:MOST_LINES]:
        curve = compared.comparison.curve(run, compared.wish.metric)
        if curve is not None:
            curves[run_title(run)] = curve
    return curves


def _differences(title: str, grid_id: str, what: str, rows: list[dict], compared: Compared) -> html.Section:
    runs = compared.runs
    if not rows:
        alike = "This run is alone." if len(runs) == 1 else f"All {len(runs)} runs agree."
        return card(title, html.P(alike, className="note"))
    note = f"{len(rows)} rows in which the {len(runs)} runs differ; what differs from the first run is marked."
    columns = difference_columns(runs, what)
    return card(
        title, html.P(note, className="note"), table(grid_id, columns, rows), tools=table_buttons(grid_id, grid_id)
    )


def _summary(compared: Compared) -> str:
    runs, groups, maps = len(compared.runs), len(compared.comparison.groups), len(compared.comparison.maps)
    counts = ((runs, "run"), (groups, "group"), (maps, "map"))
    return " · ".join(f"{n} {word}{'' if n == 1 else 's'}" for n, word in counts)


def _without_single(query: dict[str, str]) -> tuple[dict[str, str], bool]:
    single = query.get("band") == SINGLE
    return {key: value for key, value in query.items() if not (single and key == "band")}, single


def _address(compared: Compared, single: bool) -> str:
    own = compared.wish.address(PATH)
    return f"{own}{'&' if '?' in own else '?'}band={SINGLE}" if single else own
