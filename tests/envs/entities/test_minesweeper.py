"""MineSweeper, corrected and as entity-gym has it."""

import numpy as np
import pytest

from envs.entities import CategoricalAction, SelectEntityAction
from envs.entities.games.minesweeper import MineSweeper
from envs.entities.numbering import EntityNumbering
from utils.errors import ConfigError

T, F = True, False
CANNON, FIRE = "Orbital Cannon", "Fire Orbital Cannon"


def game(mines, robots, cooldown=5, cannon=False, compat=True, size=3, **more):
    env = MineSweeper(size, size, orbital_cannon=cannon, compat=compat, nmines=1, nrobots=1, **more)
    env.mines, env.robots, env.cooldown = list(mines), list(robots), cooldown
    return env


def seen_in(env, observation=None):
    return EntityNumbering(env.obs_space(), env.action_space()).seen(observation or env.observe())


def acted(env, move, fire=()):
    """What is seen after these labels, one for each robot, whatever the mask says; `fire`: positions of actees."""
    labels = ["Up", "Down", "Left", "Right", "Defuse Mines"]
    robots = [("Robot", i) for i in range(len(env.robots))]
    targets = [("Mine", i) for i in range(len(env.mines))] + robots
    actions = {"Move": CategoricalAction(robots, np.array([labels.index(label) for label in move]), labels)}
    actions[FIRE] = SelectEntityAction([(CANNON, 0)] * len(fire), [targets[i] for i in fire])
    return seen_in(env, env.act(actions))


@pytest.mark.parametrize("compat", [True, False])
def test_robots_act_in_turn_and_borders_hold(compat):
    env = game([(2, 2)], [(0, 0), (2, 0)], compat=compat)
    for label, first in (("Left", (0, 0)), ("Down", (0, 0)), ("Up", (0, 1)), ("Right", (1, 1))):
        acted(env, [label, "Right"])
        assert env.robots == [first, (2, 0)]
    assert acted(env, ["Up", "Up"]).done is False
    assert env.robots == [(1, 2), (2, 1)]
    # the first defuses what the second would step on
    seen = acted(env, ["Defuse Mines", "Up"])
    assert (env.mines, env.robots, seen.reward, seen.done) == ([], [(1, 2), (2, 2)], 1.0, True)


@pytest.mark.parametrize("compat", [True, False])
def test_a_robot_on_a_mine_is_lost_and_the_mine_stays(compat):
    env = game([(1, 0), (1, 1)], [(0, 0), (2, 2)], compat=compat)
    seen = acted(env, ["Right", "Left"])
    assert (env.mines, env.robots, seen.done) == ([(1, 0), (1, 1)], [(1, 2)], False)
    seen = acted(env, ["Down"])
    assert (env.robots, seen.reward, seen.done) == ([], 0.0, True)


@pytest.mark.parametrize("compat", [True, False])
def test_a_robot_that_is_shot_acts_first(compat):
    env = game([(1, 0)], [(0, 0)], 0, cannon=True, compat=compat)
    seen = acted(env, ["Defuse Mines"], [1])
    assert (env.mines, env.robots, seen.reward, seen.done) == ([], [], 1.0, True)
    env = game([(1, 0)], [(0, 0)], 0, cannon=True, compat=compat)
    acted(env, ["Right"], [0])
    assert (env.mines, env.robots) == ([], [(1, 0)])


def test_the_cooldown_counts_down_and_is_armed_again():
    env = MineSweeper(6, 6, 5, 2, orbital_cannon=True, cooldown_period=2)
    env.seed(1)
    seen, shown, ready = seen_in(env, env.reset()), [], []
    for _ in range(6):
        shown.append(int(seen.features[CANNON].item()))
        ready.append(len(seen.offers[FIRE].actors))
        seen = acted(env, ["Up"] * len(env.robots), [0] * ready[-1])
    assert (shown, ready) == ([2, 1, 0, 2, 1, 0], [0, 0, 1, 0, 0, 1])


def test_masks_have_the_order_of_the_actions():
    env = game([(1, 1)], [(2, 0)], compat=False)
    assert seen_in(env).offers["Move"].mask.tolist() == [[T, F, T, F, T]]
    for i, label in enumerate(["Up", "Down", "Left", "Right"]):
        env.robots = [(2, 0)]
        acted(env, [label]) if seen_in(env).offers["Move"].mask[0, i] else None
        assert (env.robots != [(2, 0)]) == [T, F, T, F][i]


def test_without_a_cannon_there_is_no_shot_to_choose():
    env = MineSweeper(cooldown_period=0)
    assert list(env.action_space()) == ["Move"]
    assert list(env.obs_space().entities) == ["Mine", "Robot"]
    old = MineSweeper(cooldown_period=0, compat=True)
    seen = seen_in(old, old.reset())
    assert len(seen.offers[FIRE].actors) == 0


def test_the_step_limit_truncates():
    env = game([(2, 2)], [(0, 0)], compat=False, step_limit=2)
    assert not acted(env, ["Up"]).truncated
    assert acted(env, ["Down"]).truncated
    env.reset()
    env.mines, env.robots = [(1, 0)], [(0, 0)]
    acted(env, ["Up"])
    seen = acted(env, ["Defuse Mines"])
    assert env.mines == [(1, 0)]
    assert (seen.done, seen.truncated) == (False, True)
    env.robots, env.steps = [(0, 0)], 1
    seen = acted(env, ["Defuse Mines"])
    assert (seen.done, seen.truncated) == (True, False)


@pytest.mark.parametrize(
    "given", [{"width": 0}, {"nmines": 40}, {"nrobots": 0}, {"cooldown_period": -1}, {"step_limit": 0}, {"height": 2.5}]
)
def test_a_field_that_cannot_be_is_refused(given):
    with pytest.raises(ConfigError, match="MineSweeper"):
        MineSweeper(**given)
