"""Environments written in JAX. Without JAX, which requirements-jax.txt installs, the most of it is skipped."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from envs.families import JAX, is_there
from small_training import train
from standins import ROOT
from utils.config.user_modules import not_imported
from utils.errors import ConfigError
from watched_training import assert_learnt

HERE = Path(__file__).resolve().parents[1] / "support" / "jax_standin.py"
LAMPS, STEPS = f"{HERE}:Lamps", f"{HERE}:Steps"
with_jax = pytest.mark.skipif(not is_there("jax"), reason=f"jax is not installed: {JAX}")
with_jaxmarl = pytest.mark.skipif(not is_there("jaxmarl"), reason=f"jaxmarl is not installed: {JAX}")
with_jumanji = pytest.mark.skipif(not is_there("jumanji"), reason=f"jumanji is not installed: {JAX}")


def made(copies=3, key=LAMPS, seed=None, **env_args):
    from envs.jax_games.environment import JaxBatch

    return JaxBatch(copies, key=key, seed=[*range(copies)] if seed is None else seed, **env_args)


def choices(env, rng):
    legal = env.observed()["avail_actions"].astype(float)
    return {"actions": (legal * rng.random(legal.shape)).argmax(-1)}


def play(env, steps, actions=None):
    """What copies show and are paid in each step, those that have ended being reset at once."""
    rng, shown = np.random.default_rng(0), []
    for t in range(steps):
        chosen = choices(env, rng) if actions is None else {"actions": actions(t)}
        outcomes, *ends = env.step(chosen)
        shown.append([env.observed()["obs"].copy(), outcomes["reward"].copy(), *(end.copy() for end in ends)])
        over = ends[0] | ends[1]
        if over.any():
            env.reset(over)
        shown.append([env.observed()["obs"].copy(), env.observed()["state"].copy()])
    return shown


def require_same(one, other):
    for mine, theirs in zip(one, other, strict=True):
        for a, b in zip(mine, theirs, strict=True):
            np.testing.assert_array_equal(a, b)


def test_without_jax_the_command_is_named():
    from envs.jax_games.environment import JaxEnv

    if "jax" in sys.modules:
        pytest.skip("it has been imported")
    with not_imported("jax"), pytest.raises(ConfigError, match=r"needs the package 'jax'.*requirements-jax.txt"):
        JaxEnv.check_args(key="smax-3m")


@pytest.mark.parametrize(
    ("env_args", "message"),
    [
        ({}, "env_args.key is missing.*smax-3m.*--list jax"),
        ({"key": "smax-3m", "kwargs": [1]}, "env_args.kwargs is .*must be a mapping"),
        ({"key": "smax-3m", "time_limit": 0}, "env_args.time_limit is 0; it must be a whole number from 1"),
        ({"key": "smax-3m", "reward": "most"}, "env_args.reward is 'most'.*each, mean, sum"),
        ({"key": "smax-3m", "timelimit": 3}, "env_args.timelimit: JAX has no such argument.*time_limit"),
        ({"key": "smacks-3m"}, "a key begins with smax-, jaxmarl:, jumanji:"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_imported(env_args, message):
    from envs.jax_games.environment import JaxEnv

    with pytest.raises(ConfigError, match=message):
        JaxEnv.check_args(**env_args)


def test_jax_is_imported_by_nothing_else():
    names = "import cli.experiment, run, envs.jax_games.environment, sys; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", names], env={"PYTHONPATH": str(ROOT / "src")}).returncode == 0


@with_jax
def test_fields_are_those_of_a_team():
    env = made(time_limit=4)
    fields, game = env.fields(), env.simulator.game
    assert env.groups == {"agents": 2} and env.episode_limit == 4
    assert (fields["obs"].shape, fields["state"].shape, fields["actions"].n) == ((2,), (4,), 3)
    assert game.n_actions == 3 and not game.shares_reward
    env.reset()
    assert env.observed()["avail_actions"][1].tolist() == [[1, 1, 0], [1, 1, 0]], "a has two choices, b's mask"
    seen = env.observed()["obs"][0]
    assert seen[0, 0] == seen[1, 0] == seen[1, 1] and seen[0, 1] == 0, "padded with zeros"


@with_jax
@pytest.mark.parametrize("key", [LAMPS, STEPS])
def test_an_episode_depends_on_the_copys_seed_and_its_number_alone(key):
    """Not on the number of copies, nor on when others end. Actions are those of the step, the same for all."""
    many, alone = made(9, key, seed=[5, 6, *range(7)], time_limit=6), made(1, key, seed=[6], time_limit=6)
    many.reset()
    alone.reset()

    def episodes(env, b, count):
        found, now = [], [env.observed()["obs"][b].copy()]
        t = 0
        while len(found) < count:
            legal = env.observed()["avail_actions"]
            action = np.where(legal[:, :, 1] > 0, t % 2, 0)
            outcomes, *ends = env.step({"actions": action})
            over, t = ends[0] | ends[1], t + 1
            now.append([env.observed()["obs"][b].copy(), outcomes["reward"][b], ends[0][b], ends[1][b]])
            if over[b]:
                found.append(now)
                t = 0
            if over.any():
                env.reset(over)
            if over[b]:
                now = [env.observed()["obs"][b].copy()]
        return found

    for mine, theirs in zip(episodes(many, 1, 3), episodes(alone, 0, 3), strict=True):
        assert len(mine) == len(theirs)
        np.testing.assert_array_equal(mine[0], theirs[0])
        for one, other in zip(mine[1:], theirs[1:], strict=True):
            for a, b in zip(one, other, strict=True):
                np.testing.assert_array_equal(a, b)


@with_jax
def test_the_last_observation_of_an_episode_is_seen_and_stays():
    env = made(2, time_limit=3, kwargs={"max_steps": 2})
    env.reset()
    before = env.observed()["obs"].copy()
    for _ in range(3):
        _, terminated, truncated = env.step({"actions": np.ones((2, 2), int)})
    after = env.observed()["obs"].copy()
    assert (after > before + 2).all(where=before > 0)
    assert not (terminated & truncated).any() and (terminated | truncated).all()
    env.step({"actions": np.zeros((2, 2), int)})
    np.testing.assert_array_equal(env.observed()["obs"], after)
    env.reset(np.array([True, False]))
    now = env.observed()["obs"]
    assert now[0, 0, 0] < 1 and now[0, 0, 0] != before[0, 0, 0]
    np.testing.assert_array_equal(now[1], after[1])


@with_jax
@pytest.mark.parametrize(("reward", "paid"), [("sum", 5.0), ("mean", 2.5), ("each", [1.0, 4.0])])
def test_rewards_of_the_team_or_of_each(reward, paid):
    env = made(2, reward=reward, kwargs={"bonus": 2.0})
    env.reset()
    outcomes, *_ = env.step({"actions": np.array([[1, 2], [1, 2]])})
    assert outcomes["reward"][1].tolist() == paid
    assert env.fields()["reward"].group == ("agents" if reward == "each" else None)
    info = env.info(0)
    assert info["each_a"] == 1.0 and {*info} == {"level", "each_a"}
    assert env.infos_at(np.array([1, 0]))[1] == info


@with_jax
def test_time_that_is_up_truncates_and_what_ends_the_task_terminates():
    env = made(1, time_limit=2)
    env.reset()
    env.step({"actions": np.zeros((1, 2), int)})
    _, terminated, truncated = env.step({"actions": np.zeros((1, 2), int)})
    assert (terminated.tolist(), truncated.tolist()) == ([False], [True])
    env = made(1)
    assert env.episode_limit == 5, "the environment's own"
    env.reset()
    env.step({"actions": np.array([[1, 2]])})
    _, terminated, truncated = env.step({"actions": np.array([[1, 2]])})
    assert (terminated.tolist(), truncated.tolist()) == ([True], [False]), "brighter than six"


@with_jax
def test_jumanjis_interface():
    env = made(2, STEPS, time_limit=9)
    game = env.simulator.game
    assert game.shares_reward and game.n_actions == 2 and env.episode_limit == 9
    env.reset()
    assert env.observed()["obs"].shape == (2, 3, 6), "what all see, and who the agent is"
    reward = 0
    for _ in range(9):
        legal = env.observed()["avail_actions"]
        assert (legal.sum(-1) >= 1).all(), "who has nothing left to do does something"
        outcomes, terminated, truncated = env.step({"actions": np.ones((2, 3), int)})
        reward = reward or outcomes["reward"][0]
    assert reward == 3.0, "one reward of the team, not three times"
    assert terminated.all() and not truncated.any() and env.info(0) == {"there": 3}


@with_jax
@pytest.mark.parametrize("key", [LAMPS, STEPS])
def test_the_state_is_saved_and_resumed(key):
    env, other = made(5, key), made(5, key, seed=[*range(50, 55)])
    env.reset()
    play(env, 4)
    saved = env.state_dict()
    assert all(isinstance(array, np.ndarray) and len(array) == 5 for array in saved.values())
    expected = play(env, 8)
    other.load_state_dict(saved)
    require_same(play(other, 8), expected)
    with pytest.raises(Exception, match=r"another number of copies"):
        made(4, key).load_state_dict(saved)


@with_jax
def test_what_there_is_not_is_refused_with_words():
    from envs.jax_games.environment import JaxEnv

    with pytest.raises(ConfigError, match=r"takes no 'bonsu'.*bonus"):
        JaxEnv.check_args(key=LAMPS, kwargs={"bonsu": 1})
    with pytest.raises(ConfigError, match=r"the module has no 'Lamp'.*Lamps"):
        JaxEnv.check_args(key=f"{HERE}:Lamp")
    with pytest.raises(ValueError, match=r"Actions are 0 to 2, not 0 to 3"):
        env = made()
        env.reset()
        env.step({"actions": np.array([[0, 0], [0, 3], [0, 0]])})


@with_jax
@pytest.mark.parametrize(
    ("algorithm", "words"),
    [
        ("vdn", {"runner": "episodes"}),
        ("mappo", {"runner": "rollout", "rollout_steps": 4, "double_buffering": "on"}),
        ("vdn", {"runner": "episode", "batch_size_run": 1}),
        ("vdn", {"runner": "parallel"}),
    ],
)
@pytest.mark.slow
def test_a_run_learns_from_it(tmp_path, monkeypatch, algorithm, words):
    changes = {"batch_size_run": 2, "env_args": {"key": LAMPS, "time_limit": 5}, **words}
    assert_learnt(train(tmp_path, monkeypatch, algorithm, "jax", **changes), 2)


@with_jaxmarl
@pytest.mark.slow
def test_smax():
    env = made(2, "smax-3m", time_limit=20)
    assert (env.groups, env.episode_limit) == ({"agents": 3}, 20)
    fields = env.fields()
    assert fields["actions"].n == 8 and fields["state"].shape == (72,)
    env.reset()
    play(env, 25)
    assert env.simulator.game.shares_reward and {*env.info(0)} == {"battle_won"}
    with pytest.raises(ConfigError, match=r"SMAX has no scenario '3n'.*3m"):
        made(1, "smax-3n")


@with_jumanji
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "size", "state"),
    [
        ("Cleaner-v0", 500, 600),
        ("Connector-v3", 600, 3000),
        ("LevelBasedForaging-v0", 12, 24),
        ("RobotWarehouse-v0", 66, 264),
        ("SearchAndRescue-v0", 387, 774),
    ],
)
def test_what_agents_of_jumanji_see(name, size, state):
    env = made(1, f"jumanji:{name}", time_limit=5)
    assert env.fields()["obs"].shape == (size,) and env.fields()["state"].shape == (state,)
    env.reset()
    if name == "Connector-v3":
        planes = env.observed()["obs"][0].reshape(10, 6, 10, 10)
        assert (planes.sum(axis=(2, 3))[:, [1, 2, 4, 5]] == [1, 1, 9, 9]).all(), "a head and a target each"
    if name == "Cleaner-v0":
        planes = env.observed()["obs"][0].reshape(3, 5, 10, 10)
        assert (planes[:, :3].sum(axis=1) == 1).all() and (planes[:, 3:].sum(axis=(2, 3)) == [2, 1]).all()
    with pytest.raises(ConfigError, match=r"'Snake-v1' is of one agent"):
        made(1, "jumanji:Snake-v1")
