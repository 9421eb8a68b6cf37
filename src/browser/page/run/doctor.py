"""Why a run does not learn, in its view: what the rules of doctor.py find."""

from typing import Any

import numpy as np
from dash import html

from browser.page.parts.components import card, facts
from browser.page.parts.context import state_of
from browser.page.run.request import RunRequest
from browser.reading import Curve
from browser.reading.configs import nested
from records.symptoms.evidence import Curve as Seen
from records.symptoms.evidence import Evidence, is_looked_at, rollouts_of
from records.symptoms.rules import findings_of

COMPLETED = "COMPLETED"


def draw(asked: RunRequest) -> html.Section | None:
    """None if nothing is wrong with the run."""
    results, run = asked.context.results, asked.run
    keys = [key for key in results.metric_keys(run) if is_looked_at(key)]
    curves = {key: _seen(curve) for key, curve in results.curves(run, keys).items()}
    evidence = Evidence(nested(run.config), curves, rollouts_of(results.diagnostics(run)), run.status_at() == COMPLETED)
    parts: list[Any] = []
    for one in findings_of(evidence):
        parts.append(html.H3(one.title))
        parts.append(facts({"seen": one.seen, "usual cause": one.cause, "to change": one.change}))
    return card("Doctor", *parts) if parts else None


def follows(asked: RunRequest) -> object:
    """What it shows."""
    stamp = asked.context.results.stamp
    return state_of(asked.run), stamp(asked.run, "curves"), stamp(asked.run, "diagnostics")


def _seen(curve: Curve) -> Seen:
    episodes = np.zeros(len(curve.steps)) if curve.episodes is None else curve.episodes
    return Seen(curve.steps.astype(np.float64), curve.values, episodes).finite()
