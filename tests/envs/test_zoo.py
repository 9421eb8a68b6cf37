"""PyMARLzoo+'s words for PettingZoo's games."""

import numpy as np
import pytest
from gymnasium import spaces
from pettingzoo import ParallelEnv

from envs.pettingzoo.declared import PettingZooGroups
from envs.pettingzoo.environment import PettingZoo
from envs.pettingzoo.team import PettingZooEnv
from envs.pettingzoo.zoo import WORDS, arguments_of
from small_training import UPDATES, train
from utils.errors import ConfigError
from watched_training import assert_learnt


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (None, {}),
        ("", {}),
        ({"N": 4}, {"N": 4}),
        ("('N',4),", {"N": 4}),
        ("('N',4), ('continuous_actions',False)", {"N": 4, "continuous_actions": False}),
        ([["N", 4]], {"N": 4}),
        (["N", 4], {"N": 4}),
        ([["N", 4], ["local_ratio", 0.5]], {"N": 4, "local_ratio": 0.5}),
    ],
)
def test_arguments_in_every_form(given, found):
    assert arguments_of(given, {}) == found


def test_a_render_mode_is_an_argument_of_the_game():
    assert arguments_of({"N": 4}, {"render_mode": "human"}) == {"N": 4, "render_mode": "human"}


@pytest.mark.parametrize("given", ["('N',4", "__import__('os')", "4", [1, 2], [[1, 2]], 7])
def test_other_forms_are_refused(given):
    with pytest.raises(ConfigError, match="must be a mapping of arguments, or pairs"):
        arguments_of(given, {})


@pytest.mark.parametrize(
    "word",
    [
        {"trainable_cnn": False},
        {"image_encoder": "CLIP"},
        {"centralized_image_encoding": True},
        {"partial_observation": True},
        {"image_encoder_use_cuda": False},
    ],
)
def test_what_is_not_here_is_refused(word):
    assert {*word} <= {*WORDS}
    with pytest.raises(ConfigError, match=f"env_args.{next(iter(word))}"):
        PettingZoo.check_args(key="simple_spread_v3", time_limit=5, **word)


def test_a_game_by_its_name_alone_trains(tmp_path, monkeypatch):
    changes = {"env_args": {"key": "simple_spread_v3", "time_limit": 5, "kwargs": "('N',2),", "trainable_cnn": True}}
    assert_learnt(train(tmp_path, monkeypatch, "qmix", "pettingzoo", **changes), UPDATES)


class Pictures(ParallelEnv):
    """Two agents with one choice each see pictures of bytes."""

    metadata = {"name": "pictures"}  # noqa: RUF012
    possible_agents = ["a", "b"]  # noqa: RUF012

    def __init__(self, sizes=((36, 40, 3), (36, 40, 3))):
        self.sizes = dict(zip(self.possible_agents, sizes, strict=True))

    def observation_space(self, agent):
        return spaces.Box(0, 255, self.sizes[agent], np.uint8)

    def action_space(self, agent):
        return spaces.Discrete(2)

    def _seen(self):
        return {agent: self.rng.integers(0, 256, size, np.uint8) for agent, size in self.sizes.items()}

    def reset(self, seed=None, options=None):
        self.agents, self.rng = list(self.possible_agents), np.random.default_rng(seed)
        return self._seen(), {agent: {} for agent in self.agents}

    def step(self, actions):
        no = dict.fromkeys(self.agents, False)
        return self._seen(), dict.fromkeys(self.agents, 1.0), no, no, {agent: {} for agent in self.agents}


def test_a_team_that_sees_pictures_keeps_them():
    env = PettingZoo(key=f"{__name__}:Pictures", time_limit=3)
    assert type(env) is PettingZooGroups and env.fields()["obs"].shape == (36, 40, 3)
    assert env.fields()["obs"].dtype == "uint8" and env.fields()["avail_actions"].shape == (2,)


def test_unlike_pictures_of_a_team_are_flattened():
    env = PettingZoo(key=f"{__name__}:Pictures", time_limit=3, kwargs={"sizes": ((36, 40, 3), (4, 4, 3))})
    assert type(env) is PettingZooEnv and env.get_obs_size() == 36 * 40 * 3


def test_a_mixer_learns_from_pictures(tmp_path, monkeypatch):
    changes = {"env_args": {"key": f"{__name__}:Pictures", "time_limit": 3}, "agent": "cnn", "lr": 0.00001}
    assert_learnt(train(tmp_path, monkeypatch, "qmix", "pettingzoo", **changes), UPDATES)
