"""Results table, algorithm × map: the scores of runs, with intervals; every cell leads to its runs."""

from functools import partial

from dash import dcc, html
from dash.development.base_component import Component

from browser import cautions
from browser.comparison import ONLY, SCORES, title_of_score
from browser.figures import metric_title, score_heatmap
from browser.figures.wording import is_share, lower_is_better
from browser.page.compare.comparison_view import ComparisonView, warnings
from browser.page.compare.request import MOST_SMOOTHING, MOST_STEPS, SETTINGS, Compared, metric_options
from browser.page.parts.components import card, checklist, dropdown, field, graph, number, png_button
from browser.page.parts.filters import where_field
from browser.page.parts.frame import View
from browser.page.parts.limits import left_out
from browser.report.tables import FORMS, Table
from browser.stats import Estimate, best_on_maps, cells_of, mean_title, score_matrix

PATH = "/results"

# of the table; its files have all
MOST_ROWS = 100
MOST_MAPS = 40


def fields(compared: Compared) -> list[Component]:
    """The controls."""
    request = compared.request
    return [
        field("Statistic", dropdown("results-metric", metric_options(compared.metrics), request.metric), wide=True),
        field("Score of a run", dropdown("results-score", SCORES, request.score)),
        field("Last values", number("results-last", request.last, 1, MOST_SMOOTHING)),
        field("At step (t_env)", number("results-step", request.step, 0, MOST_STEPS, placeholder="the end")),
        field(
            "Grouped by",
            dropdown("results-group", compared.keys, list(request.group), multi=True, searchable=True),
            wide=True,
        ),
        field("Only", checklist("results-only", {"newest": ONLY["newest"]}, request.only)),
        where_field("results-where", request.where),
    ]


def estimates(compared: Compared) -> Table:
    """Interquartile means and intervals by algorithm and map."""
    request = compared.request
    return score_matrix(compared.comparison.scores(request.metric, request.score, request.last, request.step))


def draw(compared: Compared) -> tuple[list]:
    """The table, and the same as a figure."""
    request, comparison, table = compared.request, compared.comparison, estimates(compared)
    title = metric_title(request.metric)
    found = [
        *cautions.of_groups(comparison),
        *cautions.of_metric(comparison, request.metric),
        *cautions.of_scores(comparison, request.metric, request.score, request.step, request.last),
        *cautions.of_few_runs(table),
    ]
    warned = warnings(found, request, PATH)
    if not table:
        there = "" if request.step is None else f" at step {request.step:,}"
        sentence = f"None of these runs has a value of {request.metric or 'anything'}{there}."
        return ([warned, card("No values", html.P(sentence))],)
    labels, maps = list(table), list(next(iter(table.values())))
    note = " ".join(
        filter(None, (left_out("rows", labels, labels[:MOST_ROWS]), left_out("maps", maps, maps[:MOST_MAPS])))
    )
    table = {label: {name: table[label][name] for name in maps[:MOST_MAPS]} for label in labels[:MOST_ROWS]}
    score = title_of_score(request.metric, request.score, request.last, request.step)
    figure = score_heatmap(table, title, share=is_share(request.metric), lower=lower_is_better(request.metric))
    figure.update_layout(margin={"t": 12})
    shown = card(
        f"{title}: {score}, {mean_title(cells_of(table))}",
        html.P(note, className="note") if note else None,
        html.Div(_table(compared, table), className="wide-table"),
        tools=[html.Button(name, id=f"results-{form}", className="small") for form, (name, *_) in FORMS.items()],
    )
    png = png_button("results-figure", f"results_{request.metric}")
    return ([warned, shown, card("As a figure", graph(figure, "results-figure"), tools=[png])],)


def _table(compared: Compared, table: Table) -> html.Table:
    values = [cell.value for cell in cells_of(table)]
    low, high = (0.0, 1.0) if is_share(compared.request.metric) else (min(values), max(values))
    best = best_on_maps(table, lower_is_better(compared.request.metric))
    rows = [html.Tr([html.Th(""), *(html.Th(name, scope="col") for name in next(iter(table.values())))])]
    for label, cells in table.items():
        row = []
        for name, cell in cells.items():
            share = (cell.value - low) / (high - low) if high > low else 0.5
            row.append(_cell(compared, label, name, cell, share, (label, name) in best))
        rows.append(html.Tr([html.Th(label, scope="row"), *row]))
    return html.Table(rows, className="results")


def _cell(compared: Compared, label: str, map_name: str, cell: Estimate, share: float, best: bool) -> html.Td:
    """A cell, the more tinted the nearer its value is to the highest (`share`: 0 to 1)."""
    if not cell.n:
        return html.Td("no run", className="none")
    content = [
        html.Span(f"{cell.value:.2f}", className="value"),
        html.Span(" · ".join(filter(None, (cell.spread(), f"n = {cell.n}"))), className="interval"),
    ]
    comparison = compared.comparison
    runs = [run for group in comparison.groups if group.label == label for run in comparison.runs_of(group, map_name)]
    href = compared.request.address("/compare", runs=tuple(run.id for run in runs))
    tint = 4 + 36 * min(max(share, 0.0), 1.0)
    return html.Td(
        dcc.Link(content, href=href, title="best on this map; its runs" if best else "its runs"),
        className="best" if best else "",
        style={"background": f"color-mix(in srgb, var(--accent) {tint:.0f}%, var(--surface))"},
    )


def as_file(compared: Compared, form: str) -> dict[str, str]:
    """The table as a file in one of FORMS."""
    _, suffix, write = FORMS[form]
    return {"content": write(estimates(compared), compared.request.metric), "filename": f"results.{suffix}"}


RESULTS = ComparisonView(
    name="results",
    path=PATH,
    controls=("metric", "group", "score", "last", "step", "only", "where"),
    fields=fields,
    parts={"content": "view"},
    draw=draw,
    files={form: partial(as_file, form=form) for form in FORMS},
)
VIEW = View(PATH, SETTINGS, RESULTS.layout, RESULTS.register, "Results table")
