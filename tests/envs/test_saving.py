"""An environment that resumes from the state of another one continues as that one does, bit for bit."""

import copy

import numpy as np
import pytest

from envs import REGISTRY
from envs.skirmish.environment import SkirmishBatch

MPE = """simple simple_adversary simple_crypto simple_formation simple_line simple_push simple_reference
simple_speaker_listener simple_spread simple_tag simple_world_comm""".split()
VERSIONS = {"simple_adversary": 3, "simple_speaker_listener": 4, "simple_formation": 1, "simple_line": 1}
FORAGING = [
    ("lbf", {"key": "Foraging-5x5-2p-1f-v3", "time_limit": 12}),
    ("lbf", {"key": "Foraging-8x8-3p-3f-v3", "time_limit": 60}),
    ("lbf", {"key": "Foraging-2s-5x5-3p-1f-coop-v3", "time_limit": 9}),
]
ANYTIME = [
    *FORAGING,
    ("two_step", {}),
    ("matrix", {"game": "climbing", "episode_limit": 5}),
    ("skirmish", {"map_name": "3m"}),
    ("skirmish", {"map_name": "MMM", "obs_last_action": True}),
    ("skirmish", {"map_name": "10gen_terran", "conic_fov": True, "prob_obs_enemy": 0.5, "num_fov_actions": 6}),
    *(("mpe", {"key": f"mpe2.{name}_v{VERSIONS.get(name, 3)}", "time_limit": 7}) for name in MPE),
    ("mpe", {"key": "mpe2.collect_treasure_v1", "time_limit": 7}),
]


def play(env, rng, steps=None, episodes=None, ended=True):
    """The course of so many steps, or of so many episodes."""
    seen = []
    while (steps is None or len(seen) < steps) and (episodes is None or episodes > 0):
        if ended:
            env.reset()
        actions = [rng.choice(np.flatnonzero(row)) for row in np.array(env.get_avail_actions())]
        before = np.array(env.get_obs()), np.array(env.get_state())
        reward, ended, info = env.step(actions)
        seen.append((*before, np.array(env.get_obs()), np.array(env.get_avail_actions()), reward, ended, info))
        episodes = episodes and episodes - ended
    return seen


def check_goes_on(env, other, ended, steps=150):
    other.load_state_dict(copy.deepcopy(env.state_dict()))
    expected, seen = (play(one, np.random.default_rng(5), steps=steps, ended=ended) for one in (env, other))
    np.testing.assert_equal(seen, expected)
    assert other.get_stats() == env.get_stats()


@pytest.mark.slow
@pytest.mark.parametrize("steps", [1, 38])
@pytest.mark.parametrize(("name", "args"), ANYTIME)
def test_at_any_time(name, args, steps):
    env, other = REGISTRY[name](**args, seed=3), REGISTRY[name](**args, seed=99)
    ended = play(env, np.random.default_rng(1), steps=steps)[-1][5]
    play(other, np.random.default_rng(2), steps=7)
    check_goes_on(env, other, ended, steps=30 if name == "mpe" else 150)  # episodes of 7 steps


@pytest.mark.parametrize("episodes", [0, 3])
@pytest.mark.parametrize(("name", "args"), FORAGING)
def test_between_episodes(name, args, episodes):
    env, other = REGISTRY[name](**args, seed=3), REGISTRY[name](**args, seed=99)
    play(env, np.random.default_rng(1), episodes=episodes)
    play(other, np.random.default_rng(2), episodes=1)
    check_goes_on(env, other, ended=True)


def test_environments_that_are_not_known_cannot_be_saved():
    env = REGISTRY["pettingzoo"](key="envs.skirmish.pettingzoo", seed=1)
    with pytest.raises(NotImplementedError, match="cannot be saved"):
        env.state_dict()


@pytest.mark.parametrize("map_name", ["3m", "10gen_protoss"])
def test_many_battles_during_their_episodes(map_name):
    batches = [SkirmishBatch(4, map_name=map_name, seed=seed) for seed in (1, 50)]

    def step(batch, rng, ended):
        batch.reset(ended)
        avail = batch.observed()["avail_actions"]
        actions = np.array([[rng.choice(np.flatnonzero(row)) for row in rows] for rows in avail])
        reward, ended, truncated = (array.copy() for array in batch.step(actions))
        observed = {key: array.copy() for key, array in batch.observed().items()}
        return reward, ended, truncated, observed, [batch.info(b) for b in range(4)]

    ends = []
    for batch, rng in zip(batches, map(np.random.default_rng, (1, 2)), strict=True):
        ended = np.ones(4, dtype=bool)
        for _ in range(45):
            ended = step(batch, rng, ended)[1]
        ends.append(ended)
    batches[1].load_state_dict(copy.deepcopy(batches[0].state_dict()))
    np.testing.assert_equal(batches[1].observed(), batches[0].observed())
    ends = [ends[0], ends[0]]
    for t in range(150):
        outcomes = [step(batch, np.random.default_rng(t), ended) for batch, ended in zip(batches, ends, strict=True)]
        np.testing.assert_equal(outcomes[1], outcomes[0])
        ends = [outcome[1] for outcome in outcomes]
    assert batches[0].get_stats() == batches[1].get_stats()
    other = SkirmishBatch(2, map_name=map_name, seed=1)
    with pytest.raises(ValueError, match="The state does not fit these battles: "):
        other.load_state_dict(batches[0].state_dict())
