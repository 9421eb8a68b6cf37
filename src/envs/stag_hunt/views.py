"""What agents of the stag hunt see and may do, and the state."""

from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from envs.stag_hunt.options import AGENT, HARE, STAG, Options

STAY, CATCH = 4, 5


class Outputs(NamedTuple):
    """What a kernel writes after each step."""

    obs: np.ndarray  # [B, n, d] float32
    state: np.ndarray  # [B, rows * columns * features] float32
    avail_actions: np.ndarray  # [B, n, A] uint8
    rewards: np.ndarray  # [B, 1] float64, the team's
    terminated: np.ndarray  # [B] bool
    truncated: np.ndarray  # [B] bool

    @classmethod
    def allocate(cls, copies: int, n_agents: int, obs_size: int, state_size: int, n_actions: int) -> "Outputs":
        """All zeros."""
        obs, state = np.zeros((copies, n_agents, obs_size), np.float32), np.zeros((copies, state_size), np.float32)
        avail, rewards = np.zeros((copies, n_agents, n_actions), np.uint8), np.zeros((copies, 1))
        return cls(obs, state, avail, rewards, *np.zeros((2, copies), bool))


class World(NamedTuple):
    """What all copies share. A cell of the window round an agent is one of those that are seen, or none."""

    rules: np.ndarray  # [1]
    shape: np.ndarray  # [3] int64: rows, columns, numbers of a cell
    n_actions: np.ndarray  # [1] int64
    moves: np.ndarray  # [10, 2] int64
    blocks: np.ndarray  # [3] int64, whether agents cannot enter cells of this kind
    all_kinds: np.ndarray  # [3] int64, ones
    needed: np.ndarray  # [3] int64, by kind: agents that must catch it
    ways_left: np.ndarray  # [3] int64, by kind: with so many free cells beside it, it is caught
    sight: np.ndarray  # [2] int64
    seen: np.ndarray  # [4, V] int64, of each direction: which cell of the window is seen at this place, or -1
    place: np.ndarray  # [4, window] int64: at which place this cell is seen, or -1

    @classmethod
    def of(cls, options: Options, moves: np.ndarray, rules: np.ndarray) -> "World":
        shape = (options.rows, options.columns, len(options.features))
        blocks = [int(kind in options.agent_move_block) for kind in range(3)]
        seen = _seen_cells(options)
        place = np.full((4, (2 * options.sight[0] + 1) * (2 * options.sight[1] + 1)), -1)
        for direction in range(4):
            at = np.flatnonzero(seen[direction] >= 0)
            place[direction, seen[direction, at]] = at
        needed, ways_left = ([0, *pair] for pair in (options.capture_action_conditions, options.capture_conditions))
        small = (shape, [options.n_actions], moves, blocks, [1, 1, 1], needed, ways_left, options.sight, seen, place)
        return cls(rules, *(np.array(numbers, np.int64) for numbers in small))

    def obs_size(self, options: Options) -> int:
        features = len(options.features)
        if options.observe_state:
            return options.rows * options.columns * (features + 1)
        return self.seen.shape[1] * features


def _seen_cells(options: Options) -> np.ndarray:
    """`World.seen`."""
    height, width = (2 * side + 1 for side in options.sight)
    window = np.arange(height * width).reshape(height, width)
    if not options.directed_observations:
        return np.tile(window.reshape(-1), (4, 1))
    narrow = int(options.directed_cone_narrow)
    cones = []
    for turns in (1, 2, 3, 0):  # upwards, turned to the right, down, left, up
        turned = np.rot90(window, turns)
        cone = np.full((height - 2 * narrow, width - 2 * narrow), -1)
        for row in range(options.sight[0] + 1 - narrow):
            cone[row, row : cone.shape[1] - row] = turned[row, row + narrow : width - row - narrow]
        cones.append(np.rot90(cone, -turns).reshape(-1))
    return np.array(cones)


@register_jitable
def mark(obs, row, column, kind, number, direction, world):
    """Something is on a cell, counted from the window's corner; across joined edges it may be on several."""
    rules, height, width = world.rules[0], 2 * world.sight[0] + 1, 2 * world.sight[1] + 1
    down, right = height, width
    if rules.toroidal and not rules.as_pymarl2:
        down, right = world.shape[0], world.shape[1]
        row, column = row % down, column % right
    if row < 0 or column < 0:
        return
    for x in range(row, height, down):
        for y in range(column, width, right):
            at = world.place[direction, x * width + y]
            if at >= 0:
                obs[at * world.shape[2] + kind] = number


@register_jitable
def write_window(b, i, state, obs, world):
    rules, size = world.rules[0], world.shape[2]
    x, y, direction = state.agents[b, i, 0], state.agents[b, i, 1], state.facing[b, i]
    left, up = y - world.sight[1], x - world.sight[0]
    width = 2 * world.sight[1] + 1
    walls = rules.observe_walls and (rules.as_pymarl2 or not rules.toroidal)
    for at in range(world.seen.shape[1]):
        cell = world.seen[direction, at]
        for k in range(size):
            obs[at * size + k] = -1.0 if cell < 0 else 0.0
        if walls and cell >= 0:
            row, column = up + cell // width, left + cell % width
            if not (0 <= row < world.shape[0] and 0 <= column < world.shape[1]):
                obs[at * size + (3 if rules.observe_one_hot else AGENT)] = 1.0 if rules.observe_one_hot else -1.0
    if rules.random_ghosts:
        shown = -1.0 if state.ghosts[b, 0] else 1.0
        mark(obs, state.ghosts[b, 1] - up, state.ghosts[b, 2] - left, size - 1, shown, direction, world)
    stays = not rules.as_pymarl2 and not rules.remove_frozen
    for j in range(state.agents.shape[1]):
        if state.free[b, j] or stays:
            number = j + 1.0 if rules.observe_ids else 1.0
            mark(obs, state.agents[b, j, 0] - up, state.agents[b, j, 1] - left, AGENT, number, direction, world)
    for p in range(state.prey.shape[1]):
        if state.alive[b, p]:
            kind, first = (STAG, 0) if p < rules.n_stags else (HARE, rules.n_stags)
            number = p - first + 1.0 if rules.observe_ids else 1.0
            mark(obs, state.prey[b, p, 0] - up, state.prey[b, p, 1] - left, kind, number, direction, world)


@register_jitable
def write_board(b, i, state, obs, world):
    """The state, each of whose cells has one more number: whether the agent is there."""
    size = world.shape[2]
    for x in range(world.shape[0]):
        for y in range(world.shape[1]):
            at = (x * world.shape[1] + y) * (size + 1)
            for k in range(size + 1):
                obs[at + k] = state.grid[b, x, y, k] > 0 if k < 3 else 0.0
            if x == state.agents[b, i, 0] and y == state.agents[b, i, 1]:
                obs[at + size] = 1.0


@register_jitable
def write_avail(b, i, state, avail, world):
    """Where no wall is, one may go; without prey beside it, an agent cannot catch; a frozen one can only stay."""
    rules, grid = world.rules[0], state.grid[b]
    x, y, rows, columns = state.agents[b, i, 0], state.agents[b, i, 1], world.shape[0], world.shape[1]
    for a in range(avail.size):
        if not state.free[b, i]:
            avail[a] = a == STAY
        else:
            row, column = x + world.moves[a, 0], y + world.moves[a, 1]
            avail[a] = rules.toroidal or (0 <= row < rows and 0 <= column < columns)
    if not rules.capture_action or not state.free[b, i]:
        return
    avail[CATCH] = 0
    for u in range(4):
        if rules.directed_observations and u != state.facing[b, i]:
            continue
        row, column = x + world.moves[u, 0], y + world.moves[u, 1]
        if rules.toroidal:
            row, column = row % rows, column % columns
        row, column = min(max(row, 0), rows - 1), min(max(column, 0), columns - 1)
        if grid[row, column, STAG] > 0 or grid[row, column, HARE] > 0:
            avail[CATCH] = 1


@register_jitable
def write_views(b, state, outputs, world):
    rules, size = world.rules[0], world.shape[2]
    for x in range(world.shape[0]):
        for y in range(world.shape[1]):
            for k in range(3):
                outputs.state[b, (x * world.shape[1] + y) * size + k] = state.grid[b, x, y, k] > 0
    for i in range(state.agents.shape[1]):
        obs = outputs.obs[b, i]
        if rules.capture_freezes and rules.remove_frozen and not state.free[b, i]:
            for k in range(obs.size):
                obs[k] = 0.0
        elif rules.observe_state:
            write_board(b, i, state, obs, world)
        else:
            write_window(b, i, state, obs, world)
        write_avail(b, i, state, outputs.avail_actions[b, i], world)
