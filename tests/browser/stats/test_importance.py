"""What a hyperparameter explains, beside numbers made by hand and by chance."""

import numpy as np
import pytest

from browser.stats.importance import importance
from browser.stats.outcomes import scaled_by_map


def test_a_key_that_decides_everything_and_one_that_decides_nothing():
    scores = np.array([1.0, 1.1, 5.0, 5.1, 1.05, 5.05])
    decides = importance("lr", [0.1, 0.1, 1.0, 1.0, 0.1, 1.0], scores)
    assert decides.share > 0.99 and decides.trend == pytest.approx(0.878, abs=1e-3) and decides.n == 6
    words = importance("mixer", ["a", "b", "a", "b", "a", "b"], scores)
    assert words.share == 0.0 and np.isnan(words.trend)


def test_it_is_kelleys_epsilon_squared():
    # means 2 and 5, SST 26.5, SSB 22.5, MSW 4 / 8: (22.5 - 4 / 8) / 26.5
    scores = np.array([1.0, 2, 2, 2, 3, 4, 5, 5, 5, 6])
    assert importance("x", ["a"] * 5 + ["b"] * 5, scores).share == pytest.approx((22.5 - 4 / 8) / 26.5)


def test_chance_explains_little_however_many_values_there_are():
    rng = np.random.default_rng(0)
    shares = [importance("x", rng.normal(size=40).tolist(), rng.normal(size=40)).share for _ in range(200)]
    assert np.mean(shares) < 0.08
    scores = rng.normal(size=40)
    assert importance("x", (scores**3).tolist(), scores).share > 0.7


def test_runs_without_a_score_and_too_few_runs():
    assert importance("x", [1, 2, 3], np.array([np.nan, 1.0, 2.0])).n == 2
    assert np.isnan(importance("x", [1, 2], np.array([1.0, 2.0])).share)
    assert np.isnan(importance("x", [1, 1, 2, 2], np.ones(4)).share)


def test_scores_of_several_maps_are_scaled_by_map():
    scores, scaled = scaled_by_map(np.array([2.0, 4.0, 100.0, 100.0, 3.0]), ["a", "a", "b", "b", "a"])
    assert scaled and scores.tolist() == [0, 1, 0.5, 0.5, 0.5]
    same, scaled = scaled_by_map(np.array([2.0, 4.0]), ["a", "a"])
    assert not scaled and same.tolist() == [2, 4]


def test_whole_numbers_beyond_any_float_are_words():
    scores = np.array([1.0, 1.0, 5.0, 5.0, 1.0, 5.0])
    found = importance("x", [10**400, 10**400, 1, 1, 10**400, 1], scores)
    assert found.share > 0.99 and np.isnan(found.trend)
