"""The orders that the agents' actions give to their units."""

import numpy as np

from envs.compiled.chance import uniform
from envs.skirmish.kernel import compiled
from envs.skirmish.kernel.combat import can_target
from envs.skirmish.kernel.legality import is_medic, may_target, square_distance
from envs.skirmish.state import IDLE, MOVE, NOBODY, TARGET

DX = np.array([0.0, 0.0, 1.0, -1.0])  # north, south, east, west
DY = np.array([1.0, -1.0, 0.0, 0.0])


@compiled()
def give_orders(battle, u, types, scenario, actions):
    """Turn `actions[n]`, which are legal, into orders."""
    for i in range(scenario.n_agents):
        action = actions[i]
        u[i].last_action = action
        if u[i].health <= 0.0:
            continue
        if scenario.heuristic_ai:
            follow_script(u, i, types, scenario)
        elif action == 1:
            order(u, i, IDLE, NOBODY)
        elif action < 6:
            move(u, i, action - 2, scenario)
        elif action < scenario.first_target:
            angle = 2.0 * np.pi * (action - 6) / scenario.fov_actions
            u[i].fov_x, u[i].fov_y = np.cos(angle), np.sin(angle)
        else:
            attack(battle, u, i, action, types, scenario)


@compiled()
def order(u, i, kind, target):
    u[i].order = kind
    u[i].target = target


@compiled()
def move(u, i, direction, scenario):
    u[i].goal_x = u[i].x + DX[direction] * scenario.move_amount
    u[i].goal_y = u[i].y + DY[direction] * scenario.move_amount
    order(u, i, MOVE, NOBODY)


@compiled()
def attack(battle, u, i, action, types, scenario):
    """Attack an enemy or heal a friend. An order that the unit cannot carry out leaves the one before in force."""
    if scenario.random_attack and uniform(battle) > u[i].attack_probability:
        return
    k = action - scenario.first_target
    j = k if is_medic(u, i, types, scenario) else scenario.n_agents + k
    if not scenario.action_mask and not may_target(u, i, action, types, scenario):
        return
    if can_target(u, i, j, types):
        order(u, i, TARGET, j)


@compiled()
def follow_script(u, i, types, scenario):
    """SMAC's scripted allies: keep attacking the enemy, or healing the friend, that was nearest when it was chosen."""
    medic = is_medic(u, i, types, scenario)
    j = u[i].script_target
    if j == NOBODY or not can_target(u, i, j, types):
        j = nearest_target(u, i, medic, types, scenario)
        u[i].script_target = j
        if j == NOBODY:
            return
    action = scenario.first_target + (j if medic else j - scenario.n_agents)
    if scenario.heuristic_rest and not may_target(u, i, action, types, scenario):
        dx, dy = u[j].x - u[i].x, u[j].y - u[i].y
        if abs(dx) > abs(dy):
            move(u, i, 2 if dx > 0.0 else 3, scenario)
        else:
            move(u, i, 0 if dy > 0.0 else 1, scenario)
    else:
        order(u, i, TARGET, j)


@compiled()
def nearest_target(u, i, medic, types, scenario):
    n = scenario.n_agents
    first, last = (0, n) if medic else (n, n + scenario.n_enemies)
    best, nearest = NOBODY, 1e18
    for j in range(first, last):
        if j != i and can_target(u, i, j, types) and square_distance(u, i, j) < nearest:
            best, nearest = j, square_distance(u, i, j)
    return best
