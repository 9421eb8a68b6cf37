"""Fields of MineSweeper that are played at once play as they do one after the other."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.entities import batch as batches
from envs.entities.batch import EntityBatch
from envs.entities.games.mine_fields import MineFields
from envs.entities.games.minesweeper import MineSweeper

FIELDS = st.fixed_dictionaries(
    {
        "width": st.integers(2, 6),
        "height": st.integers(4, 6),
        "nmines": st.integers(1, 5),
        "nrobots": st.integers(1, 3),
        "orbital_cannon": st.booleans(),
        "cooldown_period": st.integers(0, 2),
        "step_limit": st.sampled_from([None, 5]),
        "compat": st.booleans(),
    }
)


def fields(kwargs, size=5, one_by_one=False, **options):
    with pytest.MonkeyPatch.context() as patch:
        if one_by_one:
            patch.setattr(batches, "vectorised", lambda *_: None)
        made = EntityBatch(size, "MineSweeper", kwargs, **{"seed": 3, "episode_limit": 12, **options})
    assert isinstance(made._vectorised, MineFields) is not one_by_one
    return made


def random_actions(batch, rng):
    legal = batch.observed()["avail_actions"]
    return {"actions": (legal * (1 + rng.random(legal.shape))).argmax(-1)}


def assert_equal_arrays(one, other):
    assert one.observed().keys() == other.observed().keys()
    for path, array in one.observed().items():
        np.testing.assert_array_equal(array, other.observed()[path], path)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(FIELDS, st.integers(0, 2**16))
def test_they_play_as_one_after_the_other(kwargs, seed):
    both, rng = [fields(kwargs, seed=seed, one_by_one=alone) for alone in (False, True)], np.random.default_rng(seed)
    for one in both:
        one.reset()
    for t in range(25):
        assert_equal_arrays(*both)
        actions = random_actions(both[0], rng)
        (rewards, *ends), (other_rewards, *other_ends) = [one.step(actions) for one in both]
        np.testing.assert_array_equal(rewards["reward"], other_rewards["reward"])
        np.testing.assert_array_equal(ends, other_ends)
        assert [both[0].info(b) for b in range(5)] == [both[1].info(b) for b in range(5)]
        assert_equal_arrays(*both)
        ended = ends[0] | ends[1]
        ended &= rng.random(len(ended)) < 0.7  # some stay over for a step
        for one in both:
            one.reset(ended)
        if t == 12:
            states = [one.state_dict() for one in both]
            np.testing.assert_equal(states[0], states[1])
            for one, state in zip(both, reversed(states), strict=True):
                one.reset()
                one.load_state_dict(state)


def test_a_robot_that_is_shot_acts_first_and_a_shot_mine_is_gone_before():
    """By hand, on a field of 3 x 3: mines at (1, 0) and (2, 2), robots at (0, 0) and (2, 0); these are the targets."""
    kwargs = {"width": 3, "height": 3, "nmines": 2, "nrobots": 2, "orbital_cannon": True, "cooldown_period": 0}
    for target, moves, mines, robots in (
        (2, (4, 0), [(2, 2)], [(2, 1)]),  # the first robot defuses (1, 0), and is gone
        (0, (3, 2), [(2, 2)], [(1, 0), (1, 0)]),  # both step where the mine was
        (1, (3, 1), [(1, 0)], [(2, 0)]),  # onto the mine; against the border
    ):
        batch = fields(kwargs, 1)
        batch.reset()
        game = batch._copies[0].env
        game.mines, game.robots = [(1, 0), (2, 2)], [(0, 0), (2, 0)]
        batch._vectorised.take(np.array([0]))
        batch._vectorised.write(np.array([0]))
        assert batch.observed()["actors"].tolist() == [[2, 3, 4]]
        batch.step({"actions": np.array([[*moves, target]])})
        batch._vectorised.give_back(np.array([0]))
        assert (game.mines, game.robots) == (mines, robots)


class Slow(MineSweeper):
    """It may play otherwise."""


@pytest.mark.parametrize("environment", ["slow_mines:Slow", "MineSweeper"])
def test_a_class_that_inherits_from_the_game_plays_by_itself(monkeypatch, environment):
    monkeypatch.setitem(sys.modules, "slow_mines", sys.modules[__name__])
    assert (EntityBatch(2, environment)._vectorised is None) is (environment != "MineSweeper")


def test_too_small_capacities_are_refused_as_ever():
    batch = EntityBatch(2, "MineSweeper", max_entities={"Mine": 3})
    with pytest.raises(batches.InvalidEnvironmentError, match="'Mine' has 5 entities, more than its capacity of 3"):
        batch.reset()
