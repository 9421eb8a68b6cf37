"""PyMARLzoo+'s words for PettingZoo's games."""

import pytest

from envs.pettingzoo.environment import PettingZoo
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
