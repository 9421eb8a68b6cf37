"""A population's lineage: what each part of a run continued from, and what came of it."""

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from browser.figures.style import TEMPLATE, plain_text
from browser.figures.wording import color

# of the text beside a dot
LONGEST_TEXT = 200


class LineagePoint(NamedTuple):
    """A trial of a population.

    Attributes:
        value: what its tests came to.
        parent: the trial that it continues; 0: none.
        copies: whether that is another member's.
    """

    number: int
    generation: int
    value: float
    parent: int
    copies: bool
    settings: str


def lineage(points: Sequence[LineagePoint], metric: str) -> go.Figure:
    """Values over generations; lines lead from a trial to those that continue it, in the colour of its first ancestor.

    Args:
        points: in the order of their numbers, parents before children.
    """
    known = {point.number: point for point in points}
    ancestor: dict[int, int] = {}
    for point in points:
        ancestor[point.number] = ancestor.get(point.parent, point.number)
    shades = {first: color(k) for k, first in enumerate(dict.fromkeys(ancestor.values()))}
    figure = go.Figure()
    for first, shade in shades.items():
        for copies in (False, True):
            x: list[int | None] = []
            y: list[float | None] = []
            for point in points:
                if ancestor[point.number] == first and point.copies == copies and point.parent in known:
                    before = known[point.parent]
                    x += [before.generation, point.generation, None]
                    y += [before.value, point.value, None]
            line = {"color": shade, "width": 1.5, "dash": "dot" if copies else "solid"}
            figure.add_trace(go.Scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip"))
        own = [point for point in points if ancestor[point.number] == first]
        figure.add_trace(
            go.Scatter(
                x=[point.generation for point in own],
                y=[point.value for point in own],
                mode="markers",
                marker={"color": shade, "size": 8},
                customdata=[[f"t{point.number}", _origin(point), _shown(point.settings)] for point in own],
                hovertemplate="<b>%{customdata[0]}</b> %{customdata[1]}<br>%{y:.4g}<br>%{customdata[2]}<extra></extra>",
            )
        )
    figure.update_layout(
        template=TEMPLATE,
        showlegend=False,
        margin_t=15,
        xaxis_title_text="generation",
        yaxis_title_text=plain_text(metric),
    )
    return figure.update_xaxes(dtick=1 if max((point.generation for point in points), default=1) <= 20 else None)


def _origin(point: LineagePoint) -> str:
    if not point.parent:
        return "begins"
    return f"{'copies' if point.copies else 'continues'} t{point.parent}"


def _shown(settings: str) -> str:
    return plain_text(settings if len(settings) <= LONGEST_TEXT else settings[:LONGEST_TEXT] + " ...")
