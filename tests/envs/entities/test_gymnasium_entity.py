"""Gymnasium's discrete environments as one entity."""

import gymnasium
import numpy as np
import pytest

from envs.entities.acting import actions_for
from envs.entities.adapter import EntityEnv
from envs.entities.copies import Copy
from envs.entities.making import made
from envs.entities.numbering import EntityNumbering
from utils.errors import ConfigError


def by_number(env):
    return EntityNumbering(env.obs_space(), env.action_space())


def test_cartpole_plays_as_in_gymnasium():
    ours, theirs = made("gymnasium:CartPole-v1", {"time_limit": 30}), gymnasium.make("CartPole-v1")
    ours.seed(5)
    assert (ours.episode_limit, ours.capacity(), ours.max_actors()) == (30, {"Agent": 1}, {"action": 1})
    numbering, space = by_number(ours), ours.action_space()
    rng, ends = np.random.default_rng(0), []
    for episode in range(3):
        seen, expected = numbering.seen(ours.reset()), theirs.reset(seed=5 if episode == 0 else None)[0]
        while not (seen.done or seen.truncated):
            np.testing.assert_array_equal(seen.features["Agent"], expected[None])
            choice = int(rng.integers(2)) if episode < 2 else int(expected[2] + expected[3] > 0)
            seen = numbering.seen(ours.act(actions_for(seen, space, {"action": [choice]})))
            expected, reward, terminated, _, _ = theirs.step(choice)
            assert (seen.reward, seen.done) == (reward, terminated)
        ends.append((seen.done, seen.truncated))
    assert ends == [(True, False), (True, False), (False, True)]


def test_discrete_observations_are_one_hot_and_masks_are_the_infos():
    env = made("gymnasium:Taxi-v4", {})
    env.seed(1)
    seen = by_number(env).seen(env.reset())
    assert seen.features["Agent"].shape == (1, 500)
    assert seen.features["Agent"].sum() == 1
    _, info = gymnasium.make("Taxi-v4").reset(seed=1)
    assert seen.offers["action"].mask.tolist() == [info["action_mask"].astype(bool).tolist()]


def test_it_is_an_environment_of_the_project_and_resumes_where_it_was():
    env = EntityEnv("gymnasium:CartPole-v1", seed=3)
    env.reset()
    assert env.observe()["entities/Agent"].shape == (1, 4)
    one, other = (Copy("gymnasium:CartPole-v1", None, seed) for seed in (1, 2))
    one.env.reset()
    other.load_state_dict(one.state_dict())
    choice = {"action": [1]}
    shown = []
    for copy in (one, other):
        numbering, space = by_number(copy.env), copy.env.action_space()
        seen = numbering.seen(copy.env._observation(0.0, False, False))
        for _ in range(12):
            ended = seen.done
            seen = numbering.seen(copy.env.reset() if ended else copy.env.act(actions_for(seen, space, choice)))
        shown.append(seen.features["Agent"].tolist())
    assert shown[0] == shown[1]


@pytest.mark.parametrize(
    ("environment", "kwargs", "message"),
    [
        ("gymnasium:CartPol-v1", {}, "gymnasium has no environment 'CartPol-v1'. Did you mean"),
        ("gymnasium:Pendulum-v1", {}, "gymnasium:Pendulum-v1: it has continuous actions"),
        ("gymnasium:Blackjack-v1", {"time_limit": 10}, "its observations are not one vector"),
        ("gymnasium:Blackjack-v1", {}, "gymnasium sets no limit"),
        ("gymnasium:CartPole-v1", {"time_limit": 0}, "it must be a whole number of at least 1"),
        ("gymnasium:CartPole-v1", {"gravty": 1}, "takes no 'gravty'"),
        ("CartPole-v1", {}, "Gymnasium's is gymnasium:Id"),
    ],
)
def test_what_is_no_entity_is_refused(environment, kwargs, message):
    with pytest.raises(ConfigError) as caught:
        made(environment, kwargs)
    assert message in str(caught.value)
