"""Which points of a long series Sacred's files keep."""

import random

from records.thinning import LIMIT, ThinnedSeries, thinned, thinned_info


def _by_halving(count):
    """Independently: keep all, and whenever there are too many, drop every second of those kept."""
    kept = list(range(count))
    while len(kept) > LIMIT:
        kept = [point for i, point in enumerate(kept) if i % 2 == 0]
    return kept if not kept or kept[-1] == count - 1 else [*kept, count - 1]


def test_both_ways_keep_the_same_points_at_every_moment():
    series = ThinnedSeries()
    for count in range(50_001):
        if count in (0, 1, 2, 999, 1000, 1001, 1002, 1999, 2000, 2001, 4001, 50_000) or (
            count < 5000 and count % 97 == 0
        ):
            assert thinned(range(count), count) == series.points() == _by_halving(count)
            assert len(series.points()) <= LIMIT + 1
        series.append(count)


def test_a_key_and_its_steps_stay_together():
    values, steps = [random.random() for _ in range(3000)], list(range(0, 30_000, 10))
    info = {"loss": values, "loss_T": steps, "note": "text", "short": [1, 2], "short_T": [5], "mine": list(range(1500))}
    thin = thinned_info(info)
    assert len(thin["loss"]) == len(thin["loss_T"]) <= LIMIT + 1
    assert [values[step // 10] for step in thin["loss_T"]] == thin["loss"]
    assert (thin["loss_T"][0], thin["loss_T"][-1], thin["loss"][-1]) == (0, 29_990, values[-1])
    assert (thin["short"], thin["short_T"]) == ([1], [5]), "its newest value was just being logged"
    assert thin["note"] == "text"
    assert thin["mine"][-1] == 1499
    assert len(info["loss"]) == 3000, "what the run has is left as it is"
    uneven = {"mine": [1, 2, 3, 4], "mine_T": [1]}
    assert thinned_info(uneven) == uneven
