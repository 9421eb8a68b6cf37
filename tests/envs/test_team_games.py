"""What all compiled games of one team have: copies and one, threads, seeds, saved states, illegal actions, drawings."""

import importlib

import numpy as np
import pytest
from numpy.testing import assert_equal

from utils.errors import ConfigError
from vector_envs.batched import BatchedCopies

SEEDS = [3, 1, 4, 1, 5]
GRIDS = "envs.grids.environment"
# the module with the batched class and that of one copy, their names, and arguments
GAMES = {
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
    env = BatchedCopies(game[0](len(seeds), seed=seeds, **game[2], **options), len(seeds))
    env.reset()
    return env


def played(env, rng, steps=30):
    """All that is seen of copies that restart, for each step."""
    seen = []
    for _ in range(steps):
        shown = {path: array.copy() for path, array in env.observed().items()}
        legal = shown["avail_actions"]
        outcome = env.step({"actions": (rng.random(legal.shape) * legal).argmax(-1)})
        ended = outcome.terminated | outcome.truncated
        seen.append((shown, outcome.values["reward"].copy(), outcome.terminated.copy(), ended, env.snapshot()))
        env.reset(ended)
    return seen


def test_one_copy_is_one_of_many(game):
    env, ones = many(game), [game[1](seed=seed, **game[2]) for seed in SEEDS]
    for one in ones:
        one.reset()
    rng = np.random.default_rng(0)
    for _ in range(40):
        shown = env.observed()
        for b, one in enumerate(ones):
            assert_equal(one.observe(), {path: array[b] for path, array in shown.items()})
        legal = shown["avail_actions"]
        actions = (rng.random(legal.shape) * legal).argmax(-1)
        outcome = env.step({"actions": actions})
        for b, one in enumerate(ones):
            values, *ends, _ = one.step({"actions": actions[b]})
            assert values["reward"] == outcome.values["reward"][b]
            assert ends == [outcome.terminated[b], outcome.truncated[b]]
            if any(ends):
                one.reset()
        env.reset(outcome.terminated | outcome.truncated)


def test_threads_do_not_matter(game):
    assert_equal(*[played(env, np.random.default_rng(1)) for env in (many(game), many(game, threads=3))])


def test_equal_seeds_play_equally(game):
    seen = played(many(game), np.random.default_rng(2), 1)[0][0]["obs"]
    assert_equal(seen[1], seen[3])


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
        with pytest.raises(ValueError, match="an action is illegal"):
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
        ({"kye": "x"}, "env_args.kye: .* has no such argument. Did you mean 'key'"),
        ({"key": "x"}, "env_args.key is 'x'"),
        ({"time_limit": 0}, "env_args.time_limit is 0"),
        ({"reward": "max"}, "env_args.reward is 'max'"),
    ):
        with pytest.raises(ConfigError, match=words):
            game[1].check_args(**options)
