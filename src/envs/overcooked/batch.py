"""Many kitchens in arrays, stepped by one call."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from envs.compiled.kernel import Kernel
from envs.compiled.structs import struct
from envs.compiled.team_simulator import COPY, TeamSimulator, begin_copy, end_step
from envs.overcooked.layouts import COUNTER, DISHES, FLOOR, ONIONS, POT, SERVING, TOMATOES
from envs.overcooked.options import Options
from envs.overcooked.ways import DIRECTIONS, Ways

KERNEL = Kernel("overcooked", "Overcooked", 15, [Path(__file__), Path(__file__).with_name("layouts.py")])
STAY, INTERACT = 4, 5
NOTHING, ONION, SOUP, DISH, TOMATO = range(5)  # what is held, or lies on a counter; in a pot there are soups
HALF, POTS_SEEN = 46, 2  # numbers on one cook, and pots among them
THING = struct([(name, "i4") for name in ("kind", "onions", "tomatoes", "tick")])  # tick -1: the soup does not cook
COOK = struct([(name, "i4") for name in ("x", "y", "direction")])
RULES = struct(
    [("limit", "i8"), ("most", "i8"), ("sparse", "f8"), ("shaped", "f8")]
    + [(name, "f8") for name in ("placement", "dish", "soup")]
)


class State(NamedTuple):
    copies: np.ndarray  # [B] COPY
    cooks: np.ndarray  # [B, 2] COOK
    held: np.ndarray  # [B, 2] THING
    things: np.ndarray  # [B, H, W] THING, on counters and in pots
    served: np.ndarray  # [B] int64, soups of this episode that were paid for
    sparse: np.ndarray  # [B, 2] float64, what the last step's soups paid
    shaped: np.ndarray  # [B, 2] float64, what its steps towards soups paid


class Kitchen(NamedTuple):
    ground: np.ndarray  # [H, W]
    starts: np.ndarray  # [2, 2]
    pots: np.ndarray  # [P, 2], x and y
    directions: np.ndarray  # [4, 2]
    times: np.ndarray  # [onions, tomatoes] int64
    values: np.ndarray  # [onions, tomatoes]
    nearest: np.ndarray  # of `Ways`
    near_pots: np.ndarray  # of `Ways`
    rules: np.ndarray  # [1] RULES


@KERNEL.compiled()
def put(there, thing):
    there.kind, there.onions, there.tomatoes, there.tick = thing.kind, thing.onions, thing.tomatoes, thing.tick
    thing.kind = thing.onions = thing.tomatoes = thing.tick = 0


@KERNEL.compiled()
def is_ready(thing, kitchen):
    return thing.kind == SOUP and thing.tick >= kitchen.times[thing.onions, thing.tomatoes]


@KERNEL.compiled()
def write_half(b, i, state, obs, kitchen):
    """What is to be seen of cook i, and around."""
    cook, held = state.cooks[b, i], state.held[b, i]
    for k in range(HALF):
        obs[k] = 0.0
    obs[cook.direction] = 1.0
    if held.kind != NOTHING:
        obs[3 + held.kind] = 1.0
    nearest = kitchen.nearest[cook.y, cook.x, cook.direction]
    for k in range(2):
        obs[8 + k] = 0.0 if held.kind == ONION else nearest[0, k]
        obs[10 + k] = 0.0 if held.kind == TOMATO else nearest[1, k]
        obs[12 + k] = 0.0 if held.kind == DISH else nearest[2, k]
        obs[18 + k] = nearest[3, k]
    if held.kind == SOUP:
        obs[16], obs[17] = held.onions, held.tomatoes
    for place in range(POTS_SEEN):
        number = kitchen.near_pots[cook.y, cook.x, cook.direction, place]
        if number < 0:
            continue
        x, y, at = kitchen.pots[number, 0], kitchen.pots[number, 1], 22 + 10 * place
        soup = state.things[b, y, x]
        obs[at], obs[at + 8], obs[at + 9] = 1.0, x - cook.x, y - cook.y
        if soup.kind == NOTHING:
            obs[at + 1] = 1.0
            continue
        cooking, ready = soup.tick >= 0, is_ready(soup, kitchen)
        obs[at + 2] = cooking or soup.onions + soup.tomatoes == kitchen.rules[0].most
        obs[at + 3], obs[at + 4] = cooking and not ready, ready
        obs[at + 5], obs[at + 6] = soup.onions, soup.tomatoes
        if cooking:
            obs[at + 7] = max(0, kitchen.times[soup.onions, soup.tomatoes] - soup.tick)
    for k in range(4):
        obs[42 + k] = kitchen.ground[cook.y + kitchen.directions[k, 1], cook.x + kitchen.directions[k, 0]] != FLOOR


@KERNEL.compiled()
def write_views(b, state, outputs, kitchen):
    for i in range(2):
        write_half(b, i, state, outputs.obs[b, i], kitchen)
    for i in range(2):
        obs, other, own, cook = outputs.obs[b, i], outputs.obs[b, 1 - i], state.cooks[b, i], state.cooks[b, 1 - i]
        for k in range(HALF):
            obs[HALF + k] = other[k]
        obs[2 * HALF], obs[2 * HALF + 1] = cook.x - own.x, cook.y - own.y
        obs[2 * HALF + 2], obs[2 * HALF + 3] = own.x, own.y


@KERNEL.compiled()
def begin(state, which, outputs, kitchen):
    for b in range(which.size):
        if not which[b]:
            continue
        begin_copy(b, state.copies[b], outputs)
        for i in range(2):
            cook, held = state.cooks[b, i], state.held[b, i]
            cook.x, cook.y, cook.direction = kitchen.starts[i, 0], kitchen.starts[i, 1], 0
            held.kind = held.onions = held.tomatoes = held.tick = 0
            state.sparse[b, i] = state.shaped[b, i] = 0.0
        for y in range(kitchen.ground.shape[0]):
            for x in range(kitchen.ground.shape[1]):
                thing = state.things[b, y, x]
                thing.kind = thing.onions = thing.tomatoes = thing.tick = 0
        state.served[b] = 0
        write_views(b, state, outputs, kitchen)


@KERNEL.compiled()
def begun_pots(b, state, kitchen):
    """Pots with a soup that cooks or is ready, or one to which more may be added."""
    count = 0
    for k in range(kitchen.pots.shape[0]):
        soup = state.things[b, kitchen.pots[k, 1], kitchen.pots[k, 0]]
        size = soup.onions + soup.tomatoes
        count += soup.kind == SOUP and (soup.tick >= 0 or 0 < size < kitchen.rules[0].most)
    return count


@KERNEL.compiled()
def dish_is_useful(b, state, pots, ground):
    """No dish lies on a counter, and fewer are held than pots need."""
    for y in range(ground.shape[0]):
        for x in range(ground.shape[1]):
            if ground[y, x] == COUNTER and state.things[b, y, x].kind == DISH:
                return False
    return (state.held[b, 0].kind == DISH) + (state.held[b, 1].kind == DISH) < pots


@KERNEL.compiled()
def use_pot(b, i, held, soup, state, kitchen):
    """Begin to cook, take the soup, or add an ingredient."""
    rules = kitchen.rules[0]
    if held.kind == NOTHING:
        if soup.kind == SOUP and soup.tick < 0:
            soup.tick = 0
    elif held.kind == DISH:
        if is_ready(soup, kitchen):
            put(held, soup)
            state.shaped[b, i] += rules.soup
    elif held.kind != SOUP and (soup.kind == NOTHING or (soup.tick < 0 and soup.onions + soup.tomatoes < rules.most)):
        if soup.kind == NOTHING:
            soup.kind, soup.tick = SOUP, -1
        soup.onions += held.kind == ONION
        soup.tomatoes += held.kind == TOMATO
        held.kind = NOTHING
        state.shaped[b, i] += rules.placement


@KERNEL.compiled()
def interact(b, i, pots, state, kitchen):
    """Cook i uses what it faces. `pots`: as they were at the beginning of the step, `begun_pots`."""
    cook, held = state.cooks[b, i], state.held[b, i]
    x, y = cook.x + kitchen.directions[cook.direction, 0], cook.y + kitchen.directions[cook.direction, 1]
    cell, there = kitchen.ground[y, x], state.things[b, y, x]
    if cell == COUNTER:
        if held.kind == NOTHING:
            put(held, there)
        elif there.kind == NOTHING:
            put(there, held)
    elif cell == POT:
        use_pot(b, i, held, there, state, kitchen)
    elif cell == SERVING:
        if held.kind == SOUP:
            value = kitchen.values[held.onions, held.tomatoes]
            state.sparse[b, i] += value
            state.served[b] += value != 0
            held.kind = held.onions = held.tomatoes = held.tick = 0
    elif held.kind == NOTHING:
        if cell == ONIONS:
            held.kind = ONION
        elif cell == TOMATOES:
            held.kind = TOMATO
        elif cell == DISHES:
            if dish_is_useful(b, state, pots, kitchen.ground):
                state.shaped[b, i] += kitchen.rules[0].dish
            held.kind = DISH


@KERNEL.compiled()
def move(b, actions, state, kitchen):
    """Both turn, and step where there is floor, unless they would meet or change places."""
    cooks = state.cooks[b]
    x0, y0, x1, y1 = cooks[0].x, cooks[0].y, cooks[1].x, cooks[1].y
    nx0, ny0, nx1, ny1 = x0, y0, x1, y1
    if actions[0] < STAY:
        cooks[0].direction = actions[0]
        x, y = x0 + kitchen.directions[actions[0], 0], y0 + kitchen.directions[actions[0], 1]
        if kitchen.ground[y, x] == FLOOR:
            nx0, ny0 = x, y
    if actions[1] < STAY:
        cooks[1].direction = actions[1]
        x, y = x1 + kitchen.directions[actions[1], 0], y1 + kitchen.directions[actions[1], 1]
        if kitchen.ground[y, x] == FLOOR:
            nx1, ny1 = x, y
    meet = nx0 == nx1 and ny0 == ny1
    swap = nx0 == x1 and ny0 == y1 and nx1 == x0 and ny1 == y0
    if not meet and not swap:
        cooks[0].x, cooks[0].y, cooks[1].x, cooks[1].y = nx0, ny0, nx1, ny1


@KERNEL.compiled()
def step(state, actions, outputs, kitchen):
    rules = kitchen.rules[0]
    for b in range(actions.shape[0]):
        copy = state.copies[b]
        if copy.ended:
            continue
        pots = begun_pots(b, state, kitchen)
        for i in range(2):
            state.sparse[b, i] = state.shaped[b, i] = 0.0
        for i in range(2):
            if actions[b, i] == INTERACT:
                interact(b, i, pots, state, kitchen)
        move(b, actions[b], state, kitchen)
        for k in range(kitchen.pots.shape[0]):
            soup = state.things[b, kitchen.pots[k, 1], kitchen.pots[k, 0]]
            if soup.kind == SOUP and soup.tick >= 0 and not is_ready(soup, kitchen):
                soup.tick += 1
        for i in range(2):
            outputs.rewards[b, i] = rules.sparse * state.sparse[b, i] + rules.shaped * state.shaped[b, i]
        end_step(b, copy, outputs, False, rules.limit)
        write_views(b, state, outputs, kitchen)


class Kitchens(TeamSimulator):
    """B kitchens of the same layout."""

    kernel, plural, functions = KERNEL, "kitchens", (begin, step)
    options_class = Options
    options: Options
    n_agents, n_actions, obs_size = 2, 6, 2 * HALF + 4

    def set_up(self) -> None:
        self.layout, kind = self.options.layout(), self.options.reward_type
        ways = Ways(self.layout)
        rules = (self.options.time_limit, self.layout.most, kind != "shaped", kind != "sparse", *self.layout.shaping)
        kitchen = Kitchen(
            self.layout.ground,
            self.layout.starts,
            np.ascontiguousarray(self.layout.cells(POT)),
            DIRECTIONS,
            self.layout.times,
            self.layout.values,
            ways.nearest,
            ways.pots,
            np.array([rules], RULES),
        )
        self.constants = (kitchen,)

    def new_state(self, copies: int) -> Any:
        return State(
            np.zeros(copies, COPY),
            np.zeros((copies, 2), COOK),
            np.zeros((copies, 2), THING),
            np.zeros((copies, *self.layout.ground.shape), THING),
            np.zeros(copies, np.int64),
            np.zeros((copies, 2)),
            np.zeros((copies, 2)),
        )
