"""Cross-play: the matrices that `play --cross` has written."""

from pathlib import Path
from typing import Any

from dash import Dash, dcc, html

from browser.figures.self_play import cross_play_heatmap
from browser.page.parts import address
from browser.page.parts.components import card, graph, png_button
from browser.page.parts.context import Context
from browser.page.parts.frame import View, message
from browser.page.parts.limits import left_out, short
from records.cross_play import CROSS_PLAY, Estimate, Matrix, read_matrix
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.own_commands import as_typed

PATH = "/crossplay"
LISTED = 100
_FIGURES = {"returns": "Return", "wins": "Win rate"}


def layout(context: Context, query: dict[str, str]) -> html.Div:
    """The view for an address: `matrix`, by default the newest.

    Raises:
        ConfigError: there is no such matrix, or its file is damaged.
    """
    found = _folders(context.root)
    if not found:
        return message(
            "No cross-play", as_typed("src/play.py --cross RUN RUN lets models of several runs play together.")
        )
    name = query.get("matrix", "") or found[0]
    if name not in found:
        raise ConfigError(f"There is no matrix '{name[:100]}'.{suggestion(name[:100], found, limit=3)}")
    matrix = read_matrix(context.root / CROSS_PLAY / name)
    if matrix is None:
        raise ConfigError(f"The matrix '{name[:100]}' cannot be read: its file is missing, too large or damaged.")
    names = [str(k + 1) for k in range(len(matrix.models))]
    cards = [_card(matrix, figure, names) for figure in _FIGURES if any(_has(matrix, figure))]
    return html.Div([html.H1("Cross-play"), _list(found, name), _models(matrix), *cards], className="view")


def _folders(root: Path) -> list[str]:
    """The names of all matrices, the newest first; links lead nowhere."""
    folder = root / CROSS_PLAY
    if folder.is_symlink() or not folder.is_dir():
        return []
    return sorted((path.name for path in folder.iterdir() if path.is_dir() and not path.is_symlink()), reverse=True)


def _has(matrix: Matrix, figure: str) -> list[bool]:
    return [getattr(cell, figure).mean is not None for cell in matrix.cells]


def _list(found: list[str], current: str) -> html.P:
    here: dict[str, Any] = {"aria-current": "page"}
    links = [
        html.Span(short(name, 60), **here)
        if name == current
        else dcc.Link(short(name, 60), href=address.link(PATH, {"matrix": name}))
        for name in found[:LISTED]
    ]
    parts = [part for link in links for part in (link, " · ")][:-1]
    return html.P(["Matrices: ", *parts, left_out("matrices", found, found[:LISTED])], className="note")


def _models(matrix: Matrix) -> html.Section:
    names = ["", "Model of", "Step", "Algorithm", "Seed"]
    rows = [
        html.Tr(
            [html.Td(cell) for cell in (k + 1, short(one.token, 90), f"{one.step:,}", short(one.kind, 40), one.seed)]
        )
        for k, one in enumerate(matrix.models)
    ]
    head = html.Thead(html.Tr([html.Th(name, scope="col") for name in names]))
    first, others = (short(", ".join(names), 100) for names in matrix.places)
    said = (
        f"env={short(matrix.env, 60)}, {matrix.episodes:,} episodes of each pair: the row's model plays {first}, the "
        f"column's {others}. On the diagonal a model plays with itself."
    )
    return card("Models", html.P(said), html.Table([head, html.Tbody(rows)], className="plain"))


def _card(matrix: Matrix, figure: str, names: list[str]) -> html.Section:
    title = f"{_FIGURES[figure]} of the row's side" if matrix.opposed else _FIGURES[figure]
    graph_id = f"crossplay-{figure}"
    means = "; ".join(f"{kind} {_shown(mean)}" for kind, mean in matrix.means(figure).items())
    return card(
        title,
        graph(cross_play_heatmap(matrix, figure, names, title), graph_id),
        html.P(f"Means: {means}.", className="note"),
        tools=[png_button(graph_id, f"cross_play_{figure}")],
    )


def _shown(mean: Estimate) -> str:
    return f"{mean.mean:.3g}" + ("" if mean.error is None else f" ± {mean.error:.2g}")


def _register(app: Dash, context: Context) -> None:
    """It has no callbacks."""


VIEW = View(PATH, ("matrix",), layout, _register, "Cross-play")
