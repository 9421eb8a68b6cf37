"""Walking: towards a place, around what blocks the way, and apart where bodies overlap."""

import numpy as np

from envs.skirmish.kernel import compiled
from envs.skirmish.state import BODIES, SIZE

GRID = 4096.0  # positions are multiples of 1/4096, as in the game; so a mirrored battle stays an exact mirror
FIRST, LAST = 1 / GRID, SIZE - 1 / GRID
SLACK = 0.0625  # how far a unit is pushed during a loop, hardly ever further
TOUCH = 0.01  # overlaps up to this are no overlaps
GROUND = 0
# the turns that are tried to get past a body
TURNS = 3
TURN_COS = np.cos(np.radians(np.array([45.0, 90.0, 135.0])))
TURN_SIN = np.sin(np.radians(np.array([45.0, 90.0, 135.0])))


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
def walk(u, near, i, goal_x, goal_y, speed, types, scenario, ways):
    """One loop's walk of unit i towards a place, and not beyond it."""
    if speed <= 0.0:
        return
    layer = u[i].layer
    if layer == GROUND and not scenario.convex:
        goal_x, goal_y = around(u, i, goal_x, goal_y, ways)
    dx, dy = goal_x - u[i].x, goal_y - u[i].y
    far = np.sqrt(dx * dx + dy * dy)
    if far <= 1 / GRID:
        return
    step = min(speed, far) / far
    dx, dy = dx * step, dy * step
    dx, dy = sidestep(u, near, i, dx, dy)
    u[i].moved = u[i].pushed = 1
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
def find_bodies(u, near, i, step):
    """List in `u[i].bodies` the standing bodies that a step of that length could run into; returns their number.

    Walking bodies do not count: they make way when they are pushed.
    """
    x, y, room = u[i].x, u[i].y, u[i].body + step
    found = 0
    for k in range(1, near[i, 0] + 1):
        j = near[i, k]
        dx, dy = u[j].x - x, u[j].y - y
        reach = room + u[j].body
        # written anyway, and kept if it is one: faster than a branch that no processor can foresee
        u[i].bodies[found] = j
        stands = (u[j].moved == 0) & (u[j].health > 0.0)
        found += int((dx * dx + dy * dy < reach * reach) & stands & (found < BODIES - 1))
    return found


@compiled()
def block(u, i, dx, dy, bodies):
    """Of the bodies that were found, the one that the step (dx, dy) would run into most deeply, or -1."""
    x, y = u[i].x + dx, u[i].y + dy
    body = u[i].body
    deepest, worst = TOUCH, -1
    for k in range(bodies):
        j = u[i].bodies[k]
        px, py = u[j].x - x, u[j].y - y
        reach = body + u[j].body
        square = px * px + py * py
        if square < reach * reach and px * dx + py * dy > 0.0:
            depth = reach - np.sqrt(square)
            if depth > deepest:
                deepest, worst = depth, j
    return worst


@compiled()
def sidestep(u, near, i, dx, dy):
    """The step (dx, dy), turned by as little as gets it past the bodies that stand in the way.

    First to the side on which the step already passes the body, then to the other; the side is kept until the way is
    free: a unit gets around more than one body. If all is blocked it waits.
    """
    bodies = find_bodies(u, near, i, np.sqrt(dx * dx + dy * dy))
    j = block(u, i, dx, dy, bodies)
    if j < 0:
        u[i].side = 0
        return dx, dy
    if u[i].side == 0:
        px, py = u[j].x - u[i].x, u[j].y - u[i].y
        passing = px * dy - py * dx  # > 0: past the body on its left
        if passing == 0.0:
            # head on: either side is as good; north, or towards the middle, is one that a mirrored battle mirrors
            passing = dx if dx != 0.0 else dy * (u[i].x - SIZE / 2)
        u[i].side = 1 if passing > 0.0 else -1
    for _ in range(2):
        for k in range(TURNS):
            cos, sin = TURN_COS[k], TURN_SIN[k] * u[i].side
            tx, ty = dx * cos - dy * sin, dx * sin + dy * cos
            if block(u, i, tx, ty, bodies) < 0:
                return tx, ty
        u[i].side = -u[i].side
    return 0.0, 0.0


@compiled()
def note_around(u, around, loops, types):
    """Note for every living unit the later ones of its layer that it could touch within that many game loops."""
    for i in range(u.size):
        u[i].room = u[i].body + types[u[i].kind].speed + SLACK
        around[i, 0] = 0
    for i in range(u.size - 1):
        if u[i].health <= 0.0:
            continue
        x, y, layer = u[i].x, u[i].y, u[i].layer
        room = u[i].body + (u[i].room - u[i].body) * loops
        for j in range(i + 1, u.size):
            dx, dy = u[j].x - x, u[j].y - y
            reach = room + u[j].body + (u[j].room - u[j].body) * loops
            if (dx * dx + dy * dy < reach * reach) & (u[j].health > 0.0) & (u[j].layer == layer):
                around[i, 0] += 1
                around[i, around[i, 0]] = j


@compiled()
def note_near(u, around, near):
    """Of the units around, note those that each unit could touch in this game loop."""
    for i in range(u.size):
        near[i, 0] = 0
    for i in range(u.size):
        x, y, room = u[i].x, u[i].y, u[i].room
        for k in range(1, around[i, 0] + 1):
            j = around[i, k]
            dx, dy = u[j].x - x, u[j].y - y
            reach = room + u[j].room
            if dx * dx + dy * dy < reach * reach:
                near[i, 0] += 1
                near[i, near[i, 0]] = j
                near[j, 0] += 1
                near[j, near[j, 0]] = i


@compiled()
def push_apart(u, near, turn, types, scenario):
    """Move overlapping bodies of one layer apart: the one that walked, or each half of the way.

    Only pairs of which one was moved by the walk (turn 1) or in the turn before are looked at. Returns the deepest
    overlap that there was.
    """
    deepest = 0.0
    for i in range(u.size):
        if u[i].pushed < turn or u[i].health <= 0.0:
            continue
        for k in range(1, near[i, 0] + 1):
            j = near[i, k]
            dx, dy = u[j].x - u[i].x, u[j].y - u[i].y
            reach = u[i].body + u[j].body
            square = dx * dx + dy * dy
            again = (u[j].pushed >= turn) & (j < i)  # this pair was looked at from the other side
            if (square >= reach * reach) | again | (u[j].health <= 0.0):
                continue
            far = np.sqrt(square)
            if reach - far > TOUCH:
                deepest = max(deepest, reach - far)
                push_pair(u, i, j, dx, dy, far, reach, turn, types, scenario)
    return deepest


@compiled()
def push_pair(u, i, j, dx, dy, far, reach, turn, types, scenario):
    overlap = reach - far
    if far == 0.0:  # one upon the other: apart along y, which every mirror keeps
        dx, dy, far = 0.0, 1.0, 1.0
    share = 0.5
    first, second = types[u[i].kind].speed > 0.0, types[u[j].kind].speed > 0.0
    if first and second and u[i].moved != u[j].moved:
        first, second = u[i].moved, u[j].moved
    if first != second:
        share = 1.0 if first else 0.0
    layer = u[i].layer
    u[i].pushed = u[j].pushed = turn + 1
    px, py = dx / far * overlap, dy / far * overlap
    if share > 0.0:
        place(u, i, u[i].x - px * share, u[i].y - py * share, scenario, layer)
    if share < 1.0:
        rest = 1.0 - share
        place(u, j, u[j].x + px * rest, u[j].y + py * rest, scenario, layer)
