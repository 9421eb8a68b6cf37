"""Suites: how far the runs of each algorithm are on each map, as the folder changes."""

from collections.abc import Mapping, Sequence
from typing import Any

from dash import Dash, Input, Output, State, dcc, html
from dash.exceptions import PreventUpdate

from browser.figures.lineage import LineagePoint, lineage
from browser.page.parts import address
from browser.page.parts.components import card, facts, graph, table
from browser.page.parts.context import Context, revision_of
from browser.page.parts.frame import View, message
from browser.page.parts.limits import MOST_RUNS
from browser.reading.files import inside
from records.layout import SEARCH, SUITES
from suites.state.runs import FAILED
from suites.state.scores import TrialRow, settings_text, trial_rows, trials_summary
from suites.state.state import Attempt, SuiteFolder, suite_names
from suites.state.table import SuiteTable, last_line, live, suite_table
from suites.state.trials import SearchPlan, Trial
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.own_commands import as_typed
from utils.plain_values import counted, quoted
from utils.timehelper import about

PATH = "/suites"

# of the list of all
MOST_SUITES = 100
# of runs that failed
MOST_ERRORS = 50
# columns that are left out where they have nothing to show
_AT_TIMES = ("running", "failed", "speed", "left", "error")
# of a population's trials
_LINEAGE = [
    {"field": "generation", "headerName": "Generation", "width": 110},
    {"field": "member", "headerName": "Member", "width": 96},
    {"field": "copied", "headerName": "Copied", "width": 96},
]
# columns of the table of trials
MOST_SETTINGS = 50
_COLUMNS = [
    {"field": "algorithm", "headerName": "Algorithm", "flex": 1, "minWidth": 130},
    {"field": "map", "headerName": "Map", "flex": 1, "minWidth": 130},
    {"field": "done", "headerName": "Done", "width": 84},
    {"field": "runs", "headerName": "Of", "width": 72},
    {"field": "running", "headerName": "Running", "width": 96},
    {"field": "failed", "headerName": "Failed", "width": 84},
    {"field": "steps", "headerName": "Steps, %", "width": 100},
    {"field": "speed", "headerName": "Steps/s", "width": 100},
    {"field": "left", "headerName": "Left", "width": 92},
    {"field": "error", "headerName": "Last error", "flex": 2, "minWidth": 160},
]


def layout(context: Context, query: dict[str, str]) -> html.Div:
    """The view for an address: `suite` (its name); by default the list of all.

    Raises:
        ConfigError: there is no such suite, or its files are damaged.
    """
    names = suite_names(context.root)
    if not names:
        return message(
            "No suites", as_typed("python src/suite.py run SUITE starts many runs by one command (docs/suites.md).")
        )
    if not (name := query.get("suite", "")):
        rows = [html.Tr([html.Td(dcc.Link(one, href=address.link(PATH, {"suite": one}))), _line(context, one)])
                for one in names[:MOST_SUITES]]  # fmt: skip
        return html.Div([html.H1("Suites"), html.Table(rows, className="plain")], className="view")
    if name not in names:
        raise ConfigError(f"There is no suite '{name[:100]}'.{suggestion(name[:100], names, limit=20)}")
    content, revision = refreshed(context, name)
    return html.Div(
        [
            html.H1(name),
            html.Div(content, id="suite-content", className="view"),
            dcc.Store(id="suite-name", data=name),
            dcc.Store(id="suite-revision", data=revision),
        ]
    )


def register(app: Dash, context: Context) -> None:
    """The content follows the folder."""

    @app.callback(
        Output("suite-content", "children"),
        Output("suite-revision", "data"),
        Input("tick", "n_intervals"),
        State("suite-name", "data"),
        State("suite-revision", "data"),
        prevent_initial_call=True,
    )
    def follow(_: Any, name: Any, revision: Any) -> tuple[list[Any], str]:
        if not isinstance(name, str) or name not in suite_names(context.root):
            raise PreventUpdate
        return refreshed(context, name, revision)


VIEW = View(PATH, ("suite",), layout, register, "Suites")


def refreshed(context: Context, name: str, revision: Any = None) -> tuple[list[Any], str]:
    """The content of a suite's view, and its revision.

    Raises:
        PreventUpdate: the asking window has this revision.
    """
    content = content_of(context, name)
    now = revision_of(content)
    if now == revision:
        raise PreventUpdate
    return content, now


def content_of(context: Context, name: str) -> list[Any]:
    """The parts of a suite's view."""
    folder, runs, newest = _read(context, name)
    found = suite_table(runs, newest)
    total, left = found.total, found.seconds_left()
    tokens = {attempt.token for attempt in newest.values()}
    ids = [run.id for run in context.runs() if run.token in tokens][:MOST_RUNS]
    links = [
        dcc.Link(title, href=address.link(path, {"runs": ids, "group": "label"}))
        for path, title in (
            ("/results", "results table"),
            ("/compare", "curves"),
            ("/hyperparameters", "hyperparameters"),
        )
    ]
    failed = [(run, attempt) for run in runs if (attempt := newest.get(run.id)) and attempt.state == FAILED]
    return [
        facts(
            {
                "done": f"{total.done} of {counted(total.runs, 'run')}",
                "running": total.running or None,
                "failed": total.failed or None,
                "dropped": f"{total.dropped} by the search" if total.dropped else None,
                "left": f"about {about(left)}" if left and total.running else None,
                "state": "stopping" if folder.stop.exists() and total.running else None,
            }
        ),
        html.P([links[0], " · ", links[1], " · ", links[2]]) if ids else None,
        card("Algorithm × map", table("suite-grid", *_columns_and_rows(found))),
        card(
            "Runs that failed",
            *(html.Details([html.Summary(run.id), html.Pre(attempt.error)]) for run, attempt in failed[:MOST_ERRORS]),
        )
        if failed
        else None,
        *_search(folder, newest),
    ]


def _search(folder: SuiteFolder, newest: Mapping[str, Attempt]) -> list[Any]:
    """The trials of a search, the best first; nothing for other suites."""
    plan, trials = trial_rows(folder, newest)
    if not plan.method:
        return []
    settings = list(dict.fromkeys(key for row in trials for key in row.trial.settings))[:MOST_SETTINGS]
    columns = [
        {"field": "trial", "headerName": "Trial", "width": 84},
        {"field": "state", "headerName": "State", "width": 100},
        {"field": "value", "headerName": plan.metric or "Value", "width": 120},
        {"field": "done", "headerName": "Runs done", "width": 110},
        *(_LINEAGE if plan.members else ()),
        *([{"field": "minutes", "headerName": "Minutes", "width": 100}] if plan.method == "per_minute" else ()),
        # fields are numbered: a dot in one would mean something
        *({"field": f"s{i}", "headerName": key, "flex": 1, "minWidth": 110} for i, key in enumerate(settings)),
        {"field": "error", "headerName": "Error", "flex": 1, "minWidth": 110},
    ]
    rows = [
        {
            "trial": row.trial.name,
            "state": row.state,
            "value": None if row.value is None else float(f"{row.value:.4g}"),
            "done": row.done,
            **lineage_of(plan, row.trial),
            "minutes": None if row.trial.end is None else float(f"{row.trial.end.minutes:.3g}"),
            **{f"s{i}": _cell(row.trial.settings.get(key, "")) for i, key in enumerate(settings)},
            "error": last_line(row.error),
        }
        for row in trials
    ]
    shown = [card(trials_summary(plan, trials), table("trial-grid", columns, rows))]
    return [*shown, _lineage(plan, trials)] if plan.members else shown


def lineage_of(plan: SearchPlan, trial: Trial) -> dict[str, Any]:
    """What the table of trials says of a population's; nothing of others."""
    if not plan.members:
        return {}
    copied = f"t{trial.parent}" if plan.copies(trial) else ""
    return {"generation": plan.generation(trial.number), "member": plan.member(trial.number), "copied": copied}


def _lineage(plan: SearchPlan, rows: Sequence[TrialRow]) -> html.Section:
    points = [
        LineagePoint(
            row.trial.number,
            plan.generation(row.trial.number),
            row.value,
            row.trial.parent,
            plan.copies(row.trial),
            settings_text(row.trial.settings),
        )
        for row in rows
        if row.value is not None
    ]
    what = "Each dot is a member's part of a run; a line leads from it to what continues it, a dotted one to a copy."
    figure = lineage(sorted(points), plan.metric or "value")
    return card("Lineage", html.P(what, className="note"), graph(figure, "suite-lineage"))


def _cell(value: Any) -> Any:
    return value if type(value) in (int, float) else quoted(value)


def _read(context: Context, name: str) -> tuple:
    folder: SuiteFolder = context.kept(f"suite {name}", lambda: SuiteFolder(context.root, name))
    for parts in (("attempts",), (SEARCH, SearchPlan.of(folder.content()).folder)):
        inside(context.root, SUITES, name, *parts)
    return folder, folder.runs(), live(folder, folder.newest())


def _columns_and_rows(found: SuiteTable) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    rows = _rows(found)
    empty = {name for name in _AT_TIMES if not any(row[name] for row in rows)}
    return [column for column in _COLUMNS if column["field"] not in empty], rows


def _rows(found: SuiteTable) -> list[dict[str, Any]]:
    return [
        {
            "algorithm": cell.algorithm,
            "map": cell.map,
            "done": cell.done,
            "runs": cell.runs,
            "running": cell.running,
            "failed": cell.failed,
            "steps": round(100 * cell.steps / max(cell.all_steps, 1)),
            "speed": round(cell.speed) if cell.speed else None,
            "left": about(left) if (left := cell.seconds_left(found.total.speed)) else "",
            "error": last_line(cell.error),
        }
        for cell in found.cells
    ]


def _line(context: Context, name: str) -> html.Td:
    try:
        _, runs, newest = _read(context, name)
    except ConfigError as error:
        return html.Td(str(error)[:300])
    total = suite_table(runs, newest).total
    parts = [f"{total.done} of {counted(total.runs, 'run')} done"]
    parts += [f"{count} {what}" for what in ("running", "failed", "dropped") if (count := getattr(total, what))]
    return html.Td(", ".join(parts))
