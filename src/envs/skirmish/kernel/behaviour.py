"""The behaviour of units: the enemies' attack-move, and carrying out an order."""

import numpy as np

from envs.skirmish.kernel import compiled
from envs.skirmish.kernel.combat import can_target, fire, foes, friends, heal
from envs.skirmish.kernel.movement import walk
from envs.skirmish.state import ATTACK_MOVE, ATTACK_NEAREST, IDLE, MOVE, NOBODY, TARGET

FAR = 1e18
ARRIVED = 0.25


@compiled()
def gap(u, i, j):
    """Distance between the edges of two units' bodies."""
    dx, dy = u[j].x - u[i].x, u[j].y - u[i].y
    return np.sqrt(dx * dx + dy * dy) - u[i].radius - u[j].radius


@compiled()
def choose_targets(u, types, scenario):
    """Every enemy looks for something to fire at, or to heal."""
    for i in range(scenario.n_agents, scenario.n_agents + scenario.n_enemies):
        if u[i].health <= 0.0:
            continue
        before = u[i].target
        if types[u[i].kind].healer:
            u[i].target = choose_patient(u, i, types, scenario)
            continue
        choose_foe(u, i, types, scenario)
        if u[i].target != NOBODY and before == NOBODY:
            u[i].reaction = scenario.reaction
        elif u[i].reaction > 0:
            u[i].reaction -= 1
        if u[i].target == NOBODY and scenario.enemy_order == ATTACK_NEAREST:
            hunt(u, i, scenario)


@compiled()
def choose_foe(u, i, types, scenario):
    """Set the target: the nearest foe within reach, or else whoever hurt it last; one in range of the weapon is kept.

    By rules 2, a unit whose target is not in range of its weapon turns to whoever hurt it last, if that one is within
    reach; and foes that attack (or heal) come first: the nearest of them goes before nearer foes that do not, and one
    in range of the weapon before a target that does not. The game gives all types here the same priority.
    """
    me, current, attacker = types[u[i].kind], u[i].target, u[i].attacker
    kept = can_target(u, i, current, types) and gap(u, i, current) <= me.attack_range
    if kept and (scenario.rules == 1 or u[current].order == TARGET):
        return
    hurt = u[i].attacked > 0 and can_target(u, i, attacker, types)
    if scenario.rules > 1 and not kept and hurt and gap(u, i, attacker) <= me.acquire_range:
        u[i].target = attacker
        return
    best, best_gap, best_attacks = NOBODY, FAR, False
    first, last = foes(i, scenario)
    for j in range(first, last):
        if u[j].health <= 0.0 or not me.can_attack[u[j].kind]:
            continue
        dx, dy = u[j].x - u[i].x, u[j].y - u[i].y
        bodies = u[i].radius + u[j].radius
        reach = me.acquire_range + bodies
        if dx * dx + dy * dy > reach * reach:
            continue
        edge = np.sqrt(dx * dx + dy * dy) - bodies
        attacks = scenario.rules > 1 and u[j].order == TARGET
        if kept and not (attacks and edge <= me.attack_range):
            continue
        if attacks > best_attacks or (attacks == best_attacks and edge < best_gap):
            best, best_gap, best_attacks = j, edge, attacks
    if best != NOBODY:
        u[i].target = best
    elif not kept:
        u[i].target = attacker if hurt else NOBODY


@compiled()
def choose_patient(u, i, types, scenario):
    """The friend within reach with the least health among those that are hurt."""
    reach = types[u[i].kind].acquire_range
    best, best_health = NOBODY, FAR
    first, last = friends(i, scenario)
    for j in range(first, last):
        if can_target(u, i, j, types) and gap(u, i, j) <= reach and u[j].health < best_health:
            best, best_health = j, u[j].health
    return best


@compiled()
def hunt(u, i, scenario):
    """Attack-move to where the nearest foe is."""
    nearest = FAR
    first, last = foes(i, scenario)
    for j in range(first, last):
        if u[j].health > 0.0:
            dx, dy = u[j].x - u[i].x, u[j].y - u[i].y
            if dx * dx + dy * dy < nearest:
                nearest = dx * dx + dy * dy
                u[i].goal_x, u[i].goal_y = u[j].x, u[j].y


@compiled()
def act(battle, u, near, i, types, scenario, ways):
    """One loop of unit i: use the weapon if the target is in range, walk towards it otherwise, or follow the order."""
    kind, order = u[i].kind, u[i].order
    j = u[i].target
    if order != MOVE and j != NOBODY and can_target(u, i, j, types):
        edge = gap(u, i, j)
        if edge > types[kind].attack_range:
            follow(u, near, i, j, edge - types[kind].attack_range, types, scenario, ways)
        elif types[kind].healer:
            heal(u, i, types)
        elif u[i].cooldown <= 0.0 and u[i].reaction <= 0:
            fire(battle, u, i, types, scenario)
        return
    if order == TARGET:  # the target is dead, or no longer hurt
        u[i].order = IDLE
        u[i].target = NOBODY
    elif order in (MOVE, ATTACK_MOVE):
        dx, dy = u[i].goal_x - u[i].x, u[i].goal_y - u[i].y
        if order == MOVE or dx * dx + dy * dy > ARRIVED * ARRIVED:
            speed = types[kind].speed
            if order == ATTACK_MOVE and types[kind].healer:
                speed = slowest_friend(u, i, types, scenario)
            walk(u, near, i, u[i].goal_x, u[i].goal_y, speed, types, scenario, ways)


@compiled()
def follow(u, near, i, j, missing, types, scenario, ways):
    """Walk towards unit j, `missing` too far away, until it is in range."""
    speed = min(types[u[i].kind].speed, missing + 1e-3)
    walk(u, near, i, u[j].x, u[j].y, speed, types, scenario, ways)


@compiled()
def slowest_friend(u, i, types, scenario):
    """Healers stay with those they heal."""
    speed = types[u[i].kind].speed
    first, last = friends(i, scenario)
    for j in range(first, last):
        if u[j].health > 0.0:
            speed = min(speed, types[u[j].kind].speed)
    return speed
