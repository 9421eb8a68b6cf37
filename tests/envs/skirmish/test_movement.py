"""Ways, bodies, walls, and what the enemies do."""

import numpy as np
import pytest
from arena import FIGURES, ally, enemy, field, march, order_attack, play_loop, radius, step

from envs.skirmish.batch import BatchedSkirmish
from envs.skirmish.kernel.entry import write_views
from envs.skirmish.maps import map_names
from envs.skirmish.state import NOBODY

DIRECTIONS = {2: (0, 1), 3: (0, -1), 4: (1, 0), 5: (-1, 0)}


def random_actions(battles, rng):
    legal = battles.outputs.avail_actions
    return (rng.random(legal.shape) * legal).argmax(-1)


@pytest.mark.parametrize("name", [name for name in FIGURES if name != "spine_crawler"])
@pytest.mark.parametrize("action", DIRECTIONS)
def test_distance_of_a_step(name, action):
    """Eight loops of 1/22.4 seconds; a marine's step is 1.125 long."""
    battles = field([(name, 16, 16)], [("marine", 31, 31)], map_name="MMM")
    step(battles, action)
    moved = np.array([ally(battles).x - 16, ally(battles).y - 16])
    length = 8 * FIGURES[name][8] / 22.4
    assert moved == pytest.approx(np.multiply(DIRECTIONS[action], length), abs=8 / 4096)
    if name == "marine":
        assert np.abs(moved).sum() == 1.125


def test_a_move_is_not_overshot():
    battles = field([("marine", 16, 16)], [("marine", 31, 31)], step_mul=40)
    step(battles, 4)
    assert (ally(battles).x, ally(battles).y) == (18, 16)


def test_attackers_come_into_range_and_no_further():
    """A marine 6 away from a zealot must come 0.125 closer: its range is 5 from edge to edge."""
    battles = field([("marine", 10, 16)], [("zealot", 16, 16)])
    battles.scenario.enemy_order = 0
    enemy(battles).cooldown = 1e9
    step(battles, 6)
    assert ally(battles).x == pytest.approx(10.125, abs=0.01)
    assert enemy(battles).shield < 50


@pytest.mark.parametrize("name", map_names())
def test_no_unit_stays_in_a_wall_or_in_another_body(name):
    battles = BatchedSkirmish(8, map_name=name, seed=1)
    battles.reset()
    rng, long_overlaps = np.random.default_rng(0), 0
    layers, radii = battles.game.types["layer"], battles.game.types["body"]
    since = np.zeros((8, battles.state.units.shape[1], battles.state.units.shape[1]), dtype=int)
    for _ in range(60):
        outputs = battles.step(random_actions(battles, rng))
        units = battles.state.units
        alive, kinds = units["health"] > 0, units["kind"]
        on_ground = alive & (layers[kinds] == 0)
        cells = battles.scenario.open[units["x"].astype(int), units["y"].astype(int)]
        assert (cells[on_ground] == 1).all()
        apart = np.hypot(units["x"][:, :, None] - units["x"][:, None], units["y"][:, :, None] - units["y"][:, None])
        same = (layers[kinds][:, :, None] == layers[kinds][:, None]) & alive[:, :, None] & alive[:, None]
        deep = same & (apart < (radii[kinds][:, :, None] + radii[kinds][:, None]) - 0.15)
        deep[:, np.arange(deep.shape[1]), np.arange(deep.shape[1])] = False
        since = np.where(deep, since + 1, 0)
        long_overlaps += (since >= 6).sum()
        if outputs.terminated.any():
            battles.reset(outputs.terminated.copy())
            since[outputs.terminated] = 0
    assert long_overlaps == 0


def test_flyers_and_colossi_cross_walls_and_bodies():
    battles = field(
        [("medivac", 10, 16), ("colossus", 10, 20), ("marine", 10, 12)], [("marine", 31, 31)], map_name="MMM"
    )
    battles.scenario.open[12:14] = 0
    for i in range(3):
        ally(battles, i).order, ally(battles, i).goal_x, ally(battles, i).goal_y = 1, 20, ally(battles, i).y
    for _ in range(60):
        play_loop(battles)
    assert ally(battles, 0).x > 14
    assert ally(battles, 1).x > 14
    assert 11.5 < ally(battles, 2).x < 12, "a marine stops at the wall"


def test_walkers_go_around_those_who_stand():
    """A zealot behind a fighting friend finds its way to the enemy's side."""
    battles = field([("stalker", 20, 16)], [("zealot", 18.5, 16), ("zealot", 17, 16), ("zealot", 15.5, 16)])
    ally(battles).health = 1e6
    march(battles, 20, 16)
    for _ in range(160):
        play_loop(battles)
    gaps = [np.hypot(enemy(battles, i).x - 20, enemy(battles, i).y - 16) - 1.125 for i in range(3)]
    assert max(gaps) < 0.3


@pytest.mark.parametrize("name", ["3m", "8m", "2s3z", "MMM", "1c3s5z"])
def test_a_mirrored_battle_plays_mirrored(name):
    """Left and right exchanged, and nothing else: exactly, since positions are multiples of 1/4096."""
    battles, mirrored = (BatchedSkirmish(4, map_name=name, seed=5) for _ in range(2))
    for b in (battles, mirrored):
        b.reset()
    units = mirrored.state.units
    for field_name in ("x", "goal_x"):
        units[field_name] = 32 - units[field_name]
    write_views(mirrored.state, np.ones(4, bool), mirrored.outputs, mirrored.game)
    rng = np.random.default_rng(0)
    swap = np.arange(battles.n_actions)
    swap[[4, 5]] = swap[[5, 4]]
    for _ in range(40):
        actions = random_actions(battles, rng)
        if (np.take_along_axis(mirrored.outputs.avail_actions, swap[actions][..., None], 2) == 0).any():
            break  # at the very edge of a cell "half a move away" is not mirrored, and that is SMAC's rule
        battles.step(actions)
        mirrored.step(swap[actions])
        assert np.array_equal(battles.state.units["x"], 32 - mirrored.state.units["x"])
        for field_name in ("y", "health", "shield", "cooldown", "target"):
            assert np.array_equal(battles.state.units[field_name], mirrored.state.units[field_name])
        assert np.array_equal(battles.outputs.reward, mirrored.outputs.reward)
    assert battles.state.battle["step"].min() >= 15


def test_enemies_march_when_no_agent_is_near():
    battles = field([("marine", 2, 2)], [("marine", 28, 28)])
    march(battles, 28, 16)
    step(battles, 1)
    assert (enemy(battles).x, enemy(battles).y) == (28, 28 - 1.125)


@pytest.mark.parametrize(
    ("foes", "chosen"),
    [
        ([("marine", 16, 20.0), ("marine", 16, 19.5)], 1),
        ([("zealot", 16, 19.0), ("marine", 16, 19.2)], 0),
        ([("marine", 16, 18.0), ("medivac", 16, 20.5)], 0),
        ([("zergling", 16, 18.0), ("baneling", 16, 20.0)], 0),
        ([("marine", 16, 22.2), ("marine", 16, 22.3)], 0),
        ([("marine", 16, 22.3), ("marine", 30, 16.0)], None),
        ([("marine", 16, 30.0), ("marine", 30, 16.0)], None),
    ],
)
def test_enemies_choose_the_nearest_within_reach(foes, chosen):
    battles = field(foes, [("marine", 16, 16)], map_name="MMM")
    march(battles, 16, 16)
    play_loop(battles)
    assert enemy(battles).target == (NOBODY if chosen is None else chosen)


def test_a_target_in_range_is_kept():
    battles = field([("marine", 16, 20.0), ("marine", 16, 21.0)], [("marine", 16, 16)])
    march(battles, 16, 16)
    play_loop(battles)
    ally(battles, 1).y = 18
    play_loop(battles)
    assert enemy(battles).target == 0
    ally(battles, 0).y = 29
    play_loop(battles)
    assert enemy(battles).target == 1


def test_enemies_answer_fire_and_then_continue():
    """A colossus outranges a zealot; the zealot comes for it, and once it is gone marches on."""
    battles = field([("colossus", 10, 24)], [("zealot", 10, 16)], step_mul=1)
    march(battles, 20, 16)
    order_attack(battles, 0, battles.n_agents)
    for _ in range(3):
        play_loop(battles)
    assert enemy(battles).target == 0
    assert enemy(battles).y > 16
    ally(battles).health = 0
    place = enemy(battles).x
    for _ in range(20):
        play_loop(battles)
    assert enemy(battles).target == NOBODY
    assert enemy(battles).x > place + 1


def test_those_who_hold_stay_where_they_are():
    battles = BatchedSkirmish(1, map_name="2s_vs_1sc", seed=0)
    battles.reset()
    place = enemy(battles).x, enemy(battles).y
    rng = np.random.default_rng(0)
    for _ in range(40):
        battles.step(random_actions(battles, rng))
        assert (enemy(battles).x, enemy(battles).y) == place


@pytest.mark.parametrize(
    ("name", "x", "y"), [("corridor", 4.5, 4.5), ("so_many_baneling", 5.5, 5.5), ("2c_vs_64zg", 16, 18)]
)
def test_enemies_find_their_way_around_walls(name, x, y):
    """The last agent stands still in a place without a straight way to it; an enemy reaches it."""
    battles = BatchedSkirmish(1, map_name=name, seed=0, difficulty="7")
    battles.reset()
    units, n = battles.state.units[0], battles.n_agents
    units["health"][1:n] = 0
    units[0].x, units[0].y = x, y
    units["goal_x"][n:], units["goal_y"][n:] = x, y
    assert battles.scenario.open[int(x), int(y)]
    for _ in range(8 * 100):
        units[0].health = 1000.0
        play_loop(battles)
    fighters = [unit for unit in units[n:] if unit.target == 0]
    gaps = [np.hypot(unit.x - units[0].x, unit.y - units[0].y) for unit in fighters]
    assert min(gaps) < radius("colossus") + 1.0
