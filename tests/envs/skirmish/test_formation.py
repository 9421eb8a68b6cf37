"""The places of units at the start of an episode."""

import numpy as np
import pytest
from arena import body

from envs.skirmish.batch import BatchedSkirmish
from envs.skirmish.maps import load_data, load_map, map_names
from envs.skirmish.unit_types import UNIT_TYPES


def opening(name, seed=0, **args):
    """Names, places `[U, 2]` and number of agents of a first episode."""
    battles = BatchedSkirmish(1, map_name=name, seed=seed, **args)
    battles.reset()
    units = battles.state.units[0]
    return [UNIT_TYPES[unit.kind].name for unit in units], np.column_stack([units["x"], units["y"]]), battles


def layer(name):
    return {"medivac": "air", "colossus": "walker"}.get(name, "ground")


@pytest.mark.slow
@pytest.mark.parametrize("name", map_names())
def test_no_unit_stands_in_another_or_in_a_wall(name):
    names, places, battles = opening(name)
    is_open = battles.scenario.open
    for i, (x, y) in enumerate(places):
        assert layer(names[i]) != "ground" or is_open[int(x), int(y)]
        for j in range(i):
            if layer(names[i]) == layer(names[j]):
                assert np.hypot(*(places[i] - places[j])) >= body(names[i]) + body(names[j])


@pytest.mark.parametrize("name", ["3m", "8m", "MMM", "2s3z", "3s5z", "1c3s5z"])
def test_both_sides_stand_alike_and_none_is_turned(name):
    """The maps' scripts create both teams in the same way: the enemies' pattern is the allies', moved."""
    names, places, battles = opening(name)
    n = battles.n_agents
    allies = {(kind, *place) for kind, place in zip(names[:n], np.add(places[:n], (23.0 - 9.0, 0.0)), strict=True)}
    assert allies == {(kind, *place) for kind, place in zip(names[n:], places[n:], strict=True)}


def test_units_appear_at_the_nearest_free_place_east_first_then_clockwise():
    """2s3z: a stalker at the point, the next touches it in the east, and zealots find what is left around the first."""
    names, places, _ = opening("2s3z")
    enemies = [tuple(place) for place in places[5:]]
    assert names[5:] == ["stalker", "stalker", "zealot", "zealot", "zealot"]
    assert enemies[:2] == [(23.0, 16.0), (24.25, 16.0)]
    assert [np.hypot(x - 23, y - 16) for x, y in enemies[2:]] == pytest.approx([1.0] * 3, abs=1 / 16)
    first, second, third = (np.arctan2(16 - y, x - 23) % (2 * np.pi) for x, y in enemies[2:])
    assert 0 < first < second < third, "clockwise, seen from the east"


def test_units_of_a_map_are_created_type_after_type_at_their_points():
    """The first unit of each point and layer stands at the point itself, on every map."""
    for name in load_data()["maps"]:
        names, places, battles = opening(name)
        taken = set()
        for group in load_map(name).groups:
            spot = (group.spawn, layer(group.unit))
            if spot not in taken:
                side = slice(0, battles.n_agents) if group.ally else slice(battles.n_agents, None)
                here = [n for n, p in zip(names[side], places[side], strict=True) if np.allclose(p, spot[0], atol=1e-3)]
                assert group.unit in here, name
            taken.add(spot)


def test_the_surplus_of_a_drawn_team_finds_room_too():
    """SMACv2 creates surrounded allies at one point, and enemies in up to four groups of the same kind."""
    config = {
        "n_units": 20,
        "n_enemies": 23,
        "team_gen": {"dist_type": "fixed", "items": [["zealot"] * 12 + ["colossus"] * 4 + ["stalker"] * 7]},
        "start_positions": {"dist_type": "surrounded", "map_x": 32, "map_y": 32},
    }
    for seed in range(8):
        names, places, _ = opening("10gen_protoss", seed, capability_config=config)
        assert (16.0, 16.0) in {tuple(place) for place in places[:20]}
        for i in range(43):
            for j in range(i):
                if layer(names[i]) == layer(names[j]):
                    assert np.hypot(*(places[i] - places[j])) >= body(names[i]) + body(names[j])
        order = ["colossus", "stalker", "zealot"]
        keys = [(order.index(kind), *place) for kind, place in zip(names[:20], places[:20], strict=True)]
        assert keys == sorted(keys), "agents are numbered by type, then by place"


def test_copies_differ_from_the_games_types():
    """Agents' medivacs are faster than the game's, and their hydralisks weaker."""
    teams = {"team_gen": {"dist_type": "fixed", "items": [["hydralisk"] * 3]}, "n_units": 3, "n_enemies": 3}
    teams["start_positions"] = {"dist_type": "reflect_position", "map_x": 32, "map_y": 32}
    _, _, battles = opening("10gen_zerg", capability_config=teams)
    assert battles.state.units[0]["health"].tolist() == [80] * 3 + [90] * 3
    names, _, battles = opening("MMM")
    speeds = battles.game.types["speed"][battles.state.units[0]["kind"]] * 22.4
    assert [speed for name, speed in zip(names, speeds, strict=True) if name == "medivac"] == pytest.approx([3.85, 3.5])
