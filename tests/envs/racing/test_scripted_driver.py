"""The hand-written driver: its line, its plan, and that it finishes."""

import numpy as np
import pytest

from envs.racing.batch import BatchedRaces
from scripted_driver import KNOT, Driver, Style, least_bent, middle_of, plans_of


def raced(races, driver, steps=1500):
    for _ in range(steps):
        races.step(driver.actions())
        if races.state.race["ended"].all():
            break
    return races.state.cars


@pytest.mark.parametrize("options", [{}, {"walls": False, "gears": 0}, {"n_cars": 3}, {"metres": 1500.0}])
def test_it_finishes_tracks_that_it_does_not_know(options):
    races = BatchedRaces(6, seed=1, map_cycle=["seeds:101-106"], **options)
    races.reset()
    cars = raced(races, Driver(races))
    assert (cars["finished"] == 1).all()
    metres = races.tracks.tracks["metres"][races.state.race["track"]]
    assert (metres[:, None] / cars["race_ms"] * 1000 > 20).all(), "faster than 20 m/s on the whole"


def test_every_race_may_have_a_plan():
    """A line along the middle, slow and fast."""
    races = BatchedRaces(2, seed=1, metres=200.0)
    races.reset_to("track_1")
    middle, _, last = middle_of(races, 0)
    knots = np.zeros((2, len(range(0, last, KNOT))))
    plans = plans_of(middle, knots, np.array([[4.0], [12.0]]) + knots, Style())
    slow, fast = raced(races, Driver(races, plans=plans))["race_ms"][:, 0]
    assert fast < 0.8 * slow
    np.testing.assert_allclose(plans.line[0], middle)


def test_it_plans_what_bends_and_brakes_allow():
    angle = np.arange(0, 400) * 0.5 / 30.0
    bend = 30 * np.stack([np.sin(angle), 1 - np.cos(angle)], axis=1)
    straight = np.stack([np.arange(-400, 0) * 0.5, np.zeros(400)], axis=1)
    middle = np.concatenate([straight, bend])
    plans = plans_of(middle, np.zeros((1, 40)), np.full((1, 40), 12.0), Style(braking=10.0))
    speed = plans.speed[0]
    assert speed[450:700] == pytest.approx(np.sqrt(12 * 30), rel=0.01)
    assert speed[250] ** 2 - speed[350] ** 2 == pytest.approx(2 * 10 * 50), "50 m of braking"


def test_the_least_bent_line_cuts_bends_within_its_room():
    angle = np.linspace(0, np.pi / 2, 30)
    bend = 40 * np.stack([np.sin(angle), 1 - np.cos(angle)], axis=1)
    before = np.stack([np.linspace(-60, -2, 28), np.zeros(28)], axis=1)
    after = np.stack([np.full(28, 40.0), np.linspace(42, 100, 28)], axis=1)
    aside = least_bent(np.concatenate([before, bend, after]), 5.0)
    assert np.abs(aside).max() <= 5.0
    assert aside[43] > 4.5, "inside in the middle of the bend, which turns left"
    assert aside[10] < 0 and aside[75] < 0, "and comes from outside"
