"""The matrix games of EPyMARL: equal to recorded play of the package."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from envs.matrixgames.environment import MatrixGame, MatrixGameBatch
from envs.matrixgames.ids import arguments
from envs.matrixgames.payoffs import KEYS, TWO_STEP
from envs.pettingzoo.gymma import Gymma, is_compiled
from utils.errors import ConfigError

EPISODES = json.loads(gzip.decompress((Path(__file__).parent / "episodes.json.gz").read_bytes()))


def test_all_games_of_the_package_are_there():
    assert {*EPISODES} == {*KEYS} - {TWO_STEP}


@pytest.mark.parametrize("key", EPISODES)
def test_equal_to_the_package(key):
    episode = EPISODES[key]
    steps, n = np.shape(episode["actions"])
    env = MatrixGame(key=key, time_limit=100, ep_length=steps, reward="each")
    env.reset()
    seen, rewards, ends = [env.observe()["obs"].copy()], [], []
    for actions in episode["actions"]:
        outcomes, terminated, truncated, _ = env.step({"actions": np.array(actions)})
        seen.append(env.observe()["obs"].copy())
        rewards.append(outcomes["reward"].copy())
        ends.append(terminated or truncated)
    assert np.array_equal(rewards, episode["rewards"])
    assert ends == episode["ends"]
    assert truncated, "time that is up truncates, where the package terminates"
    assert len(np.unique(episode["actions"], axis=0)) == env.fields()["actions"].n ** n, "all joint actions were played"
    expected = np.array(episode["observations"][1:], float)
    assert np.array_equal(seen[1:], expected), "the package's arrays of one-hot actions are one vector here"
    assert not seen[0].any(), "where the package has -1, the actions before the first step are zeros"


@pytest.mark.parametrize(("first", "paid"), [(0, [[1, 5], [5, 9]]), (1, [[0, 0], [0, 10]])])
def test_the_first_agent_chooses_the_second_table(first, paid):
    for joint in np.ndindex(2, 2):
        env = Gymma(key=f"matrixgames:{TWO_STEP}", time_limit=25, reward="each")
        env.reset()
        assert env.observe()["obs"].tolist() == [[1, 0, 0]] * 2
        outcomes, *ends, _ = env.step({"actions": np.array([first, joint[0]])})
        assert (outcomes["reward"].tolist(), ends) == ([0, 0], [False, False])
        assert env.observe()["obs"].tolist() == [np.eye(3)[first + 1].tolist()] * 2
        outcomes, *ends, _ = env.step({"actions": np.array(joint)})
        assert (outcomes["reward"].tolist(), ends) == ([paid[joint[0]][joint[1]]] * 2, [True, False])


def test_gymma_plays_the_compiled_game_and_sums_over_both():
    env = Gymma(key="matrixgames:penalty-100-nostate-v0", time_limit=2)
    assert isinstance(env, MatrixGame)
    env.reset()
    outcomes, *ends, _ = env.step({"actions": np.array([0, 2])})
    assert (outcomes["reward"], ends) == (20, [False, False])
    assert env.step({"actions": np.array([0, 0])})[:3] == ({"reward": -200}, False, True)
    assert Gymma(key="matrixgames:penalty-100-nostate-v0", reward="mean").batch.options.reward == "mean"


def test_words_that_only_the_package_has_are_its_own():
    assert is_compiled(key="matrixgames:climbing-nostate-v0", ep_length=5)
    assert not is_compiled(key="matrixgames:climbing-nostate-v0", last_action_state=True)
    assert not is_compiled(key="matrixgames:climbing-nostate-v0", compiled=False)


def test_an_unknown_game_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match=r"env_args.key is 'climbin-nostate-v0'.*climbing-nostate-v0"):
        arguments("matrixgames:climbin-nostate-v0")
    with pytest.raises(ConfigError, match=r"env_args\.ep_length is 0"):
        MatrixGame.check_args(key=TWO_STEP, ep_length=0)


def test_the_drawing_is_the_table_with_a_ring():
    env = MatrixGameBatch(1, key="conflict-1-nostate-v0", time_limit=5)
    env.reset()
    assert [unit["label"] for unit in env.snapshot()["units"]] == ["3 3", "4 2", "2 4", "1 1"]
    env.step({"actions": np.array([[1, 0]])})
    *_, ring = env.snapshot()["units"]
    assert (ring["shape"], ring["x"], ring["y"]) == ("ring", 0, -1)
    env = MatrixGameBatch(1, key=TWO_STEP, time_limit=5)
    env.reset()
    assert env.snapshot()["texts"] == ["The first agent chooses the table."]
    env.step({"actions": np.array([[1, 0]])})
    assert env.snapshot()["texts"] == ["Table 2"]
    assert [unit["label"] for unit in env.snapshot()["units"]] == ["0", "0", "0", "10"]
    env.step({"actions": np.array([[1, 0]])})
    assert env.snapshot()["units"][-1]["id"] == "chosen"
