"""Many Capture Targets in arrays, stepped by one call."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from envs.compiled.kernel import Kernel
from envs.compiled.structs import struct
from envs.compiled.team_simulator import COPY, TeamSimulator, begin_copy, draw_all, end_step
from envs.grids.options import CaptureTargetOptions

KERNEL = Kernel("capturetarget", "Capture Target", 8, [Path(__file__)])
SIDE = 6
MIDDLE = (SIDE - 1) / 2
NORTH, SOUTH, WEST, EAST, STAY = range(5)
STEPS = np.array([(0, 1), (0, -1), (-1, 0), (1, 0), (0, 0)])
# to the left and to the right of each direction
ASIDE = np.array([(WEST, EAST), (EAST, WEST), (SOUTH, NORTH), (NORTH, SOUTH), (STAY, STAY)])
RULES = struct(
    [("limit", "i8"), ("one_hot", "i8"), ("avoids", "i8"), ("flick", "f8"), ("target_noise", "f8"), ("noise", "f8")]
)
# places in `chance`; of a beginning: 0 to 5, the cells
SLIP, TARGET_SLIP, CHOICE, SEEN = 0, 2, 3, 6


class State(NamedTuple):
    copies: np.ndarray  # [B] COPY
    places: np.ndarray  # [B, 3, 2] int64, x and y of both agents, then of the target
    seen: np.ndarray  # [B, 2] int64, whether an agent sees the target
    chance: np.ndarray  # [B, 8] float64


@KERNEL.compiled()
def write_views(b, state, outputs, rules):
    places, target = state.places[b], state.places[b, 2]
    for i in range(2):
        obs = outputs.obs[b, i]
        seen = state.chance[b, SEEN + i] > rules.flick
        state.seen[b, i] = seen
        if rules.one_hot:
            for k in range(obs.size):
                obs[k] = 0.0
            obs[places[i, 1] * SIDE + places[i, 0]] = 1.0
            if seen:
                obs[SIDE * SIDE + target[1] * SIDE + target[0]] = 1.0
        else:
            for k in range(2):
                obs[k] = places[i, k] / MIDDLE
                obs[2 + k] = target[k] / MIDDLE if seen else -1.0


@KERNEL.compiled()
def begin(state, which, outputs, steps, aside, all_rules):
    for b in range(which.size):
        if which[b]:
            begin_copy(b, state.copies[b], outputs)
            draw_all(state.copies[b], state.chance[b])
            for k in range(2):
                for i in range(3):
                    state.places[b, i, k] = int(state.chance[b, 2 * i + k] * SIDE)
            write_views(b, state, outputs, all_rules[0])


@KERNEL.compiled()
def move(place, direction, steps, aside, noise, number):
    if number < noise / 2:
        direction = aside[direction, 0]
    elif number >= 1.0 - noise / 2:
        direction = aside[direction, 1]
    for k in range(2):
        place[k] = (place[k] + steps[direction, k] + SIDE) % SIDE


@KERNEL.compiled()
def distance(x, y, place):
    """Squared, not around the edges."""
    return (x - place[0]) ** 2 + (y - place[1]) ** 2


@KERNEL.compiled()
def distance_after(direction, target, agent, steps):
    x, y = (target[0] + steps[direction, 0] + SIDE) % SIDE, (target[1] + steps[direction, 1] + SIDE) % SIDE
    return distance(x, y, agent)


@KERNEL.compiled()
def flight(places, steps, number):
    """One of the directions that lead farthest from the nearest agent."""
    target = places[2]
    nearest = int(distance(target[0], target[1], places[1]) < distance(target[0], target[1], places[0]))
    farthest, count = -1, 0
    for direction in range(5):
        away = distance_after(direction, target, places[nearest], steps)
        if away > farthest:
            farthest, count = away, 1
        elif away == farthest:
            count += 1
    left = int(number * count)
    for direction in range(5):
        if distance_after(direction, target, places[nearest], steps) == farthest:
            if left == 0:
                return direction
            left -= 1
    return STAY


@KERNEL.compiled()
def captured(places):
    both = True
    for i in range(2):
        both = both and places[i, 0] == places[2, 0] and places[i, 1] == places[2, 1]
    return both


@KERNEL.compiled()
def step(state, actions, outputs, steps, aside, all_rules):
    rules = all_rules[0]
    for b in range(actions.shape[0]):
        copy, places, numbers = state.copies[b], state.places[b], state.chance[b]
        if copy.ended:
            continue
        draw_all(copy, numbers)
        for i in range(2):
            move(places[i], actions[b, i], steps, aside, rules.noise, numbers[SLIP + i])
        if not captured(places):
            direction = flight(places, steps, numbers[CHOICE]) if rules.avoids else int(numbers[CHOICE] * 5)
            move(places[2], direction, steps, aside, rules.target_noise, numbers[TARGET_SLIP])
        won = captured(places)
        for i in range(2):
            outputs.rewards[b, i] = 1.0 if won else 0.0
        end_step(b, copy, outputs, won, rules.limit)
        write_views(b, state, outputs, rules)


class CaptureTargets(TeamSimulator):
    """B boards."""

    kernel, plural, functions = KERNEL, "boards", (begin, step)
    options_class = CaptureTargetOptions
    options: CaptureTargetOptions
    n_agents, n_actions = 2, 5

    def set_up(self) -> None:
        options = self.options
        self.obs_size = 2 * SIDE * SIDE if options.obs_one_hot else 4
        rules = (options.time_limit, options.obs_one_hot, options.tgt_avoid_agent, options.target_flick_prob)
        noises = (options.tgt_trans_noise, options.agent_trans_noise)
        self.constants = STEPS, ASIDE, np.array([rules + noises], RULES)

    def new_state(self, copies: int) -> Any:
        places, seen = np.zeros((copies, 3, 2), np.int64), np.zeros((copies, 2), np.int64)
        return State(np.zeros(copies, COPY), places, seen, np.zeros((copies, 8)))
