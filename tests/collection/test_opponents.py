"""The pool of opponents: who is drawn, who stays, and who has won."""

from collections import Counter

import numpy as np
import pytest

from collection.opponents.pool import Pool
from collection.opponents.win_rates import Scores, won

SIDES = {"red": "first", "blue": "second", "green": "second"}


def pool_of(size=3, interval=10, newest=0.5, seed=1, steps=()):
    pool = Pool(size, interval, newest, seed)
    for step in steps:
        pool.add(step, {"first": step, "second": -step})
    return pool


def test_the_pool_keeps_the_newest_of_every_interval():
    pool, added = pool_of(), []
    for t_env in range(0, 100, 4):
        if pool.due(t_env):
            pool.add(t_env, {"first": t_env})
            added.append(t_env)
    assert added == [0, 12, 24, 36, 48, 60, 72, 84, 96]
    assert pool.past == {"72": {"first": 72}, "84": {"first": 84}, "96": {"first": 96}}
    assert pool.ranks() == {"96": "past_1", "84": "past_2", "72": "past_3"}


def test_a_pool_of_no_size_keeps_nothing():
    assert not pool_of(size=0).due(0)


def test_one_group_learns_and_all_others_meet_it_with_models_drawn_evenly():
    pool = pool_of(newest=0.25, steps=(10, 20, 30))
    draws = [pool.draw(SIDES) for _ in range(6000)]
    past = [draw for draw in draws if draw]
    assert len(past) / len(draws) == pytest.approx(0.75, abs=0.03)
    assert all(len(draw) == 2 for draw in past)
    learning = Counter(next(iter(set(SIDES) - set(draw))) for draw in past)
    assert {group: count / len(past) for group, count in learning.items()} == pytest.approx(
        dict.fromkeys(SIDES, 1 / 3), abs=0.03
    )
    models = Counter(name for draw in past for name in draw.values())
    assert {name: count / len(past) / 2 for name, count in models.items()} == pytest.approx(
        dict.fromkeys(("10", "20", "30"), 1 / 3), abs=0.03
    )
    # each opponent is drawn by itself
    assert any(len(set(draw.values())) == 2 for draw in past)


def test_fixed_models_play_the_teams_that_they_have():
    pool = pool_of(newest=0.0, size=0)
    pool.fixed = {"fixed_1": {"first": 1}, "fixed_2": {"first": 2, "second": 2}}
    draws = [pool.draw(SIDES) for _ in range(300)]
    assert {draw["red"] for draw in draws if "red" in draw} == {"fixed_1", "fixed_2"}
    assert {draw["blue"] for draw in draws if "blue" in draw} == {"fixed_2"}
    assert pool.ranks() == {"fixed_1": "fixed_1", "fixed_2": "fixed_2"}


def test_an_empty_pool_leaves_all_to_the_newest():
    assert all(pool_of(newest=0.0).draw(SIDES) == {} for _ in range(50))


def test_draws_continue_from_a_state():
    pool = pool_of(steps=(10, 20))
    for _ in range(7):
        pool.draw(SIDES)
    state = {**pool.state_dict(), "past": dict(pool.past)}
    straight = [pool.draw(SIDES) for _ in range(50)]
    other = pool_of(seed=9)
    other.load_state_dict(state)
    assert [other.draw(SIDES) for _ in range(50)] == straight
    assert other.past == pool.past and other.due(29) is False and other.due(30) is True


@pytest.mark.parametrize(
    ("info", "wins"),
    [
        ({"red/return": 2, "blue/return": 1}, 1.0),
        ({"red/return": 1, "blue/return": 1}, 0.5),
        ({"red/return": 1, "blue/return": 2}, 0.0),
        # the environment knows better
        ({"red/return": 1, "blue/return": 2, "red/battle_won": True}, 1.0),
        ({"red/return": 3, "blue/return": 2, "red/battle_won": 0}, 0.0),
        ({"red/return": 3, "blue/return": 2, "red/battle_won": np.ones(2)}, 0.0),  # which says nothing
    ],
)
def test_who_has_won(info, wins):
    assert won("red", ["blue"], info) == wins


def test_of_three_the_best_return_wins():
    info = {"red/return": 2, "blue/return": 1, "green/return": 3}
    assert won("red", ["blue", "green"], info) == 0.0
    assert won("green", ["blue", "red"], info) == 1.0


def test_win_rates_by_hand():
    """Of the pool they are the mean over its models, whatever the number of episodes against each."""
    scores = Scores()
    for group, opponent, win, episode_return in [
        ("red", "10", 1.0, 4.0),
        ("blue", "10", 0.5, 0.0),
        ("red", "20", 0.0, -3.0),
        ("red", "20", 0.0, -5.0),
        ("red", "20", 1.0, 2.0),
        ("blue", "20", 1.0, 8.0),
        ("green", "20", 1.0, 100.0),
    ]:
        scores.add(group, opponent, win, episode_return)
    assert scores.count("red", "20") == 3
    assert scores.figures(["red", "blue"], {"20": "past_1", "10": "past_2", "fixed_1": "fixed_1"}) == {
        "test_win_rate_past_1": 0.5,
        "test_win_rate_past_2": 0.75,
        "test_win_rate_pool": 0.625,
        "test_return_past_1": 0.5,
        "test_return_past_2": 2.0,
        "test_return_pool": 1.25,
    }
    in_turn = [("red", "10", 1.0), ("red", "20", 0.0), ("blue", "10", 0.5), ("blue", "20", 1.0), ("green", "20", 1.0)]
    assert list(scores.wins_in_turn()) == [*in_turn, ("red", "20", 0.0), ("red", "20", 1.0)]
    scores.clear()
    assert scores.figures(["red"], {"20": "past_1"}) == {}
