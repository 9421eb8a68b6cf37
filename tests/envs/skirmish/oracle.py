"""SMAC's contract once more: slow, in plain Python, from lists of units, and without a look at the kernel.

Written from SMAC's documentation and behaviour, and compared with its own classes outside this repository. Everything
is worked out in float64 and rounded to float32 at the end, as SMAC does.
"""

import math

import numpy as np
from oracle_battle import Contract, Moment, Unit

MAP = 32
COOLDOWN = {"marine": 15, "marauder": 25, "stalker": 35, "zealot": 22, "colossus": 24}
COOLDOWN |= {"hydralisk": 10, "zergling": 11, "baneling": 1, "medivac": 200}
SHIELD = {"stalker": 80, "zealot": 50, "colossus": 150}
HEALTH = {"marine": 45, "marauder": 125, "medivac": 150, "stalker": 80, "zealot": 100, "colossus": 200}
HEALTH |= {"zergling": 35, "baneling": 30, "hydralisk": 80, "spine_crawler": 300}
ENEMY_HEALTH = HEALTH | {"hydralisk": 90}  # agents are weaker copies
SIGHT = {"stalker": 10, "zealot": 9, "colossus": 10, "zergling": 8, "baneling": 8, "hydralisk": 9}
SIGHT |= {"marine": 9, "marauder": 10, "medivac": 11}
REACH = {"stalker": 6, "zealot": 0.1, "colossus": 7, "zergling": 0.1, "baneling": 0.25, "hydralisk": 5}
REACH |= {"marine": 5, "marauder": 6, "medivac": 4}


def n_actions(c: Contract) -> int:
    targets = c.n_agents if c.v2 and c.medics and c.n_agents > c.n_enemies else c.n_enemies
    return 6 + c.fov_actions + targets


def distance(a: Unit, b: Unit) -> float:
    return math.hypot(b.x - a.x, b.y - a.y)


def sight(c: Contract, unit: Unit) -> float:
    return SIGHT[unit.type] if c.v2 and c.use_unit_ranges else 9


def reach(c: Contract, unit: Unit) -> float:
    return max(REACH[unit.type], c.min_attack_range) if c.v2 and c.use_unit_ranges else 6


def in_cone(c: Contract, m: Moment, i: int, other: Unit, far: float) -> bool:
    me, (look_x, look_y) = m.allies[i], m.fov[i]
    if distance(me, other) > far:
        return False
    dx, dy, half = other.x - me.x, other.y - me.y, math.pi / c.fov_actions
    if c.fix_quirks:
        if dx == dy == 0:  # one upon the other: in every direction
            return True
        angle = math.atan2(dy, dx) - math.atan2(look_y, look_x)
        return abs((angle + math.pi) % (2 * math.pi) - math.pi) < half
    to_the_east = dx > 0
    dx = max(dx, 1e-7) if to_the_east else min(dx, -1e-7)
    look_x = max(look_x, 1e-7) if to_the_east else min(look_x, -1e-7)
    return abs(math.atan(dy / dx) - math.atan(look_y / look_x)) < half


def sees(c: Contract, m: Moment, i: int, other: Unit) -> bool:
    far = sight(c, m.allies[i])
    return in_cone(c, m, i, other, far) if c.fov_actions else distance(m.allies[i], other) < far


def hits(c: Contract, m: Moment, i: int, other: Unit) -> bool:
    far = reach(c, m.allies[i])
    return in_cone(c, m, i, other, far) if c.fov_actions else distance(m.allies[i], other) <= far


def targets(c: Contract, m: Moment, i: int) -> dict:
    """Action -> the living unit that it is meant for."""
    first = 6 + c.fov_actions
    if c.medics and m.allies[i].type == "medivac":
        return {first + k: a for k, a in enumerate(m.allies) if a.alive and a.type != "medivac"}
    return {first + k: e for k, e in enumerate(m.enemies) if e.alive}


def avail_actions(c: Contract, m: Moment, i: int, masked: bool = True) -> list:
    """Legal actions; without `masked`, those that would be legal if SMACv2's `action_mask` were on."""
    me, legal = m.allies[i], [0] * n_actions(c)
    if not me.alive:
        legal[0] = 1
        return legal
    legal[1] = 1
    half = c.move_amount / 2
    for action, (dx, dy) in {2: (0, half), 3: (0, -half), 4: (half, 0), 5: (-half, 0)}.items():
        x, y = int(me.x + dx), int(me.y + dy)
        legal[action] = int(0 <= x < MAP and 0 <= y < MAP and bool(c.open_cells[x, y]))
    for k in range(c.fov_actions):
        legal[6 + k] = 1
    every_target = masked and c.v2 and not c.action_mask
    for action, unit in targets(c, m, i).items():
        legal[action] = int(every_target or hits(c, m, i, unit))
    return legal


def health_share(c: Contract, m: Moment, unit: Unit, agent: int | None) -> float:
    share = unit.health / (ENEMY_HEALTH if agent is None else HEALTH)[unit.type]
    if "health" in c.capabilities and agent is not None:
        return (1.0 / (1 - m.level[agent])) * (share - m.level[agent])
    return share


def bits(c: Contract, unit: Unit, ally: bool) -> list:
    if c.type_bits == 0:
        return []
    order = list(c.type_order)
    if not ally and c.map_type == "stalkers_and_zealots" and not c.fix_quirks:
        order = ["zealot", "stalker"]
    return [float(name == unit.type) for name in order]


def around(c: Contract, unit: Unit, grid: np.ndarray, own_cell: bool) -> list:
    x, y, near = int(unit.x), int(unit.y), int(c.move_amount)
    cells = [(0, 2 * near), (0, -2 * near), (2 * near, 0), (-2 * near, 0)]
    cells += [(near, near), (-near, -near), (near, -near), (-near, near)] + ([(0, 0)] if own_cell else [])
    values = []
    for dx, dy in cells:
        inside = 0 <= x + dx < MAP and 0 <= y + dy < MAP
        values.append(float(grid[x + dx, y + dy]) if inside else 1.0)
    return values


def enemy_block(c: Contract, m: Moment, i: int, e: int) -> list:
    """Agent i's observation of enemy e, without regard to visibility."""
    me, enemy = m.allies[i], m.enemies[e]
    race_shield = c.enemy_race == "P"
    width = 4 + (1 + race_shield if c.obs_all_health else 0) + c.type_bits
    visible = sees(c, m, i, enemy) and (not c.v2 or m.granted[i, e])
    if not enemy.alive or not (visible or (c.v2 and c.fully_observable)):
        return [0.0] * width
    if i not in m.unmasked:
        m.unmasked[i] = avail_actions(c, m, i, masked=False)
    attackable = float(m.unmasked[i][6 + c.fov_actions + e])
    if c.fix_quirks and c.medics and me.type == "medivac":
        attackable = 0.0
    far = sight(c, me)
    block = [attackable, distance(me, enemy) / far, (enemy.x - me.x) / far, (enemy.y - me.y) / far]
    if "enemy_mask" in c.capabilities and m.masked[i, e]:
        return block + [0.0] * (width - 4)
    if c.obs_all_health:
        block += [health_share(c, m, enemy, None)] + ([enemy.shield / SHIELD[enemy.type]] if race_shield else [])
    return block + bits(c, enemy, False)


def enemy_blocks(c: Contract, m: Moment, i: int) -> list:
    blocks = []
    for e in range(c.n_enemies):
        blocks.append(enemy_block(c, m, i, e))
        if c.v2 and not m.granted[i, e]:
            for k in [e] if c.fix_quirks else range(e + 1):
                blocks[k] = [0.0] * len(blocks[k])
    return [value for block in blocks for value in block]


def ally_block(c: Contract, m: Moment, i: int, j: int) -> list:
    me, ally = m.allies[i], m.allies[j]
    far = sight(c, me)
    block = [1.0, distance(me, ally) / far, (ally.x - me.x) / far, (ally.y - me.y) / far]
    if c.obs_all_health:
        hidden = "health" in c.capabilities and not c.shown("health")
        block.append(0.0 if hidden else health_share(c, m, ally, j))
        block += [ally.shield / SHIELD[ally.type]] if c.ally_race == "P" else []
    if "attack" in c.capabilities:
        block.append(m.attack[j] if c.shown("attack") else 0.0)
    if "health" in c.capabilities:
        block.append(m.level[j] if c.shown("health") else 0.0)
    types = bits(c, ally, True)
    block += types if not c.v2 or c.shown("team_gen") else [0.0] * len(types)
    if c.obs_last_action:
        block += [float(m.last_actions[j] == action) for action in range(n_actions(c))]
    if not ally.alive or not (sees(c, m, i, ally) or (c.v2 and c.fully_observable)):
        return [0.0] * len(block)
    return block


def own_block(c: Contract, m: Moment, i: int) -> list:
    me, block = m.allies[i], []
    if c.obs_own_health or c.obs_all_health:
        block = [health_share(c, m, me, i)] + ([me.shield / SHIELD[me.type]] if c.ally_race == "P" else [])
    block += [m.attack[i]] if "attack" in c.capabilities else []
    block += [m.level[i]] if "health" in c.capabilities else []
    block += [me.x / MAP, me.y / MAP] if c.v2 and c.obs_own_pos else []
    block += list(m.fov[i]) if c.fov_actions else []
    return block + bits(c, me, True)


def observation(c: Contract, m: Moment, i: int) -> np.ndarray:
    """float32; a dead agent sees zeros, but for the time."""
    obs = []
    if not c.v2 or c.obs_starcraft:
        me = m.allies[i]
        obs = [float(legal) for legal in avail_actions(c, m, i)[2:6]]
        obs += around(c, me, c.open_cells, False) if c.obs_pathing_grid else []
        obs += around(c, me, c.heights, True) if c.obs_terrain_height else []
        obs += enemy_blocks(c, m, i)
        obs += [value for j in range(c.n_agents) if j != i for value in ally_block(c, m, i, j)]
        obs += own_block(c, m, i)
        if c.obs_timestep_number and not c.v2 and not c.fix_quirks:
            obs.append(0.0)
        obs = obs if me.alive else [0.0] * len(obs)
    if c.obs_timestep_number:
        obs.append(m.step / c.episode_limit)
    return np.array(obs, dtype=np.float32)


def state(c: Contract, m: Moment) -> np.ndarray:
    """float32: allies, enemies, last actions, time; or all observations."""
    if c.obs_instead_of_state:
        return np.concatenate([observation(c, m, i) for i in range(c.n_agents)])
    values = []
    for i, ally in enumerate(m.allies):
        medic = c.medics and ally.type == "medivac"
        row = [health_share(c, m, ally, i), (ally.energy if medic else ally.cooldown) / COOLDOWN[ally.type]]
        row += [(ally.x - MAP / 2) / MAP, (ally.y - MAP / 2) / MAP]
        row += [ally.shield / SHIELD[ally.type]] if c.ally_race == "P" else []
        row += [m.attack[i]] if "attack" in c.capabilities else []
        row += [m.level[i]] if "health" in c.capabilities else []
        row += list(m.fov[i]) if c.fov_actions else []
        row += bits(c, ally, True)
        values += row if ally.alive else [0.0] * len(row)
    for enemy in m.enemies:
        row = [health_share(c, m, enemy, None), (enemy.x - MAP / 2) / MAP, (enemy.y - MAP / 2) / MAP]
        row += [enemy.shield / SHIELD[enemy.type]] if c.enemy_race == "P" else []
        row += bits(c, enemy, False)
        values += row if enemy.alive else [0.0] * len(row)
    if c.state_last_action:
        for last in m.last_actions:
            values += [float(last == action) for action in range(n_actions(c))]
    values += [m.step / c.episode_limit] if c.state_timestep_number else []
    return np.array(values, dtype=np.float32)


def battle_end(c: Contract, m: Moment) -> int | None:
    """1: won, -1: lost, 0: no unit is left, None: unfinished."""
    allies, enemies = ([unit for unit in side if unit.alive] for side in (m.allies, m.enemies))
    if c.medics:
        allied_fighters = [unit for unit in allies if unit.type != "medivac"]
        enemy_fighters = [unit for unit in enemies if unit.type != "medivac"]
        if c.fix_quirks:
            allies, enemies = allied_fighters, enemy_fighters
        elif not allied_fighters:
            return -1
        elif not enemy_fighters and (c.v2 or len(enemies) == 1):
            return 1
    if not allies:
        return -1 if enemies else 0
    return None if enemies else 1


def reward(c: Contract, before: Moment, after: Moment, max_reward: float) -> float:
    """Of the step between two moments, with the bonus of an end and after scaling."""
    dealt = deaths = taken = 0.0
    for old, new in zip(before.enemies, after.enemies, strict=True):
        if old.alive:
            dealt += old.health + old.shield - (new.health + new.shield if new.alive else 0)
            deaths += 0 if new.alive else c.reward_death_value
    for old, new in zip(before.allies, after.allies, strict=True):
        if old.alive:
            taken += old.health + old.shield - (new.health + new.shield if new.alive else 0)
            taken += 0 if new.alive else c.reward_death_value
    if not c.reward_only_positive:
        total = dealt + deaths - c.reward_negative_scale * taken
    elif c.v2 or c.fix_quirks:
        total = max(dealt + deaths, 0.0)
    else:
        total = abs(dealt + deaths)
    end = battle_end(c, after)
    if c.reward_sparse:
        total = float(end or 0)
    else:
        total += {1: c.reward_win, -1: c.reward_defeat}.get(end, 0)
    if c.reward_scale and not (c.reward_sparse and c.fix_quirks):
        total /= max_reward / c.reward_scale_rate
    return total
