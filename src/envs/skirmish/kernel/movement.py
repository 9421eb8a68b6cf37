"""Walking: towards a place, around what blocks the way, and apart where bodies overlap."""

import numpy as np

from envs.skirmish.jit import compiled
from envs.skirmish.state import SIZE

GRID = 4096.0  # positions are multiples of 1/4096, as in the game; so a mirrored battle stays an exact mirror
FIRST, LAST = 1 / GRID, SIZE - 1 / GRID
TOUCH = 0.01  # overlaps up to this are no overlaps
GROUND, AIR = 0, 1


@compiled()
def on_grid(value):
    return np.rint(value * GRID) / GRID


@compiled()
def place(u, i, x, y, scenario, layer):
    """Put unit i at (x, y), or as far towards it as the ground allows: along x only, along y only, or not at all."""
    x = on_grid(min(max(x, FIRST), LAST))
    y = on_grid(min(max(y, FIRST), LAST))
    if layer == GROUND and not scenario.open[int(x), int(y)]:
        if scenario.open[int(x), int(u[i].y)]:
            y = u[i].y
        elif scenario.open[int(u[i].x), int(y)]:
            x = u[i].x
        else:
            return
    u[i].x = x
    u[i].y = y


@compiled()
def walk(u, i, goal_x, goal_y, speed, types, scenario, ways):
    """One loop's walk of unit i towards a place, and not beyond it."""
    if speed <= 0.0:
        return
    layer = types[u[i].kind].layer
    if layer == GROUND and not scenario.convex:
        goal_x, goal_y = around(u, i, goal_x, goal_y, ways)
    dx, dy = goal_x - u[i].x, goal_y - u[i].y
    far = np.sqrt(dx * dx + dy * dy)
    if far <= 1 / GRID:
        return
    step = min(speed, far) / far
    dx, dy = dx * step, dy * step
    dx, dy = sidestep(u, i, dx, dy, types, layer)
    u[i].moved = True
    place(u, i, u[i].x + dx, u[i].y + dy, scenario, layer)


@compiled()
def around(u, i, goal_x, goal_y, ways):
    """Where to walk to for now so as to get to a place: the place itself if nothing is in the way."""
    cell = int(u[i].x) * SIZE + int(u[i].y)
    goal = int(min(max(goal_x, FIRST), LAST)) * SIZE + int(min(max(goal_y, FIRST), LAST))
    towards = ways[goal, cell]
    if towards < 0 or towards in (goal, cell):
        return goal_x, goal_y
    return towards // SIZE + 0.5, towards % SIZE + 0.5


@compiled()
def sidestep(u, i, dx, dy, types, layer):
    """The step (dx, dy), turned along the body it would run into.

    Bodies that walk themselves make way when they are pushed; those that stand are walked around, on the side
    towards which the step already leads.
    """
    x, y = u[i].x + dx, u[i].y + dy
    radius = types[u[i].kind].radius
    deepest, block = TOUCH, -1
    for j in range(u.size):
        if j == i or u[j].health <= 0.0 or u[j].moved:
            continue
        px, py = u[j].x - x, u[j].y - y
        reach = radius + types[u[j].kind].radius
        if px * px + py * py >= reach * reach or types[u[j].kind].layer != layer:
            continue
        if px * dx + py * dy > 0.0:
            depth = reach - np.sqrt(px * px + py * py)
            if depth > deepest:
                deepest, block = depth, j
    if block < 0:
        return dx, dy
    px, py = u[block].x - u[i].x, u[block].y - u[i].y
    far = np.sqrt(px * px + py * py)
    if far == 0.0:
        return dx, dy
    side = px * dy - py * dx  # > 0: the step leads past the block on its left
    tx, ty = (-py, px) if side > 0.0 else (py, -px)
    if side == 0.0 and (ty < 0.0 or (ty == 0.0 and tx * (SIZE / 2 - u[i].x) < 0.0)):
        # head on: either side is as good, so one that a mirrored battle mirrors
        tx, ty = -tx, -ty
    step = np.sqrt(dx * dx + dy * dy) / far
    return tx * step, ty * step


@compiled()
def push_apart(u, types, scenario):
    """Move overlapping bodies of one layer apart: the one that walked, or each half of the way."""
    units = u.size
    for i in range(units - 1):
        if u[i].health <= 0.0:
            continue
        kind = u[i].kind
        for j in range(i + 1, units):
            if u[j].health <= 0.0:
                continue
            dx, dy = u[j].x - u[i].x, u[j].y - u[i].y
            reach = types[kind].radius + types[u[j].kind].radius
            square = dx * dx + dy * dy
            if square >= reach * reach or types[kind].layer != types[u[j].kind].layer:
                continue
            push_pair(u, i, j, dx, dy, np.sqrt(square), reach, types, scenario)


@compiled()
def push_pair(u, i, j, dx, dy, far, reach, types, scenario):
    overlap = reach - far
    if overlap <= TOUCH:
        return
    if far == 0.0:  # one upon the other: apart along y, which every mirror keeps
        dx, dy, far = 0.0, 1.0, 1.0
    share = 0.5
    first, second = types[u[i].kind].speed > 0.0, types[u[j].kind].speed > 0.0
    if first and second and u[i].moved != u[j].moved:
        first, second = u[i].moved, u[j].moved
    if first != second:
        share = 1.0 if first else 0.0
    layer = types[u[i].kind].layer
    px, py = dx / far * overlap, dy / far * overlap
    if share > 0.0:
        place(u, i, u[i].x - px * share, u[i].y - py * share, scenario, layer)
    if share < 1.0:
        rest = 1.0 - share
        place(u, j, u[j].x + px * rest, u[j].y + py * rest, scenario, layer)
