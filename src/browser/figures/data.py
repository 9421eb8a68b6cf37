"""What the data are like that a run has learned from."""

from collections.abc import Sequence
from itertools import pairwise

import plotly.graph_objects as go

from browser.figures.style import TEMPLATE
from browser.figures.wording import color

HEIGHT = 260


def returns_histogram(counts: Sequence[float], edges: Sequence[float]) -> go.Figure:
    """How many episodes have which return.

    Args:
        counts: of each bin.
        edges: of the bins, one more than there are.
    """
    widths = [high - low for low, high in pairwise(edges)]
    centres = [low + width / 2 for low, width in zip(edges, widths, strict=False)]
    bars = go.Bar(
        x=centres,
        y=list(counts),
        width=widths,
        marker={"color": color(0), "line": {"width": 0}},
        customdata=list(pairwise(edges)),
        hovertemplate="%{y:,} episodes with returns from %{customdata[0]:.4g} to %{customdata[1]:.4g}<extra></extra>",
    )
    return go.Figure(bars).update_layout(
        template=TEMPLATE,
        height=HEIGHT,
        showlegend=False,
        bargap=0,
        xaxis_title_text="return of an episode of the data",
        yaxis_title_text="episodes",
        margin={"t": 10},
    )
