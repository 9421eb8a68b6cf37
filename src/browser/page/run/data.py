"""The data set that a run has learned from, in its view: which, how many, how good."""

import math
from typing import Any

from dash import html

from browser.figures.data import returns_histogram
from browser.page.parts.components import card, facts, graph
from browser.page.run.request import RunRequest

MOST_BINS = 200


def draw(asked: RunRequest) -> html.Section | None:
    """None if the run has learned from rollouts."""
    said = asked.context.results.recorded(asked.run, "dataset")
    if not isinstance(said, dict):
        return None
    mean, std = (_number(said.get(key)) for key in ("return_mean", "return_std"))
    about = {
        "data": _text(said.get("path")),
        "format": _text(said.get("format")),
        "episodes": _count(said.get("episodes")),
        "unfinished episodes": _count(said.get("unfinished_episodes")),
        "transitions": _count(said.get("transitions")),
        "returns": "" if mean is None or std is None else f"{mean:.4g} ± {std:.3g} (mean, standard deviation)",
        "SHA-256": _text(said.get("sha256")),
    }
    counts, edges = (_numbers(said.get(key)) for key in ("return_counts", "return_edges"))
    parts: list[Any] = [facts(about)]
    if counts and len(edges) == len(counts) + 1:
        parts.append(graph(returns_histogram(counts, edges), "data-returns"))
    return card("Data set", *parts)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any) -> float | None:
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if plain and math.isfinite(value) else None


def _count(value: Any) -> str:
    number = _number(value)
    return "" if number is None else f"{number:,.0f}"


def _numbers(value: Any) -> list[float]:
    """Those of a list, or none of them where something else is among them."""
    found = [_number(one) for one in value[:MOST_BINS]] if isinstance(value, list) else []
    numbers = [one for one in found if one is not None]
    return numbers if len(numbers) == len(found) else []
