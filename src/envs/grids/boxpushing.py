"""Many Box Pushings in arrays, stepped by one call."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from envs.compiled.kernel import Kernel
from envs.compiled.structs import struct
from envs.compiled.team_simulator import COPY, TeamSimulator, begin_copy, draw_all, end_step
from envs.grids.options import BoxPushingOptions

KERNEL = Kernel("boxpushing", "Box Pushing", 8, [Path(__file__)])
FORWARD, TURN_LEFT, TURN_RIGHT, _STAY = range(4)
# lengths are in halves of a cell: the middle of the first cell is 1
SIDE, LAST = 12, 11
UP = 0
HEADINGS = np.array([(0, 2), (2, 0), (0, -2), (-2, 0)])  # up, right, down, left
BOXES = np.array([(1, 7), (11, 7), (6, 7)])  # middles; the last one is big, two cells wide
BIG = 2
CORNERS = np.array([(1, 3, 1), (11, 3, 3)])
WIDE, WIDER, LOW = 6, 8, 3  # cells of random starts
STEP, BUMP, SMALL_REWARD, BIG_REWARD = -0.1, -5.0, 10.0, 100.0
RULES = struct([("limit", "i8"), ("random", "i8"), ("width", "i8")])


class State(NamedTuple):
    copies: np.ndarray  # [B] COPY
    agents: np.ndarray  # [B, 2, 3] int64: x, y and heading
    boxes: np.ndarray  # [B, 3, 2] int64: x and y
    chance: np.ndarray  # [B, 6] float64: headings, xs and ys of a beginning


@KERNEL.compiled()
def begin(state, which, outputs, headings, all_boxes, corners, all_rules):
    rules = all_rules[0]
    for b in range(which.size):
        if not which[b]:
            continue
        copy, agents, numbers = state.copies[b], state.agents[b], state.chance[b]
        begin_copy(b, copy, outputs)
        if rules.random:
            draw_all(copy, numbers)
        for i in range(2):
            if rules.random:
                agents[i, 2] = int(numbers[i] * 4)
                agents[i, 0] = 2 * int(numbers[2 + i] * rules.width) + 1
                agents[i, 1] = 2 * int(numbers[4 + i] * LOW) + 1
            else:
                for k in range(3):
                    agents[i, k] = corners[i, k]
            for k in range(5):  # whatever is ahead
                outputs.obs[b, i, k] = k == 2
        for box in range(3):
            for k in range(2):
                state.boxes[b, box, k] = all_boxes[box, k]


@KERNEL.compiled()
def write_views(b, agents, boxes, outputs, headings):
    for i in range(2):
        obs, other = outputs.obs[b, i], agents[1 - i]
        x, y = agents[i, 0] + headings[agents[i, 2], 0], agents[i, 1] + headings[agents[i, 2], 1]
        small = (x == boxes[0, 0] and y == boxes[0, 1]) or (x == boxes[1, 0] and y == boxes[1, 1])
        big = y == boxes[BIG, 1] and abs(x - boxes[BIG, 0]) == 1
        wall = x > SIDE or x < 0 or y > SIDE or y < 0
        teammate = x == other[0] and y == other[1]
        obs[0], obs[1], obs[3], obs[4] = small, big, wall, teammate
        obs[2] = not (small or big or wall or teammate)


@KERNEL.compiled()
def both_push(agents, big, actions):
    for i in range(2):
        if actions[i] != FORWARD or agents[i, 2] != UP or agents[i, 1] != big[1] - 2:
            return False
    return abs(agents[0, 0] - big[0]) == 1 and agents[0, 0] + agents[1, 0] == 2 * big[0]


@KERNEL.compiled()
def advance(agent, boxes, headings):
    """One agent goes forward, perhaps with a box. Returns the reward: less for each thing it bumps into."""
    reward, dx, dy = 0.0, headings[agent[2], 0], headings[agent[2], 1]
    agent[0] += dx
    agent[1] += dy
    if not (1 <= agent[0] <= LAST and 1 <= agent[1] <= LAST):
        agent[0] -= dx
        agent[1] -= dy
        reward += BUMP
    for box in range(3):
        if boxes[box, 1] == agent[1] and abs(boxes[box, 0] - agent[0]) <= 1:
            if agent[2] == UP and box != BIG:
                boxes[box, 0] += dx
                boxes[box, 1] += dy
            else:
                agent[0] -= dx
                agent[1] -= dy
                reward += BUMP
    return reward


@KERNEL.compiled()
def step(state, actions, outputs, headings, all_boxes, corners, all_rules):
    for b in range(actions.shape[0]):
        copy, agents, boxes = state.copies[b], state.agents[b], state.boxes[b]
        if copy.ended:
            continue
        reward, over = STEP, False
        if both_push(agents, boxes[BIG], actions[b]):
            agents[0, 1] += 2
            agents[1, 1] += 2
            boxes[BIG, 1] += 2
        else:
            for i in range(2):
                if actions[b, i] == FORWARD:
                    reward += advance(agents[i], boxes, headings)
                elif actions[b, i] == TURN_LEFT:
                    agents[i, 2] = (agents[i, 2] + 3) % 4
                elif actions[b, i] == TURN_RIGHT:
                    agents[i, 2] = (agents[i, 2] + 1) % 4
        gained = 0.0
        for box in range(3):
            if boxes[box, 1] == LAST:
                over = True
                gained += BIG_REWARD if box == BIG else SMALL_REWARD
        for i in range(2):
            outputs.rewards[b, i] = reward + gained
        end_step(b, copy, outputs, over, all_rules[0].limit)
        write_views(b, agents, boxes, outputs, headings)


class BoxPushings(TeamSimulator):
    """B boards."""

    kernel, plural, functions = KERNEL, "boards", (begin, step)
    options_class = BoxPushingOptions
    options: BoxPushingOptions
    n_agents, n_actions, obs_size = 2, 4, 5

    def set_up(self) -> None:
        options = self.options
        rules = (options.time_limit, options.random_init, WIDE if options.starts_inside else WIDER)
        self.constants = HEADINGS, BOXES, CORNERS, np.array([rules], RULES)

    def new_state(self, copies: int) -> Any:
        agents, boxes = np.zeros((copies, 2, 3), np.int64), np.zeros((copies, 3, 2), np.int64)
        return State(np.zeros(copies, COPY), agents, boxes, np.zeros((copies, 6)))
