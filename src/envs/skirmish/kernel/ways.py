"""Shortest ways over a grid of cells, between all pairs of them."""

import numpy as np

from envs.skirmish.kernel import compiled

UNREACHABLE = 1e9


@compiled()
def free_line(is_open, x1, y1, x2, y2):
    """Whether the straight line between the centres of two cells stays on open ground."""
    steps = 4 * max(abs(x2 - x1), abs(y2 - y1))
    for k in range(1, steps):
        x = x1 + 0.5 + (x2 - x1) * k / steps
        y = y1 + 0.5 + (y2 - y1) * k / steps
        if not is_open[int(x), int(y)]:
            return False
    return True


@compiled()
def distances_to(is_open, goal_x, goal_y, distance, queue):
    """Fill `distance[x, y]` with the length of the shortest way to the goal, over eight neighbours, corners not cut."""
    size = is_open.shape[0]
    distance[:] = UNREACHABLE
    distance[goal_x, goal_y] = 0.0
    queue[0] = goal_x * size + goal_y
    head, tail, room = 0, 1, queue.size
    while head != tail:
        x, y = queue[head] // size, queue[head] % size
        head = (head + 1) % room
        for dx in range(-1, 2):
            for dy in range(-1, 2):
                nx, ny = x + dx, y + dy
                if nx < 0 or ny < 0 or nx >= size or ny >= size:
                    continue
                if not (is_open[nx, ny] and is_open[x, ny] and is_open[nx, y]):
                    continue
                far = distance[x, y] + np.sqrt(float(dx * dx + dy * dy))
                if far < distance[nx, ny] - 1e-9:
                    distance[nx, ny] = far
                    queue[tail] = nx * size + ny
                    tail = (tail + 1) % room


@compiled()
def next_cell(is_open, distance, x, y):
    """The neighbour of a cell through which the shortest way goes."""
    size = is_open.shape[0]
    best, best_far = x * size + y, distance[x, y]
    for dx in range(-1, 2):
        for dy in range(-1, 2):
            nx, ny = x + dx, y + dy
            if nx < 0 or ny < 0 or nx >= size or ny >= size:
                continue
            if is_open[nx, ny] and is_open[x, ny] and is_open[nx, y] and distance[nx, ny] < best_far:
                best, best_far = nx * size + ny, distance[nx, ny]
    return best


@compiled()
def fill_waypoints(is_open, ways, distance, queue):
    """Fill `ways[goal, cell]`, as `terrain.Terrain` has it, for every goal and every open cell.

    `distance[size, size]` and `queue[8 * size * size]` are scratch.
    """
    size = is_open.shape[0]
    ways[:] = -1
    for goal_x in range(size):
        for goal_y in range(size):
            if not is_open[goal_x, goal_y]:
                continue
            goal = goal_x * size + goal_y
            distances_to(is_open, goal_x, goal_y, distance, queue)
            for x in range(size):
                for y in range(size):
                    if not is_open[x, y] or distance[x, y] >= UNREACHABLE:
                        continue
                    towards, ahead = x * size + y, x * size + y
                    while ahead != goal:  # as far along the way as can be seen
                        ahead = next_cell(is_open, distance, ahead // size, ahead % size)
                        if free_line(is_open, x, y, ahead // size, ahead % size):
                            towards = ahead
                        elif towards != x * size + y:
                            break
                    ways[goal, x * size + y] = goal if free_line(is_open, x, y, goal_x, goal_y) else towards


@compiled()
def reach_the_nearest(is_open, ways, reachable):
    """Lead to the nearest cell that can be reached where the goal itself cannot; `reachable` is where ways >= 0."""
    size = is_open.shape[0]
    cells = size * size
    for cell in range(cells):
        if not is_open[cell // size, cell % size]:
            continue
        for goal in range(cells):
            if reachable[goal, cell]:
                continue
            nearest, nearest_far = cell, cells * cells
            for other in range(cells):
                if reachable[other, cell]:
                    dx, dy = other // size - goal // size, other % size - goal % size
                    if dx * dx + dy * dy < nearest_far:
                        nearest, nearest_far = other, dx * dx + dy * dy
            ways[goal, cell] = ways[nearest, cell]
