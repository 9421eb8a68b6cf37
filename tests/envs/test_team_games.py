"""What all compiled games of one team have: copies and one, threads, seeds, saved states, illegal actions, drawings."""

import importlib

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_equal

from played_copies import played
from utils.errors import ConfigError
from vector_envs.batched import BatchedCopies

SEEDS = [3, 1, 4, 1, 5]
GRIDS = "envs.grids.environment"
LBF = ("envs.lbf.environment", "LBFBatch", "LBF")
ON_A_BOARD = {"players": 3, "field_size": 6, "max_num_food": 3}
RWARE = ("envs.rware.environment", "RwareBatch", "Rware")
# little ways, and many requests: random play delivers now and then
OF_SHELVES = {"layout": ["g..x", "...x", ".xxx"], "n_agents": 2, "request_queue_size": 4}
# the module with the batched class and that of one copy, their names, and arguments
GAMES = {
    "lbf": (*LBF, ON_A_BOARD),
    "lbf, short sight": (*LBF, {**ON_A_BOARD, "sight": 2}),
    "lbf, grid": (*LBF, {**ON_A_BOARD, "sight": 2, "grid_observation": True}),
    "rware": (*RWARE, OF_SHELVES),
    "rware, wide sight": (*RWARE, {**OF_SHELVES, "sensor_range": 2}),
    "rware, messages": (*RWARE, {**OF_SHELVES, "msg_bits": 2, "reward_type": "two_stage"}),
    "rware, inactive": (*RWARE, {**OF_SHELVES, "max_inactivity_steps": 7}),
    "particles": ("envs.particles.environment", "ParticlesBatch", "Particles", {"scenario": "simple_tag"}),
    "matrixgames": ("envs.matrixgames.environment", "MatrixGameBatch", "MatrixGame", {"key": "climbing-laststate-v0"}),
    "pressureplate": (GRIDS, "PressurePlateBatch", "PressurePlate", {"key": "pressureplate-linear-5p-v0"}),
    "capturetarget": (GRIDS, "CaptureTargetBatch", "CaptureTarget", {}),
    "boxpushing": (GRIDS, "BoxPushingBatch", "BoxPushing", {}),
    "overcooked": ("envs.overcooked.environment", "OvercookedBatch", "Overcooked", {"key": "coordination_ring"}),
}


@pytest.fixture(params=GAMES)
def game(request):
    """The two classes, and arguments."""
    module, batch, one, options = GAMES[request.param]
    loaded = importlib.import_module(module)
    return getattr(loaded, batch), getattr(loaded, one), {"time_limit": 12, **options}


def many(game, seeds=SEEDS, **options):
    env = BatchedCopies(game[0](len(seeds), seed=seeds, **{**game[2], **options}), len(seeds))
    env.reset()
    return env


def test_one_copy_is_one_of_many(game):
    env, ones = many(game), [game[1](seed=seed, **game[2]) for seed in SEEDS]
    for one in ones:
        one.reset()
    rng, episodes = np.random.default_rng(0), 0
    for _ in range(60):
        shown = env.observed()
        for b, one in enumerate(ones):
            assert_equal(one.observe(), {path: array[b] for path, array in shown.items()})
        legal = shown["avail_actions"]
        actions = (rng.random(legal.shape) * legal).argmax(-1)
        outcome = env.step({"actions": actions})
        for b, one in enumerate(ones):
            values, *ends, _ = one.step({"actions": actions[b]})
            assert_equal(values["reward"], outcome.values["reward"][b])
            assert ends == [outcome.terminated[b], outcome.truncated[b]]
            if any(ends):
                one.reset()
        ended = outcome.terminated | outcome.truncated
        episodes += ended.sum()
        env.reset(ended)
    assert episodes >= len(SEEDS)


def test_threads_do_not_matter(game):
    assert_equal(*[played(env, np.random.default_rng(1)) for env in (many(game), many(game, threads=3))])


def test_episodes_depend_on_the_seed_and_their_number_only(game):
    env = many(game)
    first = {path: array.copy() for path, array in env.observed().items()}
    assert_equal(first["obs"][1], first["obs"][3])
    played(env, np.random.default_rng(2), 20)
    env.env.seed(SEEDS)
    env.reset()
    assert_equal(env.observed(), first)


def test_a_copy_that_has_ended_stays_as_it_is(game):
    env = many(game, time_limit=3)
    seen = played(env, np.random.default_rng(6), 5, restart=False)
    assert seen[2][3].all()
    assert_equal(seen[4][0], seen[3][0])
    assert_equal(seen[4][2:], seen[3][2:])


def test_the_reward_of_the_team_is_the_sum_or_the_mean(game):
    def paid(reward):
        return np.array([step[1] for step in played(many(game, reward=reward), np.random.default_rng(7), 60)])

    each = paid("each")
    assert_allclose(paid("sum"), each.sum(-1), atol=1e-12)
    assert_allclose(paid("mean"), each.mean(-1), atol=1e-12)


def test_a_saved_state_continues(game):
    env = many(game)
    played(env, np.random.default_rng(3), 17)
    saved = env.state_dict()
    expected = played(env, np.random.default_rng(4))
    other = many(game, seeds=[7, 8, 9, 10, 11])
    other.load_state_dict(saved)
    assert_equal(played(other, np.random.default_rng(4)), expected)


def test_an_illegal_action_is_refused_and_nothing_happens(game):
    env = many(game)
    before = env.state_dict()
    n_actions, n_agents = env.observed()["avail_actions"].shape[2], env.observed()["obs"].shape[1]
    for action in (-1, n_actions):
        actions = np.zeros((5, n_agents), int)
        actions[3, 1] = action
        with pytest.raises(
            ValueError, match=f"Agent 1 of copy 3 cannot take action {action}; its actions are 0 to {n_actions - 1}"
        ):
            env.step({"actions": actions})
    assert_equal(env.state_dict(), before)


def test_what_is_drawn_is_within_the_bounds(game):
    env = many(game)
    x0, y0, x1, y1 = env.scene()["bounds"]
    for *_, snapshot in played(env, np.random.default_rng(5)):
        names = [unit["id"] for unit in snapshot["units"]]
        assert len({*names}) == len(names)
        assert all(x0 <= unit["x"] <= x1 and y0 <= unit["y"] <= y1 for unit in snapshot["units"])


def test_bad_arguments_are_refused(game):
    for options, words in (
        ({"time_limt": 3}, "env_args.time_limt: .* has no such argument. Did you mean 'time_limit'"),
        ({"time_limit": 0}, "env_args.time_limit is 0"),
        ({"reward": "max"}, "env_args.reward is 'max'"),
    ):
        with pytest.raises(ConfigError, match=words):
            game[1].check_args(**options)
