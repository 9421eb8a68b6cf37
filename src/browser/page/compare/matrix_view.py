"""Algorithm × map: the scores of runs, with intervals; every cell leads to its runs."""

import hashlib
from typing import Any

from dash import Dash, Input, Output, State, ctx, dcc, html, no_update
from dash.exceptions import PreventUpdate

from browser import cautions
from browser.comparison import ONLY, SCORES, matrix_of, title_of_score
from browser.figures import metric_title, score_heatmap
from browser.figures.wording import is_share, lower_is_better
from browser.page.compare import view as compare_view
from browser.page.compare.comparing import (
    MOST_SMOOTHING,
    MOST_STEPS,
    WISHES,
    Compared,
    changed_address,
    compare,
    metric_options,
    narrowed,
    query_of,
    settled,
    stands_for,
)
from browser.page.compare.matrix_text import FORMS
from browser.page.parts.components import card, checklist, dropdown, field, graph, notices, number, png_button, warnings
from browser.page.parts.context import Context
from browser.page.parts.frame import follow_address
from browser.page.parts.limits import left_out
from browser.stats import Estimate, best_on_maps, cells_of, mean_title

PATH = "/matrix"
TITLE = "Matrix"
SETTINGS = WISHES

# of the table; its files have all
MOST_ROWS = 100
MOST_MAPS = 40
_CONTROLS = ("metric", "group", "score", "last", "step", "only")


def layout(context: Context, query: dict[str, str]) -> html.Div:
    """The matrix that an address asks for."""
    compared = compare(context, query)
    if not compared.runs:
        return html.Div([notices(compared.wrong), html.Div([html.H1("No runs to compare")], className="empty")])
    wish = compared.wish
    controls = [
        field("Statistic", dropdown("matrix-metric", metric_options(compared.metrics), wish.metric), wide=True),
        field("Score of a run", dropdown("matrix-score", SCORES, wish.score)),
        field("Last values", number("matrix-last", wish.last, 1, MOST_SMOOTHING)),
        field("At step (t_env)", number("matrix-step", wish.step, 0, MOST_STEPS, placeholder="the end")),
        field(
            "Grouped by",
            dropdown("matrix-group", compared.keys, list(wish.group), multi=True, searchable=True),
            wide=True,
        ),
        field("Only", checklist("matrix-only", {"newest": ONLY["newest"]}, wish.only)),
    ]
    return html.Div(
        [
            html.Div(controls, className="controls"),
            html.Div(notices(compared.wrong), id="matrix-wrong"),
            html.Div(drawn(compared), id="matrix-content", className="view"),
            dcc.Store(id="matrix-address", data=wish.address(PATH)),
            dcc.Store(id="matrix-runs", data=list(wish.runs)),
            dcc.Store(id="matrix-digest", data=digest_of(compared)),
            dcc.Download(id="matrix-download"),
        ],
        className="view",
    )


def register(app: Dash, context: Context) -> None:
    """Its callbacks."""
    follow_address(app, "matrix-address")
    states = [State("matrix-runs", "data")] + [State(f"matrix-{name}", "value") for name in _CONTROLS]

    @app.callback(
        Output("matrix-content", "children"),
        Output("matrix-wrong", "children"),
        Output("matrix-address", "data"),
        [Input(f"matrix-{name}", "value") for name in _CONTROLS],
        State("matrix-runs", "data"),
        prevent_initial_call=True,
    )
    def change(*arguments: Any):
        *values, runs = arguments
        return changed(context, query_of(runs, **dict(zip(_CONTROLS, values, strict=True))))

    @app.callback(
        Output("matrix-content", "children", allow_duplicate=True),
        Output("matrix-digest", "data"),
        Input("tick", "n_intervals"),
        State("matrix-digest", "data"),
        *states,
        prevent_initial_call=True,
    )
    def follow(_: Any, digest: Any, runs: Any, *values: Any):
        return grown(context, query_of(runs, **dict(zip(_CONTROLS, values, strict=True))), digest)

    @app.callback(
        Output("matrix-download", "data"),
        [Input(f"matrix-{form}", "n_clicks") for form in FORMS],
        *states,
        prevent_initial_call=True,
    )
    def save(*values: Any):
        clicks, runs, controls = values[: len(FORMS)], values[len(FORMS)], values[len(FORMS) + 1 :]
        form = str(ctx.triggered_id).removeprefix("matrix-")
        if not any(clicks) or form not in FORMS:
            raise PreventUpdate
        return exported(context, query_of(runs, **dict(zip(_CONTROLS, controls, strict=True))), form)


def changed(context: Context, query: dict[str, str]) -> tuple[list, Any, str]:
    """After a control was changed: the matrix, what is wrong, and the address."""
    compared = compare(context, query)
    return drawn(compared), notices(compared.wrong), compared.wish.address(PATH)


def grown(context: Context, query: dict[str, str], digest: str | None) -> tuple[Any, Any]:
    """The matrix and its digest again if runs have logged since; nothing otherwise."""
    if settled(context, query, digest):
        return no_update, no_update
    compared = compare(context, query)
    now = digest_of(compared)
    return (no_update, no_update) if now == digest else (drawn(compared), now)


def digest_of(compared: Compared) -> str:
    """Changes when any run that is shown gets a new score, and when there is another run."""
    wish = compared.wish
    scores = compared.comparison.scores(wish.metric, wish.score, wish.last, wish.step)
    texts = {label: {name: values.tolist() for name, values in maps.items()} for label, maps in scores.items()}
    return stands_for(compared.runs) + hashlib.sha256(repr((wish, texts)).encode()).hexdigest()


def exported(context: Context, query: dict[str, str], form: str) -> dict[str, str]:
    """The matrix as a file in one of FORMS."""
    compared = compare(context, query)
    suffix, write = FORMS[form]
    return {"content": write(estimates(compared), compared.wish.metric), "filename": f"matrix.{suffix}"}


def estimates(compared: Compared) -> dict[str, dict[str, Estimate]]:
    """Interquartile means and intervals by algorithm and map."""
    wish = compared.wish
    return matrix_of(compared.comparison.scores(wish.metric, wish.score, wish.last, wish.step))


def drawn(compared: Compared) -> list:
    """The table, and the same as a figure."""
    wish, matrix = compared.wish, estimates(compared)
    title = metric_title(wish.metric)
    said = _cautions(compared, matrix)
    if not matrix:
        there = "" if wish.step is None else f" at step {wish.step:,}"
        sentence = f"None of these runs has a value of {wish.metric or 'anything'}{there}."
        return [said, card("No values", html.P(sentence))]
    matrix, note = _cut(matrix)
    buttons = [html.Button(name, id=f"matrix-{form}", className="small") for form, name in _BUTTONS.items()]
    figure = score_heatmap(matrix, title, share=is_share(wish.metric), lower=lower_is_better(wish.metric))
    figure.update_layout(margin={"t": 12})
    return [
        said,
        card(
            f"{title}: {_what(compared, matrix)}",
            html.P(note, className="note") if note else None,
            html.Div(_table(compared, matrix), className="wide-table"),
            tools=buttons,
        ),
        card(
            "As a figure", graph(figure, "matrix-figure"), tools=[png_button("matrix-figure", f"matrix_{wish.metric}")]
        ),
    ]


def _cut(matrix: dict[str, dict[str, Estimate]]) -> tuple[dict[str, dict[str, Estimate]], str]:
    """The part of a matrix that is shown, and a sentence on the rest."""
    maps = list(next(iter(matrix.values())))
    labels = list(matrix)
    shown = {label: {name: matrix[label][name] for name in maps[:MOST_MAPS]} for label in labels[:MOST_ROWS]}
    return shown, " ".join(
        filter(None, (left_out("rows", labels, labels[:MOST_ROWS]), left_out("maps", maps, maps[:MOST_MAPS])))
    )


_BUTTONS = {"csv": "CSV", "markdown": "Markdown", "latex": "LaTeX", "json": "JSON"}


def _cautions(compared: Compared, matrix: dict[str, dict[str, Estimate]]) -> html.Div | None:
    wish, comparison = compared.wish, compared.comparison
    found = [
        *cautions.of_groups(comparison),
        *cautions.of_metric(comparison, wish.metric),
        *cautions.of_scores(comparison, wish.metric, wish.score, wish.step, wish.last),
        *cautions.of_few_runs(matrix),
    ]
    return warnings(found, lambda changes: changed_address(wish, changes, PATH))


def _what(compared: Compared, matrix: dict[str, dict[str, Estimate]]) -> str:
    wish = compared.wish
    score = title_of_score(wish.metric, wish.score, wish.last, wish.step)
    return f"{score}, {mean_title(cells_of(matrix))}"


def _table(compared: Compared, matrix: dict[str, dict[str, Estimate]]) -> html.Table:
    maps = list(next(iter(matrix.values())))
    values = [cell.value for cells in matrix.values() for cell in cells.values() if cell.n]
    low, high = (0.0, 1.0) if is_share(compared.wish.metric) else (min(values), max(values))
    best = best_on_maps(matrix, lower_is_better(compared.wish.metric))
    rows = [html.Tr([html.Th("")] + [html.Th(name, scope="col") for name in maps])]
    for label, cells in matrix.items():
        row = []
        for name in maps:
            cell = cells[name]
            share = (cell.value - low) / (high - low) if high > low else 0.5
            row.append(_cell(compared, label, name, cell, share, (label, name) in best))
        rows.append(html.Tr([html.Th(label, scope="row"), *row]))
    return html.Table(rows, className="matrix")


def _cell(compared: Compared, label: str, map_name: str, cell: Estimate, share: float, best: bool) -> html.Td:
    """A cell, the more tinted the nearer its value is to the highest (`share`: 0 to 1)."""
    if not cell.n:
        return html.Td("no run", className="none")
    content = [
        html.Span(f"{cell.value:.2f}", className="value"),
        html.Span(" · ".join(filter(None, (cell.spread(), f"n = {cell.n}"))), className="interval"),
    ]
    href = narrowed(compared.wish, runs_of(compared, label, map_name)).address(compare_view.PATH)
    tint = 4 + 36 * min(max(share, 0.0), 1.0)
    return html.Td(
        dcc.Link(content, href=href, title="best on this map; its runs" if best else "its runs"),
        className="best" if best else "",
        style={"background": f"color-mix(in srgb, var(--accent) {tint:.0f}%, var(--surface))"},
    )


def runs_of(compared: Compared, label: str, map_name: str) -> list:
    """The runs of a cell."""
    comparison = compared.comparison
    groups = [group for group in comparison.groups if group.label == label]
    return [run for group in groups for run in comparison.runs_of(group, map_name)]
