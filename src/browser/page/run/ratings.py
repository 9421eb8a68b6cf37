"""Ratings of a run's newest models over time, in its view (`opponent_ratings`)."""

import re
from collections.abc import Collection

import numpy as np
from dash import html

from browser.figures.self_play import rating_curves
from browser.page.parts.components import card, graph, png_button
from browser.page.run.request import RunRequest

RATING, SIGMA = "test_rating", "test_rating_sigma"
# of the models of a pool, each of which is another after a while
OF_A_POOL = re.compile(r"(past|fixed)_\d+")
MOST = 20


def draw(asked: RunRequest) -> html.Section | None:
    """None if the run has no ratings."""
    results, run = asked.context.results, asked.run
    pairs = rated(results.metric_keys(run))
    curves = results.curves(run, [key for pair in pairs.values() for key in pair])
    found = {}
    for who, (key, of_deviation) in pairs.items():
        mean, deviation = curves.get(key), curves.get(of_deviation)
        if mean is None or deviation is None:
            continue
        steps, own, other = np.intersect1d(mean.steps, deviation.steps, return_indices=True)
        found[who] = (steps, mean.values[own], deviation.values[other])
    if not found:
        return None
    note = (
        "Rating of the newest model with two standard deviations, by its matches in tests; in a league, also of the "
        "other players."
    )
    return card(
        "Ratings",
        html.P(note, className="note"),
        graph(rating_curves(found), "run-ratings"),
        tools=[png_button("run-ratings", "ratings")],
    )


def rated(keys: Collection[str]) -> dict[str, tuple[str, str]]:
    """Who has ratings, newest models by their teams and other players of a league -> the keys of them and of sigma."""
    found = {}
    for key in sorted(keys):
        team, slash, name = key.rpartition("/")
        player = name.removeprefix(RATING)
        sigma = f"{team}{slash}{SIGMA}{player}"
        if name.startswith(RATING) and sigma in keys and not OF_A_POOL.fullmatch(player[1:]):
            found["/".join(filter(None, (team, player[1:])))] = (key, sigma)
    return dict(list(found.items())[:MOST])


def follows(asked: RunRequest) -> object:
    """What it shows."""
    return asked.context.results.stamp(asked.run, "curves")
