"""The games of entity-gym where ours differ from them on purpose, and what all of them must say of themselves."""

import copy
import math
from collections import Counter

import numpy as np
import pytest

from entity_gym_traces import stored
from envs.entities.acting import actions_for
from envs.entities.games import GAMES
from envs.entities.games.cherry_pick import CherryPick
from envs.entities.games.minefield import Minefield
from envs.entities.games.multi_snake import MultiSnake
from envs.entities.games.not_hotdog import NotHotdog
from envs.entities.games.treasure_hunt import TreasureHunt
from envs.entities.numbering import EntityNumbering
from utils.errors import ConfigError


class Play:
    """A game by number."""

    def __init__(self, env, seed=0):
        self.env, self.space = env, env.action_space()
        self.numbering = EntityNumbering(env.obs_space(), self.space)
        env.seed(seed)
        self.reset()

    def reset(self):
        self.seen = self.numbering.seen(self.env.reset())
        return self

    def act(self, **chosen):
        self.seen = self.numbering.seen(self.env.act(actions_for(self.seen, self.space, chosen)))
        return self.seen

    def random_act(self, rng):
        chosen = {}
        for name, offer in self.seen.offers.items():
            number = len(self.space[name]) if offer.actees is None else len(offer.actees)
            legal = np.ones((len(offer.actors), number), bool) if offer.mask is None else offer.mask
            chosen[name] = [rng.choice(np.flatnonzero(row)) for row in legal]
        return self.act(**chosen)


SMALL = {
    "CherryPick": {"num_cherries": 4},
    "PickMatchingBalls": {"max_balls": 4},
    "Minefield": {"width": 40, "max_mines": 2, "max_steps": 20},
    "MultiSnake": {"board_size": 3, "num_snakes": 1, "max_snake_length": 3, "max_steps": 9},
    "MineSweeper": {"orbital_cannon": True, "cooldown_period": 1, "nrobots": 3, "step_limit": 12},
    "TreasureHunt": {"step_limit": 30},
}


@pytest.mark.parametrize("name", GAMES)
def test_a_game_keeps_to_its_capacity_and_its_limit_and_reaches_both(name):
    env = GAMES[name](**SMALL.get(name, {}))
    rng, play = np.random.default_rng(0), Play(env)
    most, actors, longest, length = Counter(), Counter(), 0, 0
    for _ in range(700):
        for kind, rows in play.seen.features.items():
            most[kind] = max(most[kind], len(rows))
        for action, offer in play.seen.offers.items():
            actors[action] = max(actors[action], len(offer.actors))
        if play.seen.done or play.seen.truncated:
            longest, length = max(longest, length), 0
            play.reset()
        else:
            play.random_act(rng)
            length += 1
    assert most == env.capacity()
    assert longest == env.episode_limit
    for action, number in (env.max_actors() or {}).items():
        assert actors[action] == number or action == "unused_action"


@pytest.mark.parametrize("name", GAMES)
def test_a_copy_of_a_game_plays_on_as_the_game_does(name):
    case = next(case for case, _ in stored() if case.name == name)
    play, rng = Play(GAMES[name](**SMALL.get(name, {})), case.seed), np.random.default_rng(1)
    for _ in range(3):
        if play.seen.done:
            play.reset()
        play.random_act(rng)
    twin, twin_rng = copy.deepcopy(play), copy.deepcopy(rng)
    for _ in range(10):
        shown = [_step(one, by) for one, by in ((play, rng), (twin, twin_rng))]
        assert shown[0] == shown[1]


def _step(play, rng):
    seen = play.reset().seen if play.seen.done or play.seen.truncated else play.random_act(rng)
    return {name: rows.tolist() for name, rows in seen.features.items()}, seen.reward, seen.done


def test_the_better_half_of_an_odd_number_of_cherries_adds_up_to_one():
    play = Play(CherryPick(7))
    assert math.isclose(sum(sorted(play.env.cherries)[-3:]), 1.0)
    picked = 0
    while not play.seen.done:
        qualities = play.seen.features["Cherry"][:, 0]
        picked += play.act(**{"Pick Cherry": [int(np.argmax(qualities))]}).reward
    assert math.isclose(picked, 1.0)
    assert len(play.env.cherries) == 4


def test_what_is_called_hotdog_is_one():
    play = Play(NotHotdog())
    for _ in range(20):
        play.reset()
        truth = "hotdog" if play.env.is_hotdog else "not_hotdog"
        assert play.act(classify=[play.space["classify"].index_to_label.index(truth)]).reward == 1.0


def test_minefield_begins_with_step_0_away_from_the_target():
    play = Play(Minefield(width=20, max_mines=1, max_steps=3))
    for _ in range(60):
        play.reset()
        assert play.seen.features["Vehicle"][0, 3] == 0
        assert not play.seen.done
        play.act(move=[0])


def test_minefield_ends_at_target_and_mine_and_is_truncated_by_time():
    play = Play(Minefield(max_mines=1, max_steps=2))
    env = play.env

    def at(vehicle, target, mines, direction=0.0):
        play.reset()
        env.vehicle, env.target, env.mines, env.direction = vehicle, target, mines, direction
        seen = play.act(move=[1])
        return seen.reward, seen.done, seen.truncated

    assert at((0.0, 0.0), (7.0, 0.0), []) == (1.0, True, False)
    assert at((0.0, 0.0), (8.0, 0.0), []) == (0.0, False, False)
    assert at((0.0, 0.0), (8.1, 0.0), [(3.0, 4.9)]) == (0.0, True, False)
    assert at((0.0, 0.0), (0.0, 7.0), [(0.0, 6.0)], math.pi / 2) == (1.0, True, False)
    assert at((0.0, 0.0), (60.0, 0.0), [(3.0, 5.0)]) == (0.0, False, False)
    seen = play.act(move=[2])
    assert (seen.done, seen.truncated, env.vehicle) == (False, True, (3.0, 0.0))
    np.testing.assert_allclose(seen.features["Vehicle"], [[3, 0, math.pi / 8, 2]], rtol=1e-6)


def snakes(*bodies, food, size=5, longest=3, **more):
    play = Play(MultiSnake(size, len(bodies), longest, **more))
    play.env.snakes, play.env.food = [list(body) for body in bodies], list(enumerate(food))
    return play


@pytest.mark.parametrize(
    ("move", "reward", "done"),
    [
        ("up", 0.25, False),  # its food: one of two cells that one of two snakes can grow
        ("down", 0.0, True),  # the other's food
        ("left", 0.0, True),  # the other snake
        ("right", 0.0, False),
    ],
)
def test_a_snake_eats_its_food_only_and_hits_no_snake(move, reward, done):
    play = snakes([(2, 2)], [(0, 2), (1, 2)], food=[(2, 3), (2, 1)])
    labels = play.space["move"].index_to_label
    seen = play.act(move=[labels.index(move), labels.index("up")])
    assert (seen.reward, seen.done) == (reward, done)
    assert len(play.env.snakes[0]) == 1 + (reward > 0)


def test_a_snake_ends_the_episode_off_the_board_and_on_its_own_tail():
    assert snakes([(0, 0)], food=[(4, 4)]).act(move=[2]).done
    ring = snakes([(1, 2), (1, 1), (2, 1), (2, 2)], food=[(4, 4)], longest=4)
    assert ring.act(move=[2]).done
    free = snakes([(1, 2), (1, 1), (2, 1), (2, 2)], food=[(4, 4)], longest=5)
    assert not free.act(move=[3]).done


def test_grown_snakes_end_the_episode_and_time_truncates_it():
    play = snakes([(0, 0), (1, 0)], food=[(2, 0)], max_steps=1)
    seen = play.act(move=[3])
    assert (seen.reward, seen.done, seen.truncated) == (0.5, True, False)
    seen = snakes([(0, 0), (1, 0)], food=[(2, 2)], max_steps=1).act(move=[3])
    assert (seen.reward, seen.done, seen.truncated) == (0.0, False, True)


def test_treasure_hunt_stops_at_its_edge_and_at_its_limit():
    play = Play(TreasureHunt(step_limit=13))
    play.env.traps, play.env.treasures = [(0, -1)], [(0, 1), (5, 5)]
    assert play.act(move=[0]).reward == 1.0
    for _ in range(12):
        assert not play.seen.truncated
        play.act(move=[0])
    assert (play.env.player, play.seen.truncated, play.seen.done) == ((0, 10), True, False)


def test_a_ball_cannot_be_picked_twice():
    play = Play(GAMES["PickMatchingBalls"](max_balls=3))
    play.env.colours = [2, 2, 2]
    play.seen = play.numbering.seen(play.env._observe())
    rewards = []
    while not play.seen.done:
        assert set(play.seen.offers["Pick Ball"].actees) == set(range(3)) - set(play.env.picked)
        rewards.append(play.act(**{"Pick Ball": [0]}).reward)
    assert rewards == [0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("name", "kwargs", "message"),
    [
        ("CherryPick", {"num_cherries": 1}, "CherryPick: num_cherries=1 must be a whole number, at least 2"),
        ("PickMatchingBalls", {"max_balls": 2.5}, "max_balls=2.5 must be a whole number"),
        ("Minefield", {"max_mines": 0}, "max_mines=0"),
        ("Minefield", {"width": 19}, "width=19 must be a number, at least 20"),
        ("MultiSnake", {"num_snakes": 10}, "must be at most 9"),
        ("MultiSnake", {"board_size": 4}, "need more than a board of 4x4"),
        ("Count", {"masked_choices": 11}, "must be at most 10"),
        ("TreasureHunt", {"step_limit": 0}, "step_limit=0"),
    ],
)
def test_arguments_that_cannot_be_are_refused(name, kwargs, message):
    with pytest.raises(ConfigError) as caught:
        GAMES[name](**kwargs)
    assert message in str(caught.value)
