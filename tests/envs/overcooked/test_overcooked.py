"""Overcooked: equal to recorded play of Overcooked-AI, whose layouts come with the recording."""

import json
from pathlib import Path

import numpy as np
import pytest

from envs.overcooked.environment import Overcooked, OvercookedBatch
from envs.overcooked.layouts import BY_NAME, Layout, layout_of
from envs.overcooked.options import REACHES
from utils.errors import ConfigError

PLAYED = np.load(Path(__file__).parent / "episodes.npz")
LAYOUTS = json.loads(str(PLAYED["layouts"]))
KITCHEN = {"grid": "XPSX\nO12D\nXXXX", "start_all_orders": [{"ingredients": ["onion"]}], "cook_time": 2}
NORTH, SOUTH, EAST, WEST, STAY, INTERACT = range(6)


def kitchen(folder, **said):
    path = folder / "mine.layout"
    path.write_text(repr({**KITCHEN, **said}))
    return str(path)


def test_the_recording_has_twenty_layouts_with_all_that_can_happen():
    assert len(LAYOUTS) >= 20
    assert {*BY_NAME} <= {*LAYOUTS}
    paid = np.concatenate([PLAYED[f"{name}/sparse"].ravel() for name in LAYOUTS])
    steps = np.concatenate([PLAYED[f"{name}/shaped"].ravel() for name in LAYOUTS])
    assert (paid > 0).sum() > 30
    assert len({*paid}) > 5, "soups of several values"
    assert {0, 3, 5} <= {*steps}


@pytest.mark.parametrize("name", LAYOUTS)
def test_equal_to_overcooked_ai(name, tmp_path):
    """Observations, both kinds of rewards of each cook, and ends at every step."""
    path = tmp_path / f"{name}.layout"
    path.write_text(repr(LAYOUTS[name]))
    actions, sparse, shaped, ended, obs = (
        PLAYED[f"{name}/{column}"] for column in ("actions", "sparse", "shaped", "ended", "obs")
    )
    env = OvercookedBatch(1, seed=[0], key=str(path), time_limit=len(actions), reward="each", reward_type="both")
    env.reset()
    state, outputs = env.simulator.state, env.simulator.outputs
    assert np.array_equal(outputs.obs[0], obs[0])
    for t in range(len(actions)):
        env.step({"actions": actions[t][None]})
        assert np.array_equal(state.sparse[0], sparse[t]), t
        assert np.array_equal(state.shaped[0], shaped[t]), t
        assert np.array_equal(outputs.rewards[0], sparse[t] + shaped[t]), t
        assert np.array_equal(outputs.obs[0], obs[t + 1]), (t, np.argwhere(outputs.obs[0] != obs[t + 1]))
        assert (outputs.truncated[0], outputs.terminated[0]) == (ended[t], False), t
    assert env.info(0) == {"soups": np.count_nonzero(sparse)}


@pytest.mark.parametrize("name", BY_NAME)
def test_kitchens_by_name_are_overcooked_ais(name):
    ours, theirs = layout_of(name), Layout(name, LAYOUTS[name])
    for one in ("ground", "starts", "times", "values", "shaping"):
        assert np.array_equal(getattr(ours, one), getattr(theirs, one)), one


def test_a_soup_is_cooked_and_served(tmp_path):
    path = kitchen(tmp_path, grid="XPSX\nO1 D\nX 2X\nXXXX")
    env = Overcooked(key=path, reward_type="both", reward="each", time_limit=50)
    env.reset()
    fetch, put, cook = [WEST, INTERACT, NORTH], [INTERACT], [INTERACT]
    dish, soup, serve = [EAST, INTERACT], [WEST, NORTH, INTERACT], [EAST, NORTH, INTERACT]
    rewards = []
    for action in fetch + put + cook + dish + soup + serve:
        values, *_, info = env.step({"actions": np.array([action, STAY])})
        rewards.append(values["reward"].tolist())
    assert [of[0] for of in rewards] == [0, 0, 0, 3, 0, 0, 3, 0, 0, 5, 0, 0, 20]
    assert not any(of[1] for of in rewards)
    assert info == {"soups": 1}
    assert env.snapshot()["texts"] == ["Soups served: 1"]


@pytest.mark.parametrize(("reward_type", "paid"), [("sparse", 0), ("shaped", 3), ("both", 3)])
def test_rewards_by_type(tmp_path, reward_type, paid):
    env = Overcooked(key=kitchen(tmp_path), reward_type=reward_type)
    env.reset()
    for action in (WEST, INTERACT, NORTH):
        env.step({"actions": np.array([action, STAY])})
    assert env.step({"actions": np.array([INTERACT, STAY])})[0]["reward"] == paid


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"grid": "XPSX\nO1 D\nXXXX"}, "cooks 1 and 2"),
        ({"grid": "XPSX\nO12D\nXXX"}, "equally long"),
        ({"grid": "XPSX\nO12D\nXX X"}, "floor at the edge"),
        ({"grid": "XPXX\nO12D\nXXXX"}, "has no S"),
        ({"grid": "XPSX\nO12D\nXXYX"}, "a cell of the grid is 'Y'"),
        ({"start_all_order": []}, "Did you mean 'start_all_orders'"),
        ({"start_all_orders": [{"ingredients": ["leek"]}]}, "is no recipe of 1 to 3 ingredients"),
        ({"onion_time": 3}, "onion_time and tomato_time belong together"),
        ({"recipe_values": [1, 2]}, "recipe_values needs a number for each recipe"),
        ({"recipe_times": 5}, "recipe_times is 5; it must be a list"),
        ({"recipe_times": ["x"]}, "recipe_times is x; it must be a number"),
        ({"cook_time": -3}, "cook_time is -3; it must be a number from 0"),
        ({"start_all_orders": 3}, "start_all_orders is 3; it must be a list"),
        ({"start_all_orders": [{"ingredients": 7}]}, "is no recipe of 1 to 3 ingredients"),
        ({"max_num_ingredients": 10**6}, "max_num_ingredients is 1000000; it must be a whole number from 1"),
        ({"rew_shaping_params": [1]}, "it must be a dictionary of numbers"),
        ({"rew_shaping_params": {"DISH_PICKUP_REWARD": "x"}}, "DISH_PICKUP_REWARD'. is x; it must be a number"),
    ],
)
def test_bad_layouts_are_refused(tmp_path, said, words):
    with pytest.raises(ConfigError, match=words):
        Overcooked.check_args(key=kitchen(tmp_path, **said))


def test_what_a_layout_leaves_open_is_the_usual(tmp_path):
    said = dict.fromkeys(("rew_shaping_params", "cook_time", "max_num_ingredients", "start_bonus_orders"))
    layout = layout_of(kitchen(tmp_path, **said))
    assert (layout.most, layout.times.max(), layout.shaping) == (3, 20, [3, 3, 5])


def test_a_record_names_a_file_from_the_root(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    key, names = REACHES["key"], ["cramped_room", "simple_o", "a.layout"]
    assert [key.lasting(name) for name in names] == ["cramped_room", "simple_o", str(tmp_path / "a.layout")]
    assert not key.of("a.layout", {}), "it is read as plain values"


def test_kitchens_of_an_installed_package_have_its_names(monkeypatch, tmp_path):
    folder = tmp_path / "overcooked_ai_py" / "data" / "layouts"
    folder.mkdir(parents=True)
    (tmp_path / "overcooked_ai_py" / "__init__.py").write_text("raise AttributeError('np.Inf')")
    (folder / "tiny.layout").write_text(repr(KITCHEN))
    monkeypatch.syspath_prepend(tmp_path)
    assert layout_of("tiny").ground.shape == (3, 4)
    with pytest.raises(ConfigError, match=r"env_args\.key is '\.\./tiny'"):
        layout_of("../tiny")


def test_bad_arguments_are_refused(tmp_path):
    (tmp_path / "code.layout").write_text("print()")
    for options, words in (
        ({"key": "cramped_rom"}, "env_args.key is 'cramped_rom'.*Did you mean 'cramped_room'.*mine.layout"),
        ({"key": str(tmp_path / "none.layout")}, "No such file"),
        ({"key": str(tmp_path / "code.layout")}, "is not a dictionary of plain values"),
        ({"key": ["cramped_room"]}, "it must be the name of a kitchen"),
        ({"reward_type": "dense"}, "env_args.reward_type is 'dense'"),
        ({"render": True}, "env_args.render must be False"),
    ):
        with pytest.raises(ConfigError, match=words):
            Overcooked.check_args(**options)


def test_the_drawing_shows_what_cooks_hold_and_what_is_in_pots(tmp_path):
    env = OvercookedBatch(1, seed=[0], key=kitchen(tmp_path, cook_time=9))
    env.reset()
    for actions in ((WEST, EAST), (INTERACT, INTERACT), (NORTH, SOUTH), (INTERACT, INTERACT), (INTERACT, STAY)):
        env.step({"actions": np.array([actions])})
    units = {unit["id"]: unit for unit in env.snapshot()["units"]}
    assert units["pot 1 0"]["label"] == "o 8"
    assert units["on 2 2"]["kind"] == "dish"
    assert (units[0]["holds"], units[1]["holds"]) == ("", "")
    assert (units["ahead 0"]["y"], units["ahead 1"]["y"]) == (-0.62, -1.38)
    assert env.action_names()[1][5] == "interact"
