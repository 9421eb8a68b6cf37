"""MiniGrid's pictures of categories, its missions and its limit of steps, on a stand-in for the package."""

import logging

import numpy as np
import pytest
import torch as th

import minigrid_standin
from envs.contract.validation import InvalidEnvironmentError
from envs.gymnasium.environment import GymnasiumEnv
from small_training import UPDATES, train
from utils.errors import ConfigError
from utils.tensors.schemes import as_seen, seen_shape
from watched_training import assert_learnt

KEY = "minigrid_standin:MiniGridEnv"
IMAGE = "obs/image"


@pytest.fixture(autouse=True)
def package(monkeypatch):
    minigrid_standin.install(monkeypatch)


def wrapper(name):
    return [f"minigrid_standin:{name}"]


def test_cells_are_categories_and_the_mission_is_left_out():
    env = GymnasiumEnv(KEY)
    observed = {path: field for path, field in env.fields().items() if field.kind == "observation"}
    assert [*observed] == ["obs/direction", IMAGE]
    assert observed[IMAGE].about == {"categories": minigrid_standin.SIZES}
    assert observed[IMAGE].shape == (7, 7, 3) and env._shown.unread == ["obs/mission"]


@pytest.mark.parametrize(
    ("words", "categories"),
    [
        ({"wrappers": wrapper("ViewSizeWrapper")}, True),
        ({"wrappers": wrapper("RGBImgObsWrapper")}, False),
        ({"wrappers": ["minigrid_standin:Strange"]}, False),
        ({"observation_key": "image"}, True),
    ],
    ids=["of another size", "pixels", "of a stranger", "alone"],
)
def test_which_pictures_are_cells(words, categories):
    fields = GymnasiumEnv(KEY, **words).fields()
    image = fields.get(IMAGE) or fields["obs"]
    assert bool(image.about) == categories


def test_what_the_package_does_not_have_is_refused():
    env = GymnasiumEnv(KEY, {"goal": 11})
    with pytest.raises(
        InvalidEnvironmentError, match=r"after reset.*'obs/image' has the object 11, of which there are 11"
    ):
        env.reset()


def test_the_environment_says_its_limit():
    env = GymnasiumEnv(KEY, {"max_steps": 3})
    assert (env.episode_limit, GymnasiumEnv(KEY, time_limit=2).episode_limit) == (3, 2)
    env.reset()
    ends = [env.step({"actions": np.array([0])})[1:3] for _ in range(3)]
    assert ends == [(False, False), (False, False), (False, True)], "also where it does not keep to it"
    with pytest.raises(ConfigError, match=r"env_args.time_limit: gymnasium sets no limit"):
        GymnasiumEnv(KEY, {"max_steps": 0})


def test_words_of_a_mission():
    env = GymnasiumEnv(KEY, words=6)
    assert env.fields()["obs/mission"].shape == (96,) and env._shown.unread == []
    env.reset()
    seen = env.observe()["obs/mission"].reshape(6, 16)
    assert set(np.unique(seen[:5])) == {-1, 1}
    assert np.array_equal(seen[5], np.zeros(16)), "one word less"
    assert len(np.unique(seen[:5], axis=0)) == 5
    other = GymnasiumEnv(KEY, {"mission": "Go to a green goal"}, words=6)
    other.reset()
    same = (other.observe()["obs/mission"].reshape(6, 16) == seen).all(axis=1)
    assert same.tolist() == [True, True, False, True, True, True]


def test_a_longer_mission_than_announced_ends_the_run():
    env = GymnasiumEnv(KEY, {"mission": "go, now"}, words=2)
    with pytest.raises(
        InvalidEnvironmentError, match=r"the text 'obs/mission' has 3 words, more than env_args.words=2"
    ):
        env.reset()


def test_a_text_alone_and_what_is_left_out_are_said(caplog):
    with pytest.raises(ConfigError, match=r"all that the agent sees is a text. env_args.words=12"):
        GymnasiumEnv(KEY, observation_key="mission")
    with caplog.at_level(logging.WARNING):
        GymnasiumEnv.check_args(key=KEY)
    assert caplog.messages == [
        f"env_args.key={KEY}: 'obs/mission' is a text, which is left out. env_args.words=12 shows it, if it never has "
        "more than 12 words."
    ]
    caplog.clear()
    GymnasiumEnv.check_args(key=KEY, words=9)
    GymnasiumEnv.check_args(key=KEY, observation_key="image")
    assert caplog.messages == []
    with pytest.raises(ConfigError, match=r"env_args.words is -1; it must be from 0 to 1000"):
        GymnasiumEnv.check_args(key=KEY, words=-1)


def test_the_whole_as_one_vector_is_without_the_mission():
    assert GymnasiumEnv(KEY, observation_key="/").fields()["obs"].shape == (4 + 7 * 7 * 3,)


def test_networks_see_categories_one_hot():
    info = {"vshape": (2, 1, 2), "about": {"categories": (3, 2)}, "dtype": th.uint8}
    x = th.tensor([[[[2, 0]], [[0, 1]]]], dtype=th.uint8)
    assert seen_shape(info) == (2, 1, 5)
    assert as_seen(info, x).tolist() == [[[[0, 0, 1, 1, 0]], [[1, 0, 0, 0, 1]]]]
    assert as_seen({"vshape": (2, 1, 2)}, x).max() == pytest.approx(2 / 255)


@pytest.mark.parametrize(
    ("algorithm", "changes"),
    [("ppo", {}), ("ppo", {"agent": "cnn", "critic": "trunk"}), ("iql", {"agent": "cnn"}), ("sac_discrete", {})],
    ids=["ppo", "ppo cnn", "iql cnn", "sac"],
)
def test_it_trains(tmp_path, monkeypatch, algorithm, changes):
    assert_learnt(train(tmp_path, monkeypatch, algorithm, "gymnasium", env_args={"key": KEY}, **changes), UPDATES)
