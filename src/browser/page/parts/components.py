"""Small parts that several views are put together from. Dash shows every text as text, never as markup."""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go
from dash import dcc, html
from dash_ag_grid import AgGrid

from browser.figures import CONFIG
from browser.page.parts.limits import LONGEST_FACT, cell, fitting, left_out, short
from browser.reading import Run

GRID_OPTIONS = {
    "suppressFieldDotNotation": True,
    "enableCellTextSelection": True,
    "ensureDomOrder": True,
    "animateRows": False,
    "tooltipShowDelay": 300,
}


# of every table; without the last one, a column's type would be guessed from its first value
EVERY_COLUMN = {
    "resizable": True,
    "sortable": True,
    "filter": True,
    "suppressHeaderFilterButton": True,
    "wrapHeaderText": True,
    "autoHeaderHeight": True,
    "useValueFormatterForExport": False,
    "cellDataType": False,
}


def field(label: str, control: Any, wide: bool = False) -> html.Div:
    """A control under its label."""
    return html.Div([html.Span(label, className="label"), control], className="field wide" if wide else "field")


def dropdown(control_id: Any, options: Mapping[str, str] | Sequence[str], value: Any, **changes: Any) -> dcc.Dropdown:
    """A choice, with a search box when there is much to choose from."""
    pairs = options.items() if isinstance(options, Mapping) else [(name, name) for name in options]
    listed = [{"value": name, "label": short(title)} for name, title in pairs]
    offered = fitting(listed)
    if more := left_out("choices", listed, offered):
        offered.append({"value": "", "label": f"{more} The address accepts all of them.", "disabled": True})
    return dcc.Dropdown(
        id=control_id, options=offered, value=value, **{"clearable": False, "searchable": len(listed) > 8, **changes}
    )


def number(control_id: str, value: int | None, low: int, high: int, **changes: Any) -> dcc.Input:
    """A whole number."""
    return dcc.Input(
        id=control_id,
        type="number",
        value=value,
        min=low,
        max=high,
        step=1,
        debounce=True,
        className="number",
        **changes,
    )


def card(title: str, *content: Any, tools: Sequence[Any] = (), **changes: Any) -> html.Section:
    """A part of a view under its heading, with tools at the right of that."""
    head = html.Div([html.H2(title), html.Div(list(tools), className="tools")], className="head")
    return html.Section([head, *content], className="card", **changes)


def graph(figure: go.Figure, graph_id: Any) -> dcc.Graph:
    """A figure that keeps its zoom when it is redrawn."""
    figure.update_layout(uirevision="kept", font_size=12, title_font_size=13)
    figure.update_xaxes(title_font_size=12)
    figure.update_yaxes(title_font_size=12)
    height = figure.layout.height or 400
    return dcc.Graph(id=graph_id, figure=figure, config=CONFIG, style={"height": f"{height}px"})


def png_button(graph_id: str, file_name: str, legend: bool = False) -> html.Button:
    """Saves a figure as an image; done in the browser, see assets/muster.js.

    Args:
        legend: give the image a legend, though the figure on the page has none.
    """
    more = {"data-legend": "yes"} if legend else {}
    return _saving("PNG", {"data-png": graph_id, "data-file": file_name, **more})


def table_buttons(grid_id: str, file_name: str) -> list[html.Button]:
    """Save a table's rows as they are filtered and sorted; done in the browser, see assets/muster.js."""
    shared = {"data-grid": grid_id, "data-file": file_name}
    return [_saving(form.upper(), {**shared, "data-table": form}) for form in ("csv", "json")]


def _saving(title: str, data: dict[str, Any]) -> html.Button:
    return html.Button(title, className="small", **data)


def table(grid_id: str, columns: list[dict], rows: list[dict], **changes: Any) -> html.Div:
    """A table that grows with its rows; long ones scroll, and of endless ones the beginning is shown."""
    shown = fitting({key: cell(value) for key, value in row.items()} for row in rows)
    few = len(shown) <= 14
    options = {**GRID_OPTIONS, **({"domLayout": "autoHeight"} if few else {})}
    grid = AgGrid(
        id=grid_id,
        columnDefs=columns,
        rowData=shown,
        defaultColDef=EVERY_COLUMN,
        dashGridOptions=options,
        className="ag-theme-quartz grid",
        style={"height": None if few else "460px"},
        **changes,
    )
    more = left_out("rows", rows, shown)
    return html.Div([html.P(more, className="note"), grid] if more else grid)


def facts(pairs: Mapping[str, Any]) -> html.Dl:
    """Names and values; empty values are left out."""
    given = [(name, value) for name, value in pairs.items() if value not in (None, "", [], ())]
    shown = [(short(name), short(value, LONGEST_FACT) if isinstance(value, str) else value) for name, value in given]
    return html.Dl([part for name, value in shown for part in (html.Dt(name), html.Dd(value))], className="facts")


def status_badge(status: str) -> html.Span:
    """A status in its colour."""
    return html.Span(status.lower().replace("_", " "), className=f"badge {status_class(status)}")


def status_class(status: str) -> str:
    """The class of a status' colour; assets/muster.js has the same for the table."""
    known = {"RUNNING": "running", "COMPLETED": "done", "QUEUED": "quiet", "UNKNOWN": "quiet"}
    return known.get(status, "bad")


def run_title(run: Run) -> str:
    """A run in a few words: its id, algorithm, map and seed."""
    newest = run.newest
    seed = "" if newest.seed is None else short(f"seed {newest.seed}")
    return " · ".join(part for part in (newest.id, newest.name, newest.map_name, seed) if part)


def checklist(control_id: str, options: Mapping[str, str], chosen: Sequence[str]) -> dcc.Checklist:
    """Choices that can be made together."""
    listed = [{"value": name, "label": title} for name, title in options.items()]
    return dcc.Checklist(id=control_id, options=listed, value=list(chosen), className="check")


def notices(sentences: Sequence[str]) -> html.Div | None:
    """The problems of an address."""
    return html.Div([html.P(sentence) for sentence in sentences], className="warning") if sentences else None
