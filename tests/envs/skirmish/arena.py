"""An empty field on which any two sides can be put against each other."""

import numpy as np

from envs.skirmish.batch import BatchedSkirmish
from envs.skirmish.kernel.battle import play
from envs.skirmish.kernel.entry import write_views
from envs.skirmish.state import ATTACK_MOVE, IDLE, NOBODY, TARGET
from envs.skirmish.unit_types import TYPE_INDEX, type_table

# the game's unit data, typed in a second time: health, shield, armour, damage of a hit, hits, bonus against light and
# against armoured, seconds (of 22.4 game loops) between attacks, speed per second, regeneration per second
FIGURES = {
    "marine": (45, 0, 0, 6, 1, 0, 0, 0.6149, 3.15, 0),
    "marauder": (125, 0, 1, 10, 1, 0, 10, 1.0714, 3.15, 0),
    "stalker": (80, 80, 1, 13, 1, 0, 5, 1.3357, 4.13, 0),
    "zealot": (100, 50, 1, 8, 2, 0, 0, 0.8571, 3.15, 0),
    "colossus": (200, 150, 1, 10, 2, 5, 0, 1.0714, 3.15, 0),
    "zergling": (35, 0, 0, 5, 1, 0, 0, 0.4971, 4.13, 0.38),
    "baneling": (30, 0, 0, 20, 1, 15, 0, 1.0, 3.5, 0.38),
    "hydralisk": (90, 0, 0, 12, 1, 0, 0, 0.5893, 3.15, 0.3828),
    "spine_crawler": (300, 0, 2, 25, 1, 0, 5, 1.3214, 0, 0.38),
    "medivac": (150, 0, 1, 0, 0, 0, 0, 0, 3.5, 0),
}
LIGHT = {"marine", "zealot", "zergling", "hydralisk"}
ARMORED = {"marauder", "stalker", "colossus", "spine_crawler", "medivac"}


def field(allies, enemies, map_name="27m_vs_30m", jitter=False, **args):
    """One battle with the units [(type, x, y), ...]; all others are dead, and enemies do nothing until attacked.

    The field is open ground everywhere.
    """
    battles = BatchedSkirmish(1, map_name=map_name, seed=0, jitter=jitter, **args)
    battles.scenario.open[:] = 1
    battles.scenario.convex = True
    battles.reset()
    units = battles.state.units[0]
    units["health"] = 0
    kinds = type_table()
    for first, side in ((0, allies), (battles.n_agents, enemies)):
        for i, (name, x, y) in enumerate(side):
            unit, kind = units[first + i], TYPE_INDEX[name]
            unit.kind, unit.x, unit.y = kind, x, y
            unit.health, unit.shield = kinds[kind].health, kinds[kind].shield
            unit.radius, unit.body, unit.layer = kinds[kind].radius, kinds[kind].body, kinds[kind].layer
            unit.energy = kinds[kind].start_energy
            unit.order, unit.bursts = IDLE, 0
    units["goal_x"][battles.n_agents :], units["goal_y"][battles.n_agents :] = 31, 31
    look(battles)
    return battles


def look(battles):
    """Bring what is seen and legal up to date after units were changed by hand."""
    write_views(battles.state, np.ones(1, bool), battles.outputs, battles.game)


def march(battles, x, y):
    """Let the enemies attack-move."""
    enemies = battles.state.units[0][battles.n_agents :]
    enemies["order"], enemies["goal_x"], enemies["goal_y"] = ATTACK_MOVE, x, y


def ally(battles, i=0):
    return battles.state.units[0, i]


def enemy(battles, i=0):
    return battles.state.units[0, battles.n_agents + i]


def step(battles, *actions):
    """One step; agents that are not named stop, the dead pass."""
    legal = battles.outputs.avail_actions[0]
    row = np.where(legal[:, 0] == 1, 0, 1)
    row[: len(actions)] = actions
    battles.state.battle[0].ended = 0
    return battles.step(row[None])


def order_attack(battles, i, j):
    """Have unit i attack unit j, without asking whether it may."""
    units = battles.state.units[0]
    units[i].order, units[i].target, units[i].attacker = TARGET, j, NOBODY


def play_loop(battles):
    """One game loop, with the orders there are."""
    game, fight = battles.game, battles.state
    loops, battles.scenario.loops = battles.scenario.loops, 1
    play(fight.battle[0], fight.units[0], fight.around[0], fight.near[0], game.types, battles.scenario, game.ways)
    battles.scenario.loops = loops


def radius(name):
    """From which ranges count."""
    sizes = {"marauder": 0.5625, "medivac": 0.75, "stalker": 0.625, "zealot": 0.5, "colossus": 1.0, "hydralisk": 0.625}
    return (sizes | {"spine_crawler": 1.125}).get(name, 0.375)


def body(name):
    """The bodies in the way of others."""
    return {"zealot": 0.375, "colossus": 0.75, "marauder": 0.5, "hydralisk": 0.5}.get(name, radius(name))
