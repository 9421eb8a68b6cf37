"""Ratings of models: by hand, and what becomes of them as models enter and leave the pool."""

from math import exp, hypot, sqrt

import pytest

pytest.importorskip("openskill", reason="pip install -r requirements-ratings.txt")

from collection.opponents.ratings import DRIFT, NEWEST, Ratings

RED, PAST = ("red", NEWEST), ("blue", "40")


def by_hand(winner, loser):
    """Weng & Lin 2011, algorithm 4, for one win of one player over another; beta is 25/6."""
    (m1, s1), (m2, s2) = winner, loser
    c = sqrt(s1**2 + s2**2 + 2 * (25 / 6) ** 2)
    p = exp(m1 / c) / (exp(m1 / c) + exp(m2 / c))  # that the winner wins
    # the winner's rank is the first of a sum that has both, the loser's stands in that sum only
    change = (1 - p) / c
    shrink = p * (1 - p) / c**2
    new = lambda s: s * sqrt(max(1 - s**2 * shrink * s / c, 1e-4))  # noqa: E731
    return (m1 + s1**2 * change, new(s1)), (m2 - s2**2 * change, new(s2))


def test_a_win_by_hand():
    ratings = Ratings()
    assert ratings.of(*RED) == (25.0, 25 / 3)
    first = by_hand((25.0, 25 / 3), (25.0, 25 / 3))
    ratings.take(RED, [PAST], 1.0)
    assert (*ratings.of(*RED), *ratings.of(*PAST)) == pytest.approx((*first[0], *first[1]))
    assert first[0][0] > 25 > first[1][0]
    # the other way round: the past model wins
    second = by_hand(first[1], first[0])
    ratings.take(RED, [PAST], 0.0)
    assert (*ratings.of(*PAST), *ratings.of(*RED)) == pytest.approx((*second[0], *second[1]))


def test_a_draw_of_equals_changes_no_rating():
    ratings = Ratings()
    ratings.take(RED, [PAST], 0.5)
    assert ratings.of(*RED)[0] == pytest.approx(25.0) and ratings.of(*PAST)[0] == pytest.approx(25.0)
    assert ratings.of(*RED)[1] < 25 / 3


def test_of_three_groups_the_winner_rises_and_both_others_fall():
    ratings = Ratings()
    ratings.take(RED, [PAST, ("green", "40")], 1.0)
    assert ratings.of(*RED)[0] > 25 > ratings.of(*PAST)[0] == pytest.approx(ratings.of("green", "40")[0])


def test_a_model_enters_with_the_rating_of_the_newest_and_leaves():
    ratings = Ratings()
    ratings.take(RED, [PAST], 1.0)
    ratings.add(["red", "blue"], "80")
    assert ratings.of("red", "80") == ratings.of(*RED) and ratings.of("blue", "80") == (25.0, 25 / 3)
    mean, deviation = ratings.of(*RED)
    ratings.drift()
    assert ratings.of(*RED) == (mean, hypot(deviation, DRIFT)) and ratings.of("red", "80") == (mean, deviation)
    other = Ratings()
    other.load_state_dict(ratings.state_dict())
    ratings.keep(["80"])
    assert ratings.of(*PAST) == (25.0, 25 / 3) and other.of(*PAST)[0] < 25
    assert ratings.of(*RED)[0] == mean
    assert ratings.figures("red", {"80": "past_1", "fixed_1": "fixed_1"}) == {
        "test_rating": mean,
        "test_rating_sigma": hypot(deviation, DRIFT),
        "test_rating_past_1": mean,
        "test_rating_sigma_past_1": deviation,
    }
    assert ratings.figures("green", {}) == {}


def test_the_stronger_of_two_is_rated_higher_whatever_they_began_with():
    """It wins three games in four: by the model, a difference of ln 3 * sqrt(2) * 25/6 = 6.5 once both are certain."""
    ratings = Ratings()
    for k in range(400):
        ratings.take(RED, [PAST], 0.0 if k % 4 == 0 else 1.0)
    difference = ratings.of(*RED)[0] - ratings.of(*PAST)[0]
    assert difference == pytest.approx(6.5, abs=1.0)
    assert ratings.of(*RED)[1] < 2
