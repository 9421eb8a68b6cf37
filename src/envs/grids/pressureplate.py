"""Many PressurePlates in arrays, stepped by one call."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from envs.compiled.kernel import Kernel
from envs.compiled.structs import struct
from envs.compiled.team_simulator import COPY, TeamSimulator, begin_copy, draw_all, end_step
from envs.grids.options import PRESSURE_PLATES, PressurePlateOptions
from envs.grids.rooms import DOOR, GOAL, OPEN, ROOMS, SIGHT, WIDTH

KERNEL = Kernel("pressureplate", "PressurePlate", 8, [Path(__file__), Path(__file__).with_name("rooms.py")])
UP, DOWN, LEFT, RIGHT, STAY = range(5)
FARTHEST = 10.0  # L1 distances are divided by it
RULES = struct([("limit", "i8"), ("sees_now", "i8")])
SPAN = 2 * SIGHT + 1


class State(NamedTuple):
    copies: np.ndarray  # [B] COPY
    places: np.ndarray  # [B, n, 2] int64, x and y
    order: np.ndarray  # [B, n] int64, in which they move; it is shuffled further at each step
    open: np.ndarray  # [B, n - 1] int64, whether door k is
    chance: np.ndarray  # [B, n - 1] float64, for a shuffle


@KERNEL.compiled()
def shuffle(order, chance):
    for k in range(chance.size):
        i = order.size - 1 - k
        j = int(chance[k] * (i + 1))
        order[i], order[j] = order[j], order[i]


@KERNEL.compiled()
def write_views(b, places, outputs, views, rules):
    n = places.shape[0]
    for i in range(n):
        x, y = places[i, 0], places[i, 1]
        obs, view = outputs.obs[b, i], views[y, x]
        for k in range(view.size):
            obs[k] = view[k]
        obs[view.size], obs[view.size + 1] = x, y
        if rules.sees_now:
            for k in range(SPAN * SPAN):
                obs[k] = 0.0
            for j in range(n):
                dx, dy = places[j, 0] - x + SIGHT, places[j, 1] - y + SIGHT
                if 0 <= dx < SPAN and 0 <= dy < SPAN:
                    obs[dy * SPAN + dx] = 1.0


@KERNEL.compiled()
def begin(state, which, outputs, ground, views, plates, starts, all_rules):
    for b in range(which.size):
        if not which[b]:
            continue
        copy, order, places = state.copies[b], state.order[b], state.places[b]
        begin_copy(b, copy, outputs)
        for i in range(order.size):
            order[i] = i
        if copy.episode > 0:
            draw_all(copy, state.chance[b])
            shuffle(order, state.chance[b])
        for i in range(order.size):
            places[i, 0], places[i, 1] = starts[order[i], 0], starts[order[i], 1]
        for k in range(state.open.shape[1]):
            state.open[b, k] = 0
        write_views(b, places, outputs, views, all_rules[0])


@KERNEL.compiled()
def move(b, i, action, state, ground):
    """Agent i moves, unless the edge, a wall, a closed door or an agent is there."""
    places = state.places[b]
    x = places[i, 0] + (action == RIGHT) - (action == LEFT)
    y = places[i, 1] + (action == DOWN) - (action == UP)
    if action == STAY or not (0 <= x < ground.shape[1] and 0 <= y < ground.shape[0]):
        return
    cell = ground[y, x]
    if cell != OPEN and (cell < DOOR or not state.open[b, cell - DOOR]):
        return
    for j in range(places.shape[0]):
        if places[j, 0] == x and places[j, 1] == y:
            return
    places[i, 0], places[i, 1] = x, y


@KERNEL.compiled()
def room_of(y, ground):
    """How many walls are below a row; the wall above a room is the next one's."""
    room = 0
    for row in range(y, ground.shape[0]):
        room += ground[row, 0] != OPEN
    return room


@KERNEL.compiled()
def step(state, actions, outputs, ground, views, plates, starts, all_rules):
    n = actions.shape[1]
    for b in range(actions.shape[0]):
        copy, places = state.copies[b], state.places[b]
        if copy.ended:
            continue
        draw_all(copy, state.chance[b])
        shuffle(state.order[b], state.chance[b])
        for k in range(n):
            i = state.order[b, k]
            move(b, i, actions[b, i], state, ground)
        achieved = False
        for i in range(n):
            away = abs(places[i, 0] - plates[i, 0]) + abs(places[i, 1] - plates[i, 1])
            if i < n - 1:
                state.open[b, i] = away == 0
            room = room_of(places[i, 1], ground)
            outputs.rewards[b, i] = -away / FARTHEST if room == i else room - (n - 1)
            achieved = achieved or (places[i, 0] == GOAL[0] and places[i, 1] == GOAL[1])
        end_step(b, copy, outputs, achieved, all_rules[0].limit)
        write_views(b, places, outputs, views, all_rules[0])


class PressurePlates(TeamSimulator):
    """B copies of the same rooms."""

    kernel, plural, functions = KERNEL, "rooms", (begin, step)
    options_class = PressurePlateOptions
    options: PressurePlateOptions
    n_actions, obs_size = 5, 4 * SPAN**2 + 2

    def set_up(self) -> None:
        self.n_agents = PRESSURE_PLATES[self.options.key]
        self.rooms = rooms = ROOMS[self.n_agents]
        rules = (self.options.time_limit, self.options.agents_layer == "now")
        views = rooms.views.reshape(rooms.height, WIDTH, -1)
        targets = np.array([*rooms.plates, GOAL])
        self.constants = rooms.ground, views, targets, np.array(rooms.starts), np.array([rules], RULES)

    def new_state(self, copies: int) -> Any:
        n = self.n_agents
        return State(
            np.zeros(copies, COPY),
            np.zeros((copies, n, 2), np.int64),
            np.zeros((copies, n), np.int64),
            np.zeros((copies, n - 1), np.int64),
            np.zeros((copies, n - 1)),
        )
