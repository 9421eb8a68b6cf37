"""Prioritised fictitious self-play: win rates, weights and draws by hand."""

from collections import Counter

import pytest

from collection.opponents.pool import Pool
from collection.opponents.prioritised import WEIGHTINGS, PrioritisedSelfPlay
from collection.opponents.win_rates import WinRates


def test_rates_by_hand():
    """Two wins and a draw, each counting half of the next one: (0.25 + 0.5 + 0.5 + 1/2) / (1.75 + 1)."""
    rates = WinRates(0.5)
    assert rates.of("red", "0") == 0.5
    for win in (1.0, 1.0, 0.5):
        rates.add("red", "0", win)
    assert rates.of("red", "0") == pytest.approx(1.75 / 2.75)
    assert rates.of("blue", "0") == rates.of("red", "10") == 0.5
    rates.add("red", "10", 0.0)
    assert rates.of("red", "10") == 0.25
    other = WinRates(0.5)
    other.load_state_dict(rates.state_dict())
    rates.keep(["10"])
    assert (rates.of("red", "0"), rates.of("red", "10")) == (0.5, 0.25)
    assert other.of("red", "0") == pytest.approx(1.75 / 2.75)


@pytest.mark.parametrize(
    ("weighting", "hardness", "rates", "weights"),
    [
        ("hard", 2.0, [0.0, 0.5, 0.9, 1.0], [1.0, 0.25, 0.01, 0.0]),
        ("hard", 1.0, [0.25, 1.0], [0.75, 0.0]),
        ("hard", 0.0, [0.25, 1.0], [1.0, 1.0]),
        ("variance", 2.0, [0.0, 0.5, 0.9, 1.0], [0.0, 0.25, 0.09, 0.0]),
    ],
)
def test_weights_by_hand(weighting, hardness, rates, weights):
    assert [WEIGHTINGS[weighting](rate, hardness) for rate in rates] == pytest.approx(weights)


def test_models_are_drawn_in_proportion_to_their_weights():
    asked = set()

    def weights(group, names):
        asked.add((group, *names))
        return [0.0 if name == "10" else 3.0 if name == "20" else 1.0 for name in names]

    pool = Pool(3, 10, 0.0, 1, weights)
    for step in (10, 20, 30):
        pool.add(step, {"team": step})
    draws = Counter(name for _ in range(4000) for name in pool.draw({"red": "team", "blue": "team"}).values())
    assert draws["10"] == 0 and draws["20"] / 4000 == pytest.approx(0.75, abs=0.03)
    assert asked == {("red", "10", "20", "30"), ("blue", "10", "20", "30")}


def test_where_all_weights_are_zero_models_are_drawn_evenly():
    pool = Pool(2, 10, 0.0, 1, lambda group, names: [0.0] * len(names))
    for step in (10, 20):
        pool.add(step, {"team": step})
    draws = Counter(name for _ in range(2000) for name in pool.draw({"red": "team", "blue": "team"}).values())
    assert draws["10"] / 2000 == pytest.approx(0.5, abs=0.05)


def self_play_of(playing):
    """With the groups red and blue, without models."""
    found = object.__new__(PrioritisedSelfPlay)
    found._rates, found._playing, found._sides = WinRates(1.0), playing, {"red": "one", "blue": "one"}
    return found


def test_episodes_of_training_count_for_the_group_that_learns():
    playing = self_play_of({"blue": "40"})
    playing.take_episode({"red/return": 1.0, "blue/return": 0.0})
    assert playing._rates.of("red", "40") == 0.75 and playing._rates.of("blue", "40") == 0.5
    newest = self_play_of({})
    newest.take_episode({"red/return": 1.0, "blue/return": 0.0})
    assert newest._rates.state_dict() == {}
