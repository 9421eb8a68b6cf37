"""The table of all runs, which follows the folder as it changes."""

import json
from collections.abc import Mapping
from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update
from dash.exceptions import PreventUpdate
from dash_ag_grid import AgGrid

from browser.page.parts import address
from browser.page.parts.components import EVERY_COLUMN, GRID_OPTIONS, dropdown, field, notices, table_buttons
from browser.page.parts.context import Context, revision_of
from browser.page.parts.filters import meeting, run_filter, where_field
from browser.page.parts.frame import View
from browser.page.parts.limits import MOST_MESSAGES, MOST_RUNS
from browser.page.runs.columns import CONFIG, ROLL_UPS, Column, Usual, definitions, parse_column, usual_columns
from browser.page.runs.rows import Row, Rows
from browser.reading import Run, varying_keys
from browser.reading.configs import config_keys
from browser.usual import metric_counts
from utils.nearest import suggestion

MOST_COLUMNS = 30


def layout(context: Context, query: dict[str, str]) -> html.Div:
    """The table as an address wants it: its columns, filters, order, ticks and search."""
    wrong: list[str] = []
    runs = context.runs()
    known, usual = known_columns(context)
    columns = asked_columns(known, address.names(query, "columns"), wrong)
    archived = query.get("archived") == "1"
    kept, where = meeting(context, runs, query.get("where", ""), wrong)
    rows = _meeting(_rows(context, usual, columns, archived), kept, where)
    asked = address.names(query, "runs")
    _, unknown = context.chosen(asked)
    if unknown:
        wrong.append(f"There is no run '{unknown[0][:100]}' in this folder.")
    if len(runs) > MOST_RUNS:
        wrong.append(f"The newest {MOST_RUNS:,} of {len(runs):,} runs are shown.")
    search = query.get("search", "")
    grid = AgGrid(
        id="runs-grid",
        columnDefs=definitions(columns, usual, context.write, _sort(query)),
        rowData=rows,
        # by which the table finds out for itself what has changed, and keeps the rest: ticks, filters, its place
        getRowId="params.data.id",
        selectedRows={"ids": [run_id for run_id in asked if run_id not in unknown]},
        filterModel=_filter_model(query, wrong),
        defaultColDef={**EVERY_COLUMN, "floatingFilter": True, "suppressFloatingFilterButton": True},
        dashGridOptions={
            **GRID_OPTIONS,
            "rowSelection": {"mode": "multiRow", "selectAll": "filtered", "enableClickSelection": False},
            "selectionColumnDef": {"pinned": "left", "width": 48},
            "quickFilterText": search,
            "rowHeight": 36,
            "localeText": {"noRowsToShow": "No runs yet. New runs will appear here."},
        },
        csvExportParams={"fileName": "runs.csv"},
        className="ag-theme-quartz grid tall",
        style={"height": None},
    )
    more_columns = dropdown(
        "runs-columns",
        _offered(context, known, columns),
        [column.name for column in columns],
        multi=True,
        clearable=True,
        searchable=True,
        placeholder="config keys and statistics",
    )
    controls = [
        field("Search", dcc.Input(id="runs-search", type="search", value=search, placeholder="any text")),
        where_field("runs-where", where),
        field("More columns", more_columns, wide=True),
        dcc.Checklist(
            id="runs-archived",
            options=[{"value": "1", "label": "show archived"}],
            value=["1"] if archived else [],
            className="check",
        ),
    ]
    bar = [
        html.Span(f"{len(runs):,} runs", id="runs-count", className="count"),
        html.Button("Compare", id="runs-compare", className="primary"),
        html.Button("Results table", id="runs-results"),
        html.Button("Hyperparameters", id="runs-hyperparameters"),
        html.Span(className="gap"),
        *table_buttons("runs-grid", "runs"),
    ]
    return html.Div(
        [
            html.Div(controls, className="controls"),
            notices(wrong),
            html.Div(bar, className="bar"),
            grid,
            dcc.Store(id="runs-revision", data=_revision(usual, columns, rows)),
        ],
        className="view runs",
    )


def register(app: Dash, context: Context) -> None:
    """Its callbacks."""

    @app.callback(
        Output("runs-grid", "columnDefs"),
        Output("runs-grid", "rowData"),
        Output("runs-revision", "data"),
        Input("tick", "n_intervals"),
        Input("runs-columns", "value"),
        Input("runs-archived", "value"),
        Input("runs-where", "value"),
        State("runs-revision", "data"),
        prevent_initial_call=True,
    )
    def follow(_: Any, columns: Any, archived: Any, where: Any, revision: Any) -> tuple:
        return refreshed(context, columns, archived, revision, where)

    app.clientside_callback(
        ClientsideFunction("muster", "search"),
        Output("runs-grid", "dashGridOptions"),
        Input("runs-search", "value"),
        State("runs-grid", "dashGridOptions"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("muster", "runs"),
        Output("address", "data", allow_duplicate=True),
        Output("runs-count", "children"),
        Output("runs-compare", "children"),
        Input("runs-grid", "selectedRows"),
        Input("runs-grid", "filterModel"),
        Input("runs-grid", "virtualRowData"),
        Input("runs-search", "value"),
        Input("runs-columns", "value"),
        Input("runs-archived", "value"),
        Input("runs-where", "value"),
        prevent_initial_call=True,
    )
    for name in ("compare", "results", "hyperparameters"):
        app.clientside_callback(
            ClientsideFunction("muster", f"open_{name}"),
            Output("url", "pathname", allow_duplicate=True),
            Output("url", "search", allow_duplicate=True),
            Input(f"runs-{name}", "n_clicks"),
            State("runs-grid", "selectedRows"),
            State("runs-where", "value"),
            prevent_initial_call=True,
        )


VIEW = View("/", ("columns", "archived", "runs", "filter", "search", "sort", "where"), layout, register, "Runs")


def refreshed(
    context: Context, columns: Any, archived: Any, revision: Any, where: Any = ""
) -> tuple[Any, Any, dict[str, str]]:
    """The table's definitions of columns and its rows, `no_update` for what has not changed, and their revision.

    Args:
        columns: the chosen ones; any value is taken.
        revision: of what the asking window shows.
        where: a filter.

    Raises:
        ConfigError: the filter cannot be read.
        PreventUpdate: it shows all of it.
    """
    known, usual = known_columns(context)
    chosen = asked_columns(known, address.texts_in(columns), [])
    where, runs = where if isinstance(where, str) else "", context.runs()
    found = run_filter(context, runs, where)
    kept = [run for run in runs if found.keeps(run)]
    rows = _meeting(_rows(context, usual, chosen, bool(archived)), kept, where)
    now = _revision(usual, chosen, rows)
    if now == revision:
        raise PreventUpdate
    old = revision if isinstance(revision, Mapping) else {}
    return (
        definitions(chosen, usual, context.write) if now["columns"] != old.get("columns") else no_update,
        rows if now["rows"] != old.get("rows") else no_update,
        now,
    )


def _rows(context: Context, usual: Usual, columns: list[Column], archived: bool) -> list[Row]:
    kept: Rows = context.kept("rows", lambda: Rows(context))
    return kept.rows([*usual.columns(), *columns], archived)


def _meeting(rows: list[Row], kept: list[Run], where: str) -> list[Row]:
    """The rows of runs that a filter keeps."""
    if not where.strip():
        return rows
    ids = {run.id for run in kept}
    return [row for row in rows if row["id"] in ids]


def _revision(usual: Usual, columns: list[Column], rows: list[Row]) -> dict[str, str]:
    return {"columns": revision_of((usual, columns)), "rows": revision_of(rows)}


def known_columns(context: Context) -> tuple[list[str], Usual]:
    """The names of all columns that can be asked for, and the usual columns."""
    runs = context.runs()
    config = config_keys(run.newest for run in runs)
    counts = metric_counts(context.results, runs)
    names = [f"{CONFIG}:{key}" for key in config] + [f"{kind}:{key}" for key in counts for kind in ROLL_UPS]
    return names, usual_columns(runs, counts)


def asked_columns(known: list[str], names: list[str], wrong: list[str]) -> list[Column]:
    """The columns with these names; a sentence in `wrong` for each unknown name."""
    columns = []
    allowed = set(known)
    for name in list(dict.fromkeys(names))[:MOST_COLUMNS]:
        column = parse_column(name)
        if column is not None and name in allowed:
            columns.append(column)
        elif len(wrong) < MOST_MESSAGES:
            wrong.append(f"There is no column '{name[:100]}'.{suggestion(name[:100], known, limit=5)}")
    return columns


def _offered(context: Context, known: list[str], columns: list[Column]) -> dict[str, str]:
    """The choices of the list: first the keys in which runs differ, then statistics, then all other keys."""
    varying = [f"{CONFIG}:{key}" for key in varying_keys(run.newest for run in context.runs())]
    rolled = [name for name in known if not name.startswith(f"{CONFIG}:")]
    ordered = dict.fromkeys([*(column.name for column in columns), *varying, *rolled, *known])
    return {name: column.title for name in ordered if (column := parse_column(name)) is not None}


def _sort(query: dict[str, str]) -> tuple[str, str] | None:
    name, _, direction = query.get("sort", "").rpartition(":")
    return (name, direction) if direction in ("asc", "desc") else None


def _filter_model(query: dict[str, str], wrong: list[str]) -> dict:
    """The table's own notation of its filters; anything else would only be ignored by it."""
    text = query.get("filter", "")
    if not text:
        return {}
    try:
        model = json.loads(text)
        if isinstance(model, dict) and all(_is_filter(value) for value in model.values()):
            return model
    except (ValueError, RecursionError):
        pass
    wrong.append("The address's filter could not be read; all runs are shown.")
    return {}


def _is_filter(value: Any) -> bool:
    return isinstance(value, dict) and value.get("filterType") in ("text", "number")
