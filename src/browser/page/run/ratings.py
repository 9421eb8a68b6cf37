"""Ratings of a run's newest models over time, in its view (`opponent_ratings`)."""

import numpy as np
from dash import html

from browser.figures.self_play import rating_curves
from browser.page.parts.components import card, graph, png_button
from browser.page.run.request import RunRequest

RATING, SIGMA = "test_rating", "test_rating_sigma"
MOST_TEAMS = 20


def draw(asked: RunRequest) -> html.Section | None:
    """None if the run has no ratings."""
    results, run = asked.context.results, asked.run
    known = set(results.metric_keys(run))
    prefixes = sorted(key.removesuffix(RATING) for key in known if key == RATING or key.endswith(f"/{RATING}"))
    prefixes = [prefix for prefix in prefixes if f"{prefix}{SIGMA}" in known][:MOST_TEAMS]
    curves = results.curves(run, [f"{prefix}{name}" for prefix in prefixes for name in (RATING, SIGMA)])
    found = {}
    for prefix in prefixes:
        mean, deviation = curves.get(f"{prefix}{RATING}"), curves.get(f"{prefix}{SIGMA}")
        if mean is None or deviation is None:
            continue
        steps, own, other = np.intersect1d(mean.steps, deviation.steps, return_indices=True)
        found[prefix.rstrip("/")] = (steps, mean.values[own], deviation.values[other])
    if not found:
        return None
    note = "Rating of the newest model with two standard deviations, by its matches against past models in tests."
    return card(
        "Ratings",
        html.P(note, className="note"),
        graph(rating_curves(found), "run-ratings"),
        tools=[png_button("run-ratings", "ratings")],
    )


def follows(asked: RunRequest) -> object:
    """What it shows."""
    return asked.context.results.stamp(asked.run, "curves")
