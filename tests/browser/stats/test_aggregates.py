"""Aggregates, profiles and probabilities of improvement against brute force and hand-computed numbers."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from browser.reading import Curve
from browser.stats import (
    Estimate,
    aggregate,
    best_on_maps,
    bootstrap,
    iqm,
    mean_title,
    normalised,
    performance_profile,
    probability_of_improvement,
    value_at,
)
from browser.stats.aggregates import score_matrix
from utils.errors import ConfigError

score = st.floats(0, 2).map(lambda x: round(x, 2))
task = st.lists(score, min_size=1, max_size=6)
tasks = st.lists(task, min_size=1, max_size=4)


def arrays(lists):
    return [np.array(values) for values in lists]


def trimmed(values):
    """The interquartile mean, by sorting and slicing."""
    cut = len(values) // 4
    kept = sorted(values)[cut : len(values) - cut]
    return sum(kept) / len(kept)


@given(tasks)
def test_values_are_those_of_brute_force(lists):
    pooled = [x for values in lists for x in values]
    means = sorted(sum(values) / len(values) for values in lists)
    middle = len(means) // 2
    expected = {
        "iqm": trimmed(pooled),
        "mean": sum(means) / len(means),
        "median": means[middle] if len(means) % 2 else (means[middle - 1] + means[middle]) / 2,
        "optimality_gap": sum(max(0.0, 1 - x) for x in pooled) / len(pooled),
    }
    for how, value in expected.items():
        estimate = aggregate(arrays(lists), how, repetitions=10)
        assert estimate.value == pytest.approx(value) and estimate.n == len(pooled)
        if all(len(values) == 1 for values in lists):
            assert np.isnan(estimate.low)
        else:
            assert estimate.low <= estimate.high


def test_iqm_by_hand():
    assert iqm(np.array([0, 1, 2, 3, 4, 5, 6, 100])) == 3.5
    assert aggregate([np.array([0.0, 1, 2]), np.array([3.0, 100])]).value == 2.0


def test_the_bootstrap_is_stratified():
    """A sample has as many runs of each map as there are, all of them from that map."""
    samples = bootstrap([np.array([1.0, 2.0]), np.array([10.0, 20.0, 30.0])], repetitions=500)
    assert samples.shape == (500, 5)
    assert set(np.unique(samples[:, :2])) == {1, 2} and set(np.unique(samples[:, 2:])) == {10, 20, 30}
    # all 2² and 3³ combinations are equally likely
    counts = np.unique(samples[:, 0] * 1 + samples[:, 1] * 10, return_counts=True)[1]
    assert len(counts) == 4 and counts.min() > 80


def test_the_interval_is_that_of_all_possible_samples():
    """Four runs have 256 samples with replacement; the percentiles of their means are known exactly."""
    values = np.array([0.0, 1.0, 5.0, 7.0])
    means = [np.mean(sample) for sample in itertools.product(values, repeat=4)]
    low, high = np.quantile(means, [0.025, 0.975], method="inverted_cdf")
    estimate = aggregate([values], "mean", repetitions=20_000)
    assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=0.26), "at most one value beside it"


def test_nan_and_missing_maps_do_not_count():
    assert aggregate([np.array([np.nan, 1.0, np.inf, 3.0]), np.zeros(0)], "mean").value == 2.0
    nothing = aggregate([], "iqm")
    assert np.isnan(nothing.value) and nothing.n == 0 and nothing.text() == "no run"
    assert aggregate([np.array([0.5])]).text() == "0.50, n = 1"


def test_an_unknown_aggregate_is_refused():
    with pytest.raises(ConfigError, match="Did you mean 'median'"):
        aggregate([np.ones(2)], "medain")


@given(tasks)
def test_profiles_are_those_of_brute_force(lists):
    thresholds = [0.0, 0.25, 0.5, 1.0, 1.5, 2.0]
    pooled = [x for values in lists for x in values]
    profile = performance_profile("a", arrays(lists), np.array(thresholds), repetitions=20)
    expected = [sum(x > tau for x in pooled) / len(pooled) for tau in thresholds]
    np.testing.assert_allclose(profile.share, expected)
    assert profile.n == len(pooled)
    if max(map(len, lists)) > 1:
        assert (profile.low <= profile.high).all() and profile.low.min() >= 0 and profile.high.max() <= 1


@given(tasks, tasks)
def test_probability_of_improvement_is_that_of_brute_force(xs, ys):
    x, y = ({f"map_{i}": values for i, values in enumerate(arrays(lists))} for lists in (xs, ys))
    shared = [name for name in x if name in y]
    wins = [np.mean([(a > b) + 0.5 * (a == b) for a in x[name] for b in y[name]]) for name in shared]
    estimate = probability_of_improvement(x, y, repetitions=20)
    assert estimate.value == pytest.approx(np.mean(wins))
    assert estimate.n == sum(len(x[name]) + len(y[name]) for name in shared)
    back = probability_of_improvement(y, x, repetitions=20)
    assert back.value == pytest.approx(1 - estimate.value)


def test_probability_of_improvement_by_hand():
    x, y = {"3m": np.array([1.0, 2.0, 3.0])}, {"3m": np.array([2.0, 0.0]), "8m": np.array([9.0])}
    assert probability_of_improvement(x, y).value == pytest.approx(4.5 / 6)
    assert probability_of_improvement(x, {"8m": y["8m"]}).n == 0


def test_its_interval_is_that_of_drawing_runs_one_by_one():
    rng = np.random.default_rng(1)
    x, y = rng.normal(0.5, 1, 6), rng.normal(0, 1, 5)
    drawn = []
    for _ in range(4000):
        a, b = rng.choice(x, len(x)), rng.choice(y, len(y))
        drawn.append(np.mean(a[:, None] > b))
    estimate = probability_of_improvement({"3m": x}, {"3m": y}, repetitions=4000)
    assert (estimate.low, estimate.high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])), abs=0.035)


def test_scores_are_normalised_map_by_map():
    scores = {"qmix": {"3m": np.array([0.0, 5.0]), "8m": np.array([7.0])}, "vdn": {"3m": np.array([10.0, np.nan])}}
    scaled = normalised(scores)
    assert scaled["qmix"]["3m"].tolist() == [0, 0.5] and scaled["vdn"]["3m"][0] == 1
    assert np.isnan(scaled["vdn"]["3m"][1]) and scaled["qmix"]["8m"].tolist() == [0.5]


def test_the_matrix_has_a_cell_for_every_pair():
    matrix = score_matrix({"qmix": {"3m": np.array([1.0, 3.0])}, "vdn": {"8m": np.array([5.0])}})
    assert list(matrix["qmix"]) == ["3m", "8m"] == list(matrix["vdn"])
    assert (matrix["qmix"]["3m"].value, matrix["qmix"]["8m"].n, matrix["vdn"]["8m"].value) == (2.0, 0, 5.0)


def test_results_are_those_of_rliable():
    """Values of the package that came with the paper, where it is installed."""
    metrics = pytest.importorskip("rliable.metrics")
    library = pytest.importorskip("rliable.library")
    rng = np.random.default_rng(0)
    x, y = rng.random((7, 4)), rng.random((5, 4))
    tables = {"iqm": metrics.aggregate_iqm, "mean": metrics.aggregate_mean, "median": metrics.aggregate_median}
    tables["optimality_gap"] = metrics.aggregate_optimality_gap
    for how, function in tables.items():
        ours = aggregate(list(x.T), how, repetitions=5000)
        assert ours.value == pytest.approx(function(x))
        _, interval = library.get_interval_estimates({"x": x}, lambda s, f=function: np.array([f(s)]), reps=2000)
        assert (ours.low, ours.high) == pytest.approx(interval["x"][:, 0], abs=0.02)
    thresholds = np.linspace(0, 1, 21)
    shares, bands = library.create_performance_profile({"x": x}, thresholds, reps=1000)
    profile = performance_profile("x", list(x.T), thresholds)
    np.testing.assert_allclose(profile.share, shares["x"])
    np.testing.assert_allclose([profile.low, profile.high], bands["x"], atol=0.08)
    ours = probability_of_improvement({str(i): c for i, c in enumerate(x.T)}, {str(i): c for i, c in enumerate(y.T)})
    assert ours.value == pytest.approx(metrics.probability_of_improvement(x, y))
    pair = {"x,y": (x, y)}
    _, interval = library.get_interval_estimates(
        pair, lambda a, b: np.array([metrics.probability_of_improvement(a, b)]), reps=1000
    )
    assert (ours.low, ours.high) == pytest.approx(interval["x,y"][:, 0], abs=0.05)


@pytest.mark.parametrize(
    ("step", "value"), [(100, 1.0), (150, 2.0), (200, 3.0), (300, 7.0), (0, 1.0), (400, 7.0), (401, None), (-1, None)]
)
def test_a_value_at_a_step(step, value):
    curve = Curve("x", np.array([100, 200, 250, 300]), np.array([1.0, 3.0, np.nan, 7.0]))
    found = value_at(curve, step)
    assert np.isnan(found) if value is None else found == value


@given(st.lists(st.lists(st.none() | st.integers(0, 3), min_size=3, max_size=3), min_size=1, max_size=4), st.booleans())
def test_the_best_on_every_map_is_that_of_brute_force(rows, lower):
    matrix = {
        str(i): {str(j): Estimate(np.nan if x is None else x, 0, 0, 0 if x is None else 1) for j, x in enumerate(row)}
        for i, row in enumerate(rows)
    }
    expected = set()
    for j in range(3):
        column = [(row[j], i) for i, row in enumerate(rows) if row[j] is not None]
        beats = {i: [y > x if lower else y < x for y, k in column if k != i] for x, i in column}
        expected |= {(str(i), str(j)) for _, i in column if beats[i] and all(beats[i])}
    assert best_on_maps(matrix, lower) == expected


def test_what_shows_the_same_number_is_not_the_best():
    def column(*values):
        return {str(i): {"3m": Estimate(value, np.nan, np.nan, 1)} for i, value in enumerate(values)}

    assert best_on_maps(column(0.0, 0.0, 0.0)) == best_on_maps(column(0.001, 0.002)) == set()
    assert best_on_maps(column(0.0, 0.01)) == {("1", "3m")}


def test_a_cell_of_few_runs_has_no_interval_but_their_range():
    """The bootstrap of four runs ends before them, though their range holds the median in 88 % of cases only."""
    runs = {n: np.arange(n) / 10 for n in (1, 2, 4, 5)}
    cells = {n: score_matrix({"qmix": {"3m": values}})["qmix"]["3m"] for n, values in runs.items()}
    assert [cells[n].few for n in runs] == [True, True, True, False]
    assert [cells[n].text() for n in (1, 2)] == ["0.00, n = 1", "0.05 (0.00 to 0.10), n = 2"]
    assert cells[4].spread() == "0.00 to 0.30" and cells[5].spread().startswith("[")
    titles = [mean_title([cells[n] for n in some]) for some in ((1,), (1, 2), (5, 1), (2, 5))]
    assert [title.partition(" with ")[2] for title in titles] == [
        *("", "lowest and highest run", "95 % bootstrap interval"),
        "95 % bootstrap interval (range below 5 runs)",
    ]
