"""Level-based foraging as an environment: copies, threads, saved states, `env=lbf`, `gymma`, bad arguments, drawing."""

import numpy as np
import pytest
from numpy.testing import assert_equal

from envs import has_batched_form
from envs.lbf.environment import LBF, LBFBatch
from envs.pettingzoo import gymma
from envs.pettingzoo.gymma import Gymma
from envs.small.lbf import Foraging, batch
from utils.errors import ConfigError

SEEDS = [3, 1, 4, 1, 5]
OPTIONS = {"players": 3, "field_size": 6, "max_num_food": 3, "time_limit": 12, "reward": "each"}
VIEWS = ({}, {"sight": 2}, {"sight": 2, "grid_observation": True})


def played(env, seed, steps=40, restart=True):
    """All that is seen of copies, for each step."""
    rng, seen = np.random.default_rng(seed), []
    for _ in range(steps):
        shown = {path: array.copy() for path, array in env.observed().items()}
        values, terminated, truncated = env.step({"actions": rng.integers(0, 6, shown["obs"].shape[:2])})
        seen.append((shown, values["reward"].copy(), terminated.copy(), truncated.copy(), env.snapshot()))
        if restart:
            env.reset(terminated | truncated)
    return seen


def made(**options):
    env = LBFBatch(len(SEEDS), **{**OPTIONS, "seed": SEEDS, **options})
    env.reset()
    return env


@pytest.mark.parametrize("view", VIEWS)
def test_neither_threads_nor_the_place_of_the_results_matter(view):
    alone, threads = made(**view), made(**view, threads=3)
    simulator = threads.simulator
    expected, found = [], []
    rng = np.random.default_rng(0)
    for t in range(40):
        actions = rng.integers(0, 6, (len(SEEDS), 3))
        expected.append([array.copy() for array in alone.simulator.step(actions)])
        if t % 3 == 0:
            simulator.step(actions, outputs=simulator.allocate(len(SEEDS))[1])
        else:
            simulator.step(actions)
        found.append([array.copy() for array in simulator.outputs])
        ended = simulator.outputs.terminated | simulator.outputs.truncated
        simulator.reset(ended, outputs=simulator.allocate(len(SEEDS))[1] if t % 5 == 0 else None)
        alone.simulator.reset(ended)
    assert_equal(found, expected)


def test_the_rewards_of_the_team_are_their_sum_or_mean():
    def paid(reward):
        return np.array([step[1] for step in played(made(reward=reward), 0, 200)])

    each, of_sum, of_mean = paid("each"), paid("sum"), paid("mean")
    assert each.any()
    assert_equal(of_sum, each[..., 0] + each[..., 1] + each[..., 2])
    assert_equal(of_mean, of_sum / 3)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"plyers": 3}, "env_args.plyers: .* Did you mean 'players'"),
        ({"players": 0}, "env_args.players is 0; it must be a whole number from 1 to 64"),
        ({"field_size": 2}, "env_args.field_size is 2; it must be a whole number from 3"),
        ({"field_size": [8]}, r"env_args.field_size is \[8\]; it must be a number, such as 8, or two"),
        ({"field_size": 3, "players": 10}, "env_args.players is 10; the board has 9 cells"),
        ({"sight": 0}, "env_args.sight is 0"),
        ({"penalty": -1}, "env_args.penalty is -1"),
        ({"force_coop": 2}, "env_args.force_coop is 2; it must be True or False"),
        ({"reward": "ech"}, "env_args.reward is 'ech'. Did you mean 'each'"),
        ({"min_player_level": 3}, "env_args.min_player_level is 3, more than env_args.max_player_level, 2"),
        ({"max_player_level": [2, 2, 2]}, "env_args.max_player_level has 3 levels; it needs one, or 2"),
        ({"max_food_level": "x"}, "env_args.max_food_level is x"),
        ({"min_food_level": 3}, "env_args.min_food_level is 3, more than the most .* which can be 2"),
        ({"max_episode_steps": 0}, "env_args.max_episode_steps is 0"),
    ],
)
def test_bad_arguments(given, message):
    with pytest.raises(ConfigError, match=message):
        LBF.check_args(**given)
    if "plyers" not in given:
        with pytest.raises(ConfigError, match=message):
            Foraging.check_args(key="Foraging-8x8-2p-2f-v3", compiled=True, **given)


def test_an_action_that_does_not_exist_changes_nothing():
    for threads in (1, 2):
        env = made(threads=threads)
        before, actions = env.state_dict(), np.zeros((5, 3), int)
        for wrong in (-1, 6):
            actions[2, 1] = wrong
            with pytest.raises(ValueError, match=f"Agent 1 of copy 2 cannot take action {wrong}; its"):
                env.step({"actions": actions})
        assert_equal(env.state_dict(), before)


def test_env_lbf_plays_the_compiled_one_or_the_packages():
    key = "Foraging-8x8-2p-2f-coop-v3"
    assert type(Foraging(key=key, compiled=True)) is LBF
    assert has_batched_form("lbf", {"key": key, "compiled": True})
    assert not has_batched_form("lbf", {"key": key}), "records without `compiled` are of the package's"
    env = Foraging(key=key, compiled=True, time_limit=70, sight=3)
    assert (env.episode_limit, env.options.seen, env.options.force_coop) == (70, 3, True)
    many = batch(4, threads=2, key=key, compiled=True, seed=[1, 2, 3, 4])
    assert many.fields()["obs"].shape == (12,)
    assert batch.copies_per_thread(key=key, compiled=True) == 2048
    with pytest.raises(
        ConfigError, match=r"no task 'Foraging-8x8-2p-2f-cop-v3'. Did you mean 'Foraging-8x8-2p-2f-coop"
    ):
        Foraging.check_args(key="Foraging-8x8-2p-2f-cop-v3", compiled=True)
    with pytest.raises(ConfigError, match=r"env_args.players is 3, which only the compiled game takes"):
        Foraging(key=key, players=3)


@pytest.mark.parametrize("compiled", [True, False])
def test_gymma_has_the_packages_spaces(compiled):
    if not compiled:
        pytest.importorskip("lbforaging")
    env = Gymma(key="lbforaging:Foraging-2s-8x8-3p-4f-coop-v3", time_limit=20, compiled=compiled, seed=1)
    info = env.get_env_info() if not compiled else None
    shapes = {path: field.shape for path, field in env.fields().items()} if compiled else {}
    obs, state, actions = (
        (shapes["obs"][0], shapes["state"][0], env.fields()["actions"].n)
        if compiled
        else (info["obs_shape"], info["state_shape"], info["n_actions"])
    )
    assert (obs, state, actions, env.episode_limit) == (21, 63, 6, 20)


def test_gymma_plays_what_the_package_lacks():
    for key, size in (("Foraging-15x15-4p-5f-v3", 27), ("Foraging-grid-2s-8x8-2p-2f-v3", 75)):
        words = {"key": f"lbforaging:{key}", "time_limit": 100}
        assert gymma.is_compiled(**words)
        assert gymma.batch.copies_per_thread(**words) >= 1024
        env = gymma.batch(2, **words, seed=[0, 1])
        assert env.fields()["obs"].shape == (size,)
        assert env.episode_limit == 50, "the package's own limit"
    assert Gymma(key="lbforaging:Foraging-8x8-2p-2f-v3", penalty=0.5).options.penalty == 0.5
    assert not gymma.is_compiled(key="lbforaging:Foraging-8x8-2p-2f-v3", render_mode="human")
    with pytest.raises(ConfigError, match="Did you mean 'Foraging-8x8-2p-2f-v3'"):
        Gymma.check_args(key="lbforaging:Foraging-8x8-2p-2f-v2")


def test_the_drawing_has_agents_and_food_with_levels():
    env = made()
    env.simulator.put(0, [[0, 0, 1], [1, 2, 2], [5, 5, 1]], [[3, 3, 2]])
    food, *agents = env.snapshot()["units"]
    assert (food["kind"], food["label"], food["x"], food["y"], food["team"]) == ("food", "2", 3, 2, None)
    assert [(unit["agent"], unit["label"], unit["x"], unit["y"]) for unit in agents] == [
        (0, "1", 0, 5),
        (1, "2", 2, 4),
        (2, "1", 5, 0),
    ]
    assert env.scene()["bounds"] == [-0.5, -0.5, 5.5, 5.5]
    assert env.action_names() == [["none", "north", "south", "west", "east", "load"]] * 3
