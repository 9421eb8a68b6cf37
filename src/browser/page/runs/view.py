"""The table of all runs, which follows the folder as it changes."""

import json
from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update
from dash_ag_grid import AgGrid

from browser.page.parts import address
from browser.page.parts.components import EVERY_COLUMN, GRID_OPTIONS, dropdown, field, notices, table_buttons
from browser.page.parts.context import Context
from browser.page.parts.limits import MOST_MESSAGES, MOST_RUNS
from browser.page.runs.columns import CONFIG, ROLL_UPS, Column, Usual, definitions, parse_column, usual_columns
from browser.page.runs.rows import RowTracker
from browser.reading import varying_keys
from browser.reading.configs import config_keys
from browser.usual import metric_counts
from utils.nearest import suggestion

PATH = "/"
TITLE = "Runs"
SETTINGS = ("columns", "archived", "runs", "filter", "search", "sort")

MOST_COLUMNS = 30


def layout(context: Context, query: dict[str, str]) -> html.Div:
    """The table as an address wants it: its columns, filters, order, ticks and search."""
    wrong: list[str] = []
    runs = context.runs()
    known, usual = known_columns(context)
    columns = asked_columns(known, address.names(query, "columns"), wrong)
    archived = query.get("archived") == "1"
    changes = tracker(context).changes([*usual.columns(), *columns], archived)
    _, unknown = context.chosen(address.names(query, "runs"))
    if unknown:
        wrong.append(f"There is no run '{unknown[0][:100]}' in this folder.")
    if len(runs) > MOST_RUNS:
        wrong.append(f"The newest {MOST_RUNS:,} of {len(runs):,} runs are shown.")
    ticked = [run_id for run_id in address.names(query, "runs") if run_id not in unknown]
    grid = AgGrid(
        id="runs-grid",
        columnDefs=definitions(columns, usual, context.write, _sort(query)),
        rowData=changes.added,
        getRowId="params.data.id",
        selectedRows={"ids": ticked},
        filterModel=_filter_model(query, wrong),
        defaultColDef={**EVERY_COLUMN, "floatingFilter": True, "suppressFloatingFilterButton": True},
        dashGridOptions={
            **GRID_OPTIONS,
            "rowSelection": {"mode": "multiRow", "selectAll": "filtered", "enableClickSelection": False},
            "selectionColumnDef": {"pinned": "left", "width": 48},
            "quickFilterText": query.get("search", ""),
            "rowHeight": 36,
            "localeText": {"noRowsToShow": "No runs yet. New runs will appear here."},
        },
        csvExportParams={"fileName": "runs.csv"},
        className="ag-theme-quartz grid tall",
        style={"height": None},
    )
    controls = [
        field(
            "Search",
            dcc.Input(id="runs-search", type="search", value=query.get("search", ""), placeholder="any text"),
        ),
        field(
            "More columns",
            dropdown(
                "runs-columns",
                _offered(context, known, columns),
                [column.name for column in columns],
                multi=True,
                clearable=True,
                searchable=True,
                placeholder="config keys and statistics",
            ),
            wide=True,
        ),
        dcc.Checklist(
            id="runs-archived",
            options=[{"value": "1", "label": "show archived"}],
            value=["1"] if archived else [],
            className="check",
        ),
    ]
    bar = html.Div(
        [
            html.Span(f"{len(runs):,} runs", id="runs-count", className="count"),
            html.Button("Compare", id="runs-compare", className="primary"),
            html.Button("Matrix", id="runs-matrix"),
            html.Span(className="gap"),
            *table_buttons("runs-grid", "runs"),
        ],
        className="bar",
    )
    return html.Div(
        [
            html.Div(controls, className="controls"),
            notices(wrong),
            bar,
            grid,
            dcc.Store(id="runs-revision", data=changes.revision),
            dcc.Store(id="runs-usual", data=list(usual)),
        ],
        className="view runs",
    )


def register(app: Dash, context: Context) -> None:
    """Its callbacks."""

    @app.callback(
        Output("runs-grid", "rowTransaction"),
        Output("runs-revision", "data"),
        Output("runs-grid", "columnDefs", allow_duplicate=True),
        Output("runs-grid", "rowData", allow_duplicate=True),
        Output("runs-usual", "data"),
        Input("tick", "n_intervals"),
        State("runs-revision", "data"),
        State("runs-usual", "data"),
        State("runs-columns", "value"),
        State("runs-archived", "value"),
        prevent_initial_call=True,
    )
    def follow(_: Any, revision: str | None, usual: Any, columns: list[str] | None, archived: list[str] | None):
        return news(context, revision, usual, columns, archived)

    @app.callback(
        Output("runs-grid", "columnDefs"),
        Output("runs-grid", "rowData"),
        Output("runs-revision", "data", allow_duplicate=True),
        Input("runs-columns", "value"),
        Input("runs-archived", "value"),
        prevent_initial_call=True,
    )
    def choose(columns: list[str] | None, archived: list[str] | None):
        return chosen_table(context, columns, archived)

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
        prevent_initial_call=True,
    )
    for button, path in (("runs-compare", "/compare"), ("runs-matrix", "/matrix")):
        app.clientside_callback(
            ClientsideFunction("muster", f"open_{path[1:]}"),
            Output("url", "pathname", allow_duplicate=True),
            Output("url", "search", allow_duplicate=True),
            Input(button, "n_clicks"),
            State("runs-grid", "selectedRows"),
            prevent_initial_call=True,
        )


def news(context: Context, revision: str | None, shown: Any, columns: Any, archived: Any) -> tuple:
    """The changes of a table since a revision.

    Args:
        shown: the `Usual` columns that it has, as a list.

    Returns:
        A row transaction and the new revision; or, when this server does not know what the table has, the revision with
        all rows; or, when new runs need other usual columns, definitions and those columns, too. `no_update` for
        unchanged parts.
    """
    known, usual = known_columns(context)
    if json.dumps(shown) != json.dumps(usual):
        definitions_now, rows, new = chosen_table(context, columns, archived)
        return no_update, new, definitions_now, rows, list(usual)
    chosen = asked_columns(known, _texts(columns), [])
    changes = tracker(context).changes([*usual.columns(), *chosen], bool(archived), str(revision or ""))
    if not changes:
        return (no_update,) * 5
    if changes.whole:
        return no_update, changes.revision, no_update, changes.added, no_update
    transaction = {"add": changes.added, "update": changes.updated, "remove": [{"id": key} for key in changes.removed]}
    made = {what: rows for what, rows in transaction.items() if rows} | {"addIndex": 0}
    return made, changes.revision, *(no_update,) * 3


def chosen_table(context: Context, columns: Any, archived: Any) -> tuple[list[dict], list[dict], str]:
    """Definitions of the chosen columns, all rows, and their revision."""
    known, usual = known_columns(context)
    chosen = asked_columns(known, _texts(columns), [])
    changes = tracker(context).changes([*usual.columns(), *chosen], bool(archived))
    return definitions(chosen, usual, context.write), changes.added, changes.revision


def tracker(context: Context) -> RowTracker:
    """The folder's rows, kept with the context."""
    return context.kept("rows", lambda: RowTracker(context))


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
    return {name: parse_column(name).title for name in ordered}


def _texts(values: Any) -> list[str]:
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []


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
