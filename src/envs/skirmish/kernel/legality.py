"""Which actions an agent may take, and where it looks."""

import numpy as np

from envs.skirmish.kernel import compiled
from envs.skirmish.state import SIZE

EPS = 1e-7
SIGHT, TARGET_RANGE = 9.0, 6.0


@compiled()
def square_distance(u, i, j):
    """Exact: positions are multiples of 1/4096, so range limits are decided as they should be."""
    dx, dy = u[j].x - u[i].x, u[j].y - u[i].y
    return dx * dx + dy * dy


@compiled()
def sight_range(u, i, types, scenario):
    return types[u[i].kind].sight if scenario.unit_ranges else SIGHT


@compiled()
def target_range(u, i, types, scenario):
    if not scenario.unit_ranges:
        return TARGET_RANGE
    return max(types[u[i].kind].attack_range, scenario.min_attack_range)


@compiled()
def in_cone(u, i, j, reach, scenario):
    """SMACv2's field of view: a cone of 2 pi / fov_actions around the direction in which agent i looks.

    As in SMACv2, angles are those of lines, arctan(dy / dx), and a direction is first turned to the side on which
    the unit is; `fix_quirks` compares directions.
    """
    dx, dy = u[j].x - u[i].x, u[j].y - u[i].y
    if dx * dx + dy * dy > reach * reach:
        return False
    half = np.pi / scenario.fov_actions
    x, y = u[i].fov_x, u[i].fov_y
    if scenario.fix_quirks:
        if dx == 0.0 and dy == 0.0:  # one upon the other: in every direction
            return True
        return np.abs(np.arctan2(x * dy - y * dx, x * dx + y * dy)) < half
    dx = max(dx, EPS) if dx > 0.0 else min(dx, -EPS)
    x = max(x, EPS) if dx > 0.0 else min(x, -EPS)
    return np.abs(np.arctan(dy / dx) - np.arctan(y / x)) < half


@compiled()
def sees(u, i, j, types, scenario):
    """Whether unit j is within sight of agent i, dead or alive."""
    reach = sight_range(u, i, types, scenario)
    if scenario.fov_actions > 0:
        return in_cone(u, i, j, reach, scenario)
    return square_distance(u, i, j) < reach * reach


@compiled()
def reaches(u, i, j, types, scenario):
    """Whether an order of agent i against unit j is taken."""
    reach = target_range(u, i, types, scenario)
    if scenario.fov_actions > 0:
        return in_cone(u, i, j, reach, scenario)
    return square_distance(u, i, j) <= reach * reach


@compiled()
def is_medic(u, i, types, scenario):
    return scenario.medics and types[u[i].kind].healer


@compiled()
def may_target(u, i, action, types, scenario):
    """Whether the action's target, an enemy or a medivac's friend, is alive and in range."""
    k = action - scenario.first_target
    if is_medic(u, i, types, scenario):
        if k >= scenario.n_agents or types[u[k].kind].healer:
            return False
        j = k
    elif k >= scenario.n_enemies:
        return False
    else:
        j = scenario.n_agents + k
    return u[j].health > 0.0 and reaches(u, i, j, types, scenario)


@compiled()
def can_move(u, i, direction, scenario):
    """Whether the cell half a move away is inside the map and open; directions are north, south, east, west."""
    half = scenario.move_amount / 2
    x, y = u[i].x, u[i].y
    if direction == 0:
        y += half
    elif direction == 1:
        y -= half
    elif direction == 2:
        x += half
    else:
        x -= half
    # int() rounds towards zero, as SMAC's does: just outside the left and lower borders is still cell 0
    cell_x, cell_y = int(x), int(y)
    return 0 <= cell_x < SIZE and 0 <= cell_y < SIZE and scenario.open[cell_x, cell_y]


@compiled()
def write_avail_actions(u, types, scenario, avail):
    """Fill `avail[n, A]` with zeros and ones."""
    avail[:] = 0
    for i in range(scenario.n_agents):
        if u[i].health <= 0.0:
            avail[i, 0] = 1
            continue
        avail[i, 1] = 1
        for direction in range(4):
            if can_move(u, i, direction, scenario):
                avail[i, 2 + direction] = 1
        for action in range(6, scenario.first_target):  # turning the field of view
            avail[i, action] = 1
        for action in range(scenario.first_target, scenario.n_actions):
            if may_target(u, i, action, types, scenario):
                avail[i, action] = 1
            elif not scenario.action_mask:
                k = action - scenario.first_target
                if is_medic(u, i, types, scenario):
                    alive = k < scenario.n_agents and not types[u[k].kind].healer
                    alive = alive and u[k].health > 0.0
                else:
                    alive = k < scenario.n_enemies and u[scenario.n_agents + k].health > 0.0
                avail[i, action] = 1 if alive else 0
