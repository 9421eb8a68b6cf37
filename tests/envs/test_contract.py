"""Every registered environment keeps PyMARL's contract; a new entry is covered without a new test."""

import json

import numpy as np
import pytest

from envs import REGISTRY
from replays.drawing import draw
from replays.plain import plain
from vector_envs.instances import env_parameters

# arguments that show more than the defaults do
VARIANTS = {
    "lbf": [
        {"key": "Foraging-5x5-2p-1f-v3"},
        {"key": "Foraging-8x8-2p-2f-coop-v3", "time_limit": 70},
        {"key": "Foraging-2s-5x5-3p-1f-coop-v3", "time_limit": 9},
    ],
    "pettingzoo": [
        {"key": "mpe2.simple_spread_v3"},
        {"key": "mpe2.simple_tag_v3"},
        {"key": "mpe2.simple_speaker_listener_v4", "reward": "mean", "time_limit": 40},
    ],
    "skirmish": [
        {"map_name": "3m"},
        {"map_name": "MMM", "obs_last_action": True, "obs_pathing_grid": True, "continuing_episode": True},
        {"map_name": "2s3z", "obs_instead_of_state": True, "obs_timestep_number": True},
        {"map_name": "10gen_terran", "use_unit_ranges": True, "conic_fov": True, "prob_obs_enemy": 0.5},
    ],
    "matrix": [{"game": "penalty", "episode_limit": 4}, {"payoff": [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]}],
}
SIZES = ("state_shape", "obs_shape", "n_actions", "n_agents", "episode_limit")
SAVES_REPLAYS = ("skirmish",)
OFFERS_SNAPSHOTS = ("two_step", "matrix", "lbf", "pettingzoo", "mpe", "skirmish")
SEEDED_STARTS = ("lbf", "pettingzoo", "skirmish 10gen")  # episodes start differently for every seed
CASES = [
    pytest.param(name, args, id=f"{name} {args.get('key', args.get('map_name', ''))}".strip())
    for name in REGISTRY
    if not name.startswith("sc2")  # needs the game
    if not hasattr(REGISTRY[name], "fields")  # test_declared_contract.py
    for args in VARIANTS.get(name, [{}])
]


def make(name, args, seed=3):
    return REGISTRY[name](**args, seed=seed)


def play(env, rng, steps=120):
    """Everything that happens in `steps` random steps: (obs, state, legal actions, reward, ended, info)."""
    seen, ended = [], True
    for _ in range(steps):
        if ended:
            env.reset()
            seen.append((*_now(env), None, False, {}))
        avail = np.array(env.get_avail_actions())
        actions = [rng.choice(np.flatnonzero(row)) for row in avail]
        reward, ended, info = env.step(actions)
        seen.append((*_now(env), reward, ended, info))
    return seen


def _now(env):
    return np.array(env.get_obs()), np.array(env.get_state()), np.array(env.get_avail_actions())


@pytest.mark.parametrize(("name", "args"), CASES)
def test_sizes_types_and_ends(name, args):
    env = make(name, args)
    info = env.get_env_info()
    assert all(type(info[size]) is int for size in SIZES)
    steps = 0
    for obs, state, avail, reward, ended, final in play(env, np.random.default_rng(0)):
        assert obs.shape == (info["n_agents"], info["obs_shape"])
        assert state.shape == (info["state_shape"],)
        assert avail.shape == (info["n_agents"], info["n_actions"])
        assert np.isfinite(obs).all()
        assert np.isfinite(state).all()
        assert set(np.unique(avail)) <= {0, 1}
        assert avail.sum(1).min() >= 1, "something is legal, in the closing state, too"
        if reward is None:
            steps = 0
            continue
        steps += 1
        assert type(reward) is float
        assert type(ended) is bool
        assert steps <= info["episode_limit"]
        if steps == info["episode_limit"]:
            assert ended
        if final.get("episode_limit"):
            assert ended
    assert np.array_equal(env.get_obs_agent(0), env.get_obs()[0])
    assert np.array_equal(env.get_avail_agent_actions(0), env.get_avail_actions()[0])
    assert isinstance(env.get_stats(), dict)
    if name not in SAVES_REPLAYS:
        with pytest.raises(NotImplementedError, match="cannot save replays"):
            env.save_replay()
    env.close()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "args"), [c for c in CASES if c.id.startswith(OFFERS_SNAPSHOTS)])
def test_snapshots_can_be_written_and_drawn_and_change_nothing(name, args):
    """An environment whose snapshots are taken plays on as another one does."""
    env, other = make(name, args), make(name, args)
    rng, pictures, ended = np.random.default_rng(2), [], True
    for _ in range(40):
        if ended:
            env.reset()
            other.reset()
            names = env.action_names()
            info = env.get_env_info()
            assert [len(own) for own in names] == [info["n_actions"]] * info["n_agents"]
            assert all(len(set(own)) == len(own) for own in names)
        scene, snapshot = plain(env.scene()), plain(env.snapshot())
        assert json.loads(json.dumps([scene, snapshot], allow_nan=False)) == [scene, snapshot]
        ids = [unit["id"] for unit in snapshot["units"]]
        assert len(set(ids)) == len(ids)
        assert all({unit[link_end] for unit in snapshot.get("links", [])} <= set(ids) for link_end in ("from", "to"))
        pictures.append(draw(scene, snapshot, 12, scene["bounds"]))
        actions = [rng.choice(np.flatnonzero(row)) for row in np.array(env.get_avail_actions())]
        (*outcome, _), (*expected, _) = env.step(actions), other.step(actions)
        assert outcome == expected
        assert np.array_equal(env.get_state(), other.get_state())
        ended = outcome[1]
        pictures.append(draw(scene, plain(env.snapshot()), 12, scene["bounds"]))
    assert len({picture.shape for picture in pictures}) == 1
    assert len({picture.tobytes() for picture in pictures}) > 1, "something moves"
    env.close()


@pytest.mark.parametrize(("name", "args"), CASES)
def test_equal_seeds_give_equal_worlds(name, args):
    first, second = (play(make(name, args), np.random.default_rng(1)) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_equal(x, y)


@pytest.mark.parametrize(("name", "args"), [c for c in CASES if c.id.startswith(SEEDED_STARTS)])
def test_other_seeds_and_later_episodes_differ(name, args):
    start = []
    for seed in (3, 4):
        env = make(name, args, seed=seed)
        for _ in range(2):
            env.reset()
            start.append(np.array(env.get_state()))
    env = make(name, args, seed=3)
    env.seed(4)
    env.reset()
    assert len({state.tobytes() for state in start}) == 4
    np.testing.assert_array_equal(env.get_state(), start[2])


@pytest.mark.parametrize("name", [name for name in REGISTRY if not name.startswith("sc2")])
def test_every_environment_can_be_seeded(name):
    assert "seed" in env_parameters(REGISTRY[name])
