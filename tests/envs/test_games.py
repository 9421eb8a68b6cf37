"""The games that are ours, against the tables they were published with, and what PyMARL2's learners print of them."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
import torch as th

from envs.matrix_game import MatrixGame, print_matrix_status
from envs.small.two_step import TwoStepGame
from helpers import random_batch
from modules.mixers.vdn import VDNMixer
from utils.errors import ConfigError


def test_every_course_of_the_two_step_game():
    """Rashid et al. 2018: 7 everywhere in branch 2A; 0, 1, 1, 8 in branch 2B; agent 1 chooses the branch."""
    for a, b, c, d in itertools.product(range(2), repeat=4):
        env = TwoStepGame()
        env.reset()
        assert env.step([a, b]) == (0.0, False, {})
        assert env.get_state().tolist() == ([0, 1, 0, 0] if a == 0 else [0, 0, 1, 0])
        reward, ended, info = env.step([c, d])
        assert reward == (7 if a == 0 else [[0, 1], [1, 8]][c][d])
        assert ended
        assert not info.get("episode_limit"), "the end is part of the game"


@pytest.mark.parametrize(
    ("game", "best", "worst"),
    [
        ("climbing", (0, 0, 11), -30),
        ("penalty", (0, 0, 10), -100),
        ("qtran", (0, 0, 8), -12),
        ("one_step", (0, 0, 12), -0.1),
    ],
)
def test_presets(game, best, worst):
    env = MatrixGame(game=game)
    rewards = {}
    for a, b in itertools.product(range(3), repeat=2):
        env.reset()
        rewards[a, b], ended, _ = env.step([a, b])
        assert ended
    assert max(rewards.values()) == rewards[best[:2]] == best[2]
    assert min(rewards.values()) == worst


def test_any_number_of_agents_and_steps():
    env = MatrixGame(payoff=np.arange(8).reshape(2, 2, 2).tolist(), episode_limit=2)
    assert env.get_env_info() == {"state_shape": 1, "obs_shape": 1, "n_actions": 2, "n_agents": 3, "episode_limit": 2}
    env.reset()
    assert env.step([1, 0, 1]) == (5.0, False, {})
    assert env.step(np.array([0, 1, 1])) == (3.0, True, {})
    env.reset()
    assert not env.step([0, 0, 0])[1]


def test_steps_are_seen_if_asked_for():
    env = MatrixGame(game="one_step", observe_steps=True, episode_limit=2)
    assert (env.get_env_info()["state_shape"], env.get_env_info()["obs_shape"]) == (3, 3)
    for seen in ([1, 0, 0], [0, 1, 0], [0, 0, 1]):
        assert env.get_state().tolist() == env.get_obs_agent(1).tolist() == seen
        env.step([0, 1])
    env.reset()
    assert env.get_state().tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    "payoff", [[], 3, [[1, 2], [3]], [[1, 2, 3], [4, 5, 6]], [["a", "b"], ["c", "d"]], [[1, np.nan], [0, 0]]]
)
def test_tables_that_are_none(payoff):
    with pytest.raises(ConfigError, match=r"env_args\.payoff"):
        MatrixGame(payoff=payoff)


@pytest.mark.parametrize("estimates", [(), (5,)])
def test_the_value_of_every_joint_action_is_printed(capsys, estimates):
    """VDN: the table is the sum of the agents' values, 1, 2, 3 and 10, 20, 30."""
    batch = random_batch([2, 1], 4)
    own = th.tensor([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]]).view(1, 1, 2, 3, *[1] * len(estimates))
    print_matrix_status(batch, VDNMixer(), own.expand(2, 4, 2, 3, *estimates))
    numbers = [float(word) for word in capsys.readouterr().out.replace("[", " ").replace("]", " ").split()
               if word[0].isdigit()]  # fmt: skip
    assert numbers == [11, 21, 31, 12, 22, 32, 13, 23, 33, 1, 2, 3, 10, 20, 30]


def test_the_games_own_module_needs_no_torch():
    program = "import sys; from envs.matrix_game import MatrixGame; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={"PYTHONPATH": "src"})
    assert done.stdout.strip() == "False", done.stderr
