"""Which map of a list is next: in turn, or by the share of battles that were won there."""

import numpy as np
import pytest

from envs.skirmish.environment import SkirmishBatch
from envs.skirmish.map_choice import MapChoice
from utils.errors import ConfigError

PLACES = [(0, 2, 0), (1, 2, 1)]


def test_in_turn():
    choice = MapChoice([0, 1, 0, 2], PLACES, "in_turn")
    assert [choice.of(0, k) for k in range(4)] == [0, 0, 0, 0]
    assert [choice.of(1, k) for k in range(4)] == [1, 2, 1, 2]


def test_maps_that_are_won_less_are_played_more():
    choice = MapChoice([0, 1, 2], PLACES, "less_won")
    choice.seed([5, 6])
    even = np.bincount([choice.of(0, k) for k in range(3000)], minlength=3)
    assert (abs(even - 1000) < 100).all()
    for _ in range(80):
        choice.ended(0, np.array([0, 1]), np.array([True, True]))
    choice.ended(1, np.array([0]), np.array([True]))
    assert choice.won[0] == pytest.approx([1 - 0.9**80, 0.1, 0]) and choice.won[1] == pytest.approx([1 - 0.9**80, 0, 0])
    # 0.1, 1.0 and 1.1 of 2.2
    shares = np.bincount([choice.of(0, k) for k in range(3000)], minlength=3) / 3000
    assert shares == pytest.approx([0.1 / 2.2, 1 / 2.2, 1.1 / 2.2], abs=0.03)


def test_entries_of_one_map_count_together():
    choice = MapChoice([0, 1, 1], PLACES, "less_won")
    choice.seed([5, 6])
    assert np.mean([choice.of(1, k) for k in range(3000)]) == pytest.approx(2 / 3, abs=0.03)


def test_an_environment_draws_by_its_own_seed_and_battles():
    """So that runs that divide environments otherwise play the same."""
    one, other = MapChoice([0, 1, 2], PLACES, "less_won"), MapChoice([0, 1, 2], PLACES[1:], "less_won")
    one.seed([5, 6]), other.seed([6])
    one.ended(2, np.array([0]), np.array([True]))
    drawn = [one.of(1, k) for k in range(60)]
    assert drawn == [other.of(0, k) for k in range(60)] and len(set(drawn)) == 3
    assert drawn != [one.of(0, k) for k in range(60)]


def _battles(**args):
    maps = ["3m", "2m_vs_1z", "8m"]
    return SkirmishBatch(3, map_name=maps, observation="entities", map_choice="less_won", seed=4, **args)


def _played(env, rng, steps):
    """The maps of the battles that begin meanwhile, of all three environments."""
    found = []
    for _ in range(steps):
        legal = env.observed()["avail_actions"]
        _, ended, _ = env.step({"actions": (rng.random(legal.shape) * (legal > 0)).argmax(-1)})
        if ended.any():
            env.reset(ended)
            found += [(b, env.info(b)["map"]) for b in np.flatnonzero(ended).tolist()]
    return found


def test_battles_follow_it_and_continue_from_a_saved_state():
    env, again = _battles(), _battles()
    env.reset(np.ones(3, bool))
    first = _played(env, np.random.default_rng(1), 300)
    assert {name for _, name in first} == {"3m", "2m_vs_1z", "8m"}
    for _ in range(30):  # 3m and 8m were won of late
        for m in (0, 2):
            env.simulator._choice.ended(m, np.arange(3), np.ones(3, bool))
    again.load_state_dict(env.state_dict())
    more, same = (_played(one, np.random.default_rng(2), 300) for one in (env, again))
    assert more == same and len(more) > 5


def test_won_battles_are_counted():
    env = _battles()
    env.reset(np.ones(3, bool))
    simulator = env.simulator
    playing = simulator._playing.copy()
    for battles in simulator.battles:  # the enemies are dying
        battles.state.units["health"][:, battles.n_agents :] = np.minimum(
            battles.state.units["health"][:, battles.n_agents :], 0.001
        )
    _played(env, np.random.default_rng(3), 100)
    won = simulator._choice.won
    assert all(won[b, m] > 0 for b, m in enumerate(playing.tolist()))


def test_tests_play_in_turn():
    env = _battles(test_mode=True)
    names = []
    for _ in range(3):
        env.reset(np.ones(3, bool))
        names.append([env.info(b)["map"] for b in range(3)])
    assert names == [["3m", "2m_vs_1z", "8m"]] * 3


def test_another_choice_is_refused():
    with pytest.raises(ConfigError, match=r"env_args.map_choice is 'less_wo'.*less_won"):
        SkirmishBatch(1, map_name="3m", map_choice="less_wo")
