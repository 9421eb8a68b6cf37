"""Curves of runs on common positions, summarised."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from browser.reading import Curve
from browser.stats import align, curve_band, smooth
from utils.errors import ConfigError


def curve(steps, values, **others):
    return Curve("test_return_mean", np.array(steps, dtype=np.int64), np.array(values, dtype=np.float64), **others)


def test_runs_that_log_at_different_steps_are_interpolated():
    aligned = align([curve([0, 100, 200], [0, 10, 20]), curve([0, 50, 200], [0, 50, 200])])
    assert aligned.x.tolist() == [0, 100, 200] and aligned.axis == "steps"
    assert aligned.values.tolist() == [[0, 10, 20], [0, 100, 200]]


def test_a_run_counts_only_where_it_has_values():
    """It is held for one of the run's intervals, as runs end a few steps apart."""
    aligned = align([curve([0, 10, 20, 30, 40, 50], range(6)), curve([20, 30], [7.0, 8.0])])
    expected = [np.nan, 7, 7, 8, 8, np.nan]
    np.testing.assert_array_equal(aligned.values[1], expected)


def test_values_that_are_no_numbers_are_left_out():
    aligned = align([curve([0, 10, 20], [1, np.nan, 3]), curve([0, 10, 20], [np.nan, np.inf, -np.inf])])
    assert aligned.values.tolist() == [[1, 3]] and aligned.x.tolist() == [0, 20]


def test_an_axis_that_stands_still_keeps_the_later_value():
    episodes = np.array([0.0, 5.0, 5.0, 10.0])
    aligned = align([curve([0, 10, 20, 30], [0, 1, 2, 3], episodes=episodes)], axis="episodes")
    assert aligned.x.tolist() == [0, 5, 10] and aligned.values.tolist() == [[0, 2, 3]]
    assert align([curve([0], [1])], axis="seconds").values.shape == (0, 0)
    with pytest.raises(ConfigError, match="Did you mean 'steps'"):
        align([], axis="step")


@given(arrays(np.float64, st.integers(0, 12), elements=st.floats(-5, 5)), st.integers(1, 7), st.data())
def test_smoothing_is_a_moving_mean(values, window, data):
    values = values.copy()
    for index in data.draw(st.sets(st.integers(0, 11))):
        values[index : index + 1] = np.nan
    half = window // 2
    expected = [
        np.nan if np.isnan(x) else np.nanmean(values[max(0, i - half) : i + half + 1]) for i, x in enumerate(values)
    ]
    np.testing.assert_allclose(smooth(values, window), expected, atol=1e-12)


def test_the_mean_has_students_interval():
    """Of 1, 2, 6: mean 3, s² = 7, t(0.975, 2) = 4.302653."""
    band = curve_band("qmix", [curve([0, 10], [x, x]) for x in (1, 2, 6)], "mean")
    half = 4.302653 * np.sqrt(7 / 3)
    np.testing.assert_allclose([band.center, band.low, band.high], [[3, 3], [3 - half] * 2, [3 + half] * 2], rtol=1e-6)
    assert band.n.tolist() == [3, 3] and band.runs == 3 and band.label == "qmix"


def test_the_median_has_the_extremes():
    band = curve_band("qmix", [curve([0, 10], [x, 2 * x]) for x in (1, 2, 6, 7)], kind="median")
    assert [band.center.tolist(), band.low.tolist(), band.high.tolist()] == [[4, 8], [1, 2], [7, 14]]


def test_the_iqm_has_a_bootstrap_interval():
    values = [0.0, 1.0, 2.0, 3.0, 100.0]
    band = curve_band("qmix", [curve([0, 10], [x, x + 1]) for x in values], kind="iqm", repetitions=4000)
    np.testing.assert_allclose(band.center, [2, 3])
    rng = np.random.default_rng(5)
    drawn = [np.mean(np.sort(rng.choice(values, 5))[1:4]) for _ in range(8000)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert band.low[0] == pytest.approx(low, abs=0.4) and band.high[0] == pytest.approx(high, abs=3)


def test_where_one_run_is_left_there_is_no_interval():
    runs = [curve([0, 10, 20, 30, 40], [1, 1, 1, 1, 1]), curve([0, 10], [3, 3])]
    for kind in ("mean", "iqm"):
        band = curve_band("qmix", runs, kind)
        assert band.n.tolist() == [2, 2, 2, 1, 1] and band.center.tolist() == [2, 2, 2, 1, 1]
        assert np.isfinite(band.low[:3]).all() and np.isnan(band.low[3:]).all()


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 12)), min_size=1, max_size=6))
def test_cut_bands_hold_those_positions_at_which_most_runs_count(ranges):
    curves = [curve(range(10 * start, 10 * (start + n), 10), range(n)) for start, n in ranges]
    band = curve_band("qmix", curves)
    counted = [
        sum(
            c.steps[0] - (10 if len(c.steps) > 1 else 0) <= x <= c.steps[-1] + (10 if len(c.steps) > 1 else 0)
            for c in curves
        )
        for x in band.x
    ]
    assert band.n.tolist() == counted
    assert band.cut().x.tolist() == [x for x, n in zip(band.x, counted, strict=True) if n == max(counted)]


def test_no_curves_make_an_empty_band_and_unknown_kinds_are_refused():
    empty = curve_band("qmix", [])
    assert len(empty.x) == len(empty.cut().x) == 0
    with pytest.raises(ConfigError, match="Did you mean 'median'"):
        curve_band("qmix", [], kind="medain")
