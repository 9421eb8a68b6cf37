"""Entities in replays: bodies where they have x and y, texts where they have none."""

import numpy as np
import pytest

from envs.entities.adapter import EntityEnv
from envs.entities.picture import _labels
from replays.drawing import TEAMS, draw


def begun(name, steps=0, seed=3, **kwargs):
    env = EntityEnv(name, kwargs, seed=seed)
    env.reset()
    rng = np.random.default_rng(0)
    for _ in range(steps):
        legal = env.observe()["avail_actions"]
        env.step({"actions": np.array([rng.choice(np.flatnonzero(row)) for row in legal])})
    return env


def test_mines_and_robots_are_where_they_are():
    env = begun("MineSweeper", 1, orbital_cannon=True, nmines=3)
    shown, seen = env.snapshot(), env.observe()
    by_kind = {kind: [u for u in shown["units"] if u["kind"] == kind] for kind in ("Mine", "Robot")}
    assert [[u["x"], u["y"]] for u in by_kind["Mine"]] == seen["entities/Mine"].tolist()
    assert [[u["x"], u["y"]] for u in by_kind["Robot"]] == seen["entities/Robot"].tolist()
    assert [(u["id"], u["agent"]) for u in by_kind["Robot"]] == [("Robot 0", 0), ("Robot 1", 1)]
    assert all("agent" not in u for u in by_kind["Mine"])
    assert len({u["id"] for u in shown["units"]}) == len(shown["units"])
    assert shown["texts"] == ["Orbital Cannon 0: cooldown 4"]
    assert {u["radius"] for u in shown["units"]} == {0.4}
    # pixels: the middle of each body has its colour or its label's
    picture = draw(env.scene(), shown, 20)
    assert picture.shape == (120, 120, 3)
    for kind, colour in (("Mine", TEAMS[0]), ("Robot", TEAMS[1])):
        for unit in by_kind[kind]:
            row, column = round(20 * (5.5 - unit["y"])), round(20 * (unit["x"] + 0.5))
            assert (picture[row - 5 : row + 5, column - 5 : column + 5] == colour).all(axis=2).any()


def test_snakes_have_the_colour_of_their_food():
    env = begun("MultiSnake", num_snakes=3)
    teams = {kind: [u["team"] for u in env.snapshot()["units"] if u["kind"] == kind] for kind in ("SnakeHead", "Food")}
    assert teams == {"SnakeHead": [0, 1, 2], "Food": [0, 1, 2]}
    assert env.snapshot()["texts"] == ["step 0"]


def test_a_global_place_is_the_players():
    env = begun("TreasureHunt", 2)
    units = env.snapshot()["units"]
    assert [(u["kind"], u["agent"]) for u in units if "agent" in u] == [("player", 0)]
    assert [units[-1]["x"], units[-1]["y"]] == env.observe()["global_features"].tolist()


def test_a_vehicle_points_where_it_heads_and_is_as_large_as_the_field_needs():
    env = begun("Minefield")
    (vehicle,) = [u for u in env.snapshot()["units"] if u["kind"] == "Vehicle"]
    assert vehicle["shape"] == "car"
    assert vehicle["heading"] == pytest.approx(env.observe()["entities/Vehicle"][0, 2])
    assert 1 < vehicle["radius"] < 4


def test_what_has_no_place_is_text():
    assert begun("CherryPick").snapshot() == {"units": [], "texts": ["Cherry: 32", "Player: 1"]}
    shown = begun("CherryPick", 1, num_cherries=4).snapshot()["texts"]
    assert [text.partition(" ")[0] for text in shown] == ["Cherry"] * 3 + ["Player:"]
    assert shown[0].startswith("Cherry 0: quality ")


def test_two_of_a_kind_at_one_place_are_two():
    env = begun("MineSweeper", nmines=1, nrobots=3, width=2, height=2)
    env._batch._encoder.arrays["entities/Robot"][0] = 1
    env._batch._encoder.arrays["acts"][0] = 0
    ids = [u["id"] for u in env.snapshot()["units"] if u["kind"] == "Robot"]
    assert ids == ["Robot at 1, 1", "Robot at 1, 1 (2)", "Robot at 1, 1 (3)"]


def test_labels_tell_types_apart():
    assert _labels(["SnakeHead", "SnakeBody", "Food"]) == {"SnakeHead": "SH", "SnakeBody": "SB", "Food": "F"}
    assert _labels(["Trap", "Treasure", "player"]) == {"Trap": "Ta", "Treasure": "Te", "player": "p"}


def test_choices_are_named_after_their_action_if_there_are_several():
    moves = ["Up", "Down", "Left", "Right", "Defuse Mines"]
    assert begun("MineSweeper").action_names() == [moves] * 2
    robot, _, cannon = begun("MineSweeper", orbital_cannon=True, nmines=3).action_names()
    assert robot == [f"Move: {move}" for move in moves]
    assert cannon == [f"Fire Orbital Cannon: {position}" for position in range(6)]  # 3 mines, 2 robots and itself
