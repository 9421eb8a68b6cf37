"""Many stag hunts in arrays, stepped by one call."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from envs.compiled.kernel import Kernel
from envs.compiled.structs import struct
from envs.compiled.team_simulator import COPY, TeamSimulator, begin_copy, draw_all, end_step
from envs.stag_hunt.options import AGENT, HARE, STAG, Options
from envs.stag_hunt.views import Outputs, World, write_views

_HERE = Path(__file__)
KERNEL = Kernel("stag_hunt", "stag hunt", 15, [_HERE, _HERE.with_name("views.py"), _HERE.with_name("options.py")])
DOWN, UP, CATCH, LOOK = 1, 3, 5, 6
STAGS_CAUGHT, HARES_CAUGHT, MISCAPTURES = range(3)
# right, down, left, up, stay, catch, look right, down, left, up: rows and columns
MOVES = np.array([(0, 1), (1, 0), (0, -1), (-1, 0), *[(0, 0)] * 6])
_TRUTHS = (
    "toroidal capture_action capture_freezes capture_terminal remove_frozen prevent_cannibalism observe_state "
    "observe_walls observe_ids observe_one_hot directed_observations directed_exta_actions mountain_spawn "
    "mountain_agent_row random_ghosts random_ghosts_indicator truncate_episodes as_pymarl2 episode_limit n_stags"
).split()
_NUMBERS = (
    "reward_stag reward_hare miscapture_punishment reward_collision reward_time p_stags_rest p_hare_rest "
    "mountain_slope random_ghosts_prob random_ghosts_mul"
).split()
RULES = struct([(name, "i8") for name in _TRUTHS] + [(name, "f8") for name in _NUMBERS])


class State(NamedTuple):
    """Of each copy. Random numbers are in `chance`: of a beginning, places of agents and prey, directions, the corner
    and the ghosts; of a step, the order of agents, their slips, the order of prey, rests, ways, slips, the ghosts."""

    copies: np.ndarray  # [B] COPY
    agents: np.ndarray  # [B, n, 2] int64, row and column
    free: np.ndarray  # [B, n] int64, whether an agent is not frozen
    facing: np.ndarray  # [B, n] int64, 0 to 3: right, down, left, up
    prey: np.ndarray  # [B, m, 2] int64, stags first
    alive: np.ndarray  # [B, m] int64
    grid: np.ndarray  # [B, rows, columns, 3] int64: agents, stags, hares
    ghosts: np.ndarray  # [B, 3] int64, whether prey are ghosts, and the corner that shows it
    caught: np.ndarray  # [B, 3] int64: stags, hares, failures
    order: np.ndarray  # [B, n + m] int64, in which agents move, and then prey
    chance: np.ndarray  # [B, 2 n + 4 m + 1] float64


@KERNEL.compiled()
def next_cell(x, y, action, world):
    """Where an action leads, whatever is there; on the edge of a world with edges, nowhere."""
    x += world.moves[action, 0]
    y += world.moves[action, 1]
    rows, columns = world.shape[0], world.shape[1]
    if world.rules[0].toroidal:
        return x % rows, y % columns
    return min(max(x, 0), rows - 1), min(max(y, 0), columns - 1)


@KERNEL.compiled()
def occupied(cell, blocks):
    return bool((blocks[0] and cell[0] > 0) or (blocks[1] and cell[1] > 0) or (blocks[2] and cell[2] > 0))


@KERNEL.compiled()
def go(place, x, y, kind, grid, counts):
    """Agents may share a cell, whose mark PyMARL2 clears when the first one leaves; `counts`: it is kept."""
    grid[place[0], place[1], kind] = grid[place[0], place[1], kind] - 1 if counts else 0
    place[0], place[1] = x, y
    grid[x, y, kind] = grid[x, y, kind] + 1 if counts else 1


@KERNEL.compiled()
def place_one(place, kind, row, number, grid):
    """On a free cell of a row (-1: of all rows), where there is one."""
    rows, columns = grid.shape[0], grid.shape[1]
    for attempt in range(2):
        first, last = (0, rows) if row < 0 or attempt == 1 else (row, row + 1)
        count = 0
        for x in range(first, last):
            for y in range(columns):
                count += grid[x, y, 0] + grid[x, y, 1] + grid[x, y, 2] == 0
        left = int(number * count)
        for x in range(first, last):
            for y in range(columns):
                if grid[x, y, 0] + grid[x, y, 1] + grid[x, y, 2] == 0:
                    if left == 0:
                        place[0], place[1] = x, y
                        grid[x, y, kind] = 1
                        return
                    left -= 1


@KERNEL.compiled()
def begin(state, which, outputs, world):
    rules = world.rules[0]
    for b in range(which.size):
        if not which[b]:
            continue
        begin_copy(b, state.copies[b], outputs)
        chance, grid, agents, prey = state.chance[b], state.grid[b], state.agents[b], state.prey[b]
        draw_all(state.copies[b], chance)
        grid[:] = 0
        n, m = agents.shape[0], prey.shape[0]
        for i in range(n):
            place_one(agents[i], AGENT, rules.mountain_agent_row, chance[i], grid)
            state.free[b, i] = 1
            state.facing[b, i] = int(chance[n + m + i] * 4)
        for p in range(m):
            kind = STAG if p < rules.n_stags else HARE
            row = (0 if kind == STAG else grid.shape[0] - 1) if rules.mountain_spawn else -1
            place_one(prey[p], kind, row, chance[n + p], grid)
            state.alive[b, p] = 1
        corner = int(chance[2 * n + m] * 4) if rules.random_ghosts_indicator else 0
        state.ghosts[b, 0] = rules.random_ghosts and are_ghosts(chance[2 * n + m + 1], rules)
        state.ghosts[b, 1] = (corner // 2) * (grid.shape[0] - 1)
        state.ghosts[b, 2] = (corner % 2) * (grid.shape[1] - 1)
        for k in range(3):
            state.caught[b, k] = 0
        write_views(b, state, outputs, world)


@KERNEL.compiled()
def are_ghosts(number, rules):
    """PyMARL2's probability is that of no ghosts."""
    return (number < rules.random_ghosts_prob) != rules.as_pymarl2


@KERNEL.compiled()
def shuffle(order, chance):
    for k in range(order.size):
        order[k] = k
    for k in range(order.size - 1):
        i = order.size - 1 - k
        j = int(chance[k] * (i + 1))
        order[i], order[j] = order[j], order[i]


@KERNEL.compiled()
def move_agent(b, i, action, state, world):
    """Whether it collided: in PyMARL2, with itself, too, where it stays."""
    rules, grid, place = world.rules[0], state.grid[b], state.agents[b, i]
    x, y = next_cell(place[0], place[1], action, world)
    if not rules.as_pymarl2 and x == place[0] and y == place[1]:
        return False
    if occupied(grid[x, y], world.blocks):
        return True
    go(place, x, y, AGENT, grid, not rules.as_pymarl2)
    return False


@KERNEL.compiled()
def beside(one, other, same, world):
    """Whether two places are neighbours (`same`: or one), across joined edges, too, unless as PyMARL2."""
    dx, dy = abs(one[0] - other[0]), abs(one[1] - other[1])
    if world.rules[0].toroidal and not world.rules[0].as_pymarl2:
        dx, dy = min(dx, world.shape[0] - dx), min(dy, world.shape[1] - dy)
    return dx + dy == 1 or (same and dx + dy == 0)


@KERNEL.compiled()
def freeze(b, p, actions, state, world):
    """Agents beside prey p that is caught; with the action catch, those that caught."""
    rules, agents = world.rules[0], state.agents[b]
    for i in range(agents.shape[0]):
        took_part = not rules.capture_action or actions[i] == CATCH
        same = world.n_actions[0] > 5
        if state.free[b, i] and took_part and beside(agents[i], state.prey[b, p], same, world):
            state.free[b, i] = 0
            if rules.remove_frozen:
                x, y = agents[i, 0], agents[i, 1]
                state.grid[b, x, y, AGENT] = 0 if rules.as_pymarl2 else state.grid[b, x, y, AGENT] - 1


@KERNEL.compiled()
def hunt(b, p, actions, state, world):
    """Prey p is caught, or moves. Returns the reward."""
    rules, grid, place = world.rules[0], state.grid[b], state.prey[b, p]
    kind = STAG if p < rules.n_stags else HARE
    n, m = state.agents.shape[1], state.prey.shape[1]
    ways, near, reward = 0, False, 0.0
    for u in range(4):
        x, y = next_cell(place[0], place[1], u, world)
        ways += not occupied(grid[x, y], world.all_kinds)
        near = near or grid[x, y, AGENT] > 0
    if rules.capture_action:
        catching = 0
        for i in range(n):
            if actions[i] == CATCH and state.free[b, i]:
                catching += beside(state.agents[b, i], place, False, world)
        captured = catching >= world.needed[kind]
        if catching > 0 and not captured:
            reward += rules.miscapture_punishment
            state.caught[b, MISCAPTURES] += 1
    else:
        captured = ways <= world.ways_left[kind]
    if captured and (near or not rules.prevent_cannibalism):
        state.alive[b, p] = 0
        grid[place[0], place[1], kind] = 0
        state.caught[b, STAGS_CAUGHT if kind == STAG else HARES_CAUGHT] += 1
        paid = rules.reward_stag if kind == STAG else rules.reward_hare
        reward += paid * (rules.random_ghosts_mul if rules.random_ghosts and state.ghosts[b, 0] else 1.0)
        if rules.capture_freezes:
            freeze(b, p, actions, state, world)
        return reward
    chance, alone = state.chance[b], grid[place[0], place[1], AGENT] == 0
    rest = rules.p_stags_rest if kind == STAG else rules.p_hare_rest
    if ways == 0 or (alone and chance[2 * n + m + p] < rest):
        return reward
    left = int(chance[2 * n + 2 * m + p] * ways)
    for u in range(4):
        x, y = next_cell(place[0], place[1], u, world)
        if occupied(grid[x, y], world.all_kinds):
            continue
        if left == 0:
            slips = alone and chance[2 * n + 3 * m + p] < rules.mountain_slope
            if not (slips and u == (DOWN if kind == STAG else UP)):
                go(place, x, y, kind, grid, False)
            return reward
        left -= 1
    return reward


@KERNEL.compiled()
def step(state, all_actions, outputs, world):
    rules, n, m = world.rules[0], state.agents.shape[1], state.prey.shape[1]
    for b in range(all_actions.shape[0]):
        copy, actions, chance = state.copies[b], all_actions[b], state.chance[b]
        if copy.ended:
            continue
        draw_all(copy, chance)
        reward, before = rules.reward_time, state.caught[b, STAGS_CAUGHT] + state.caught[b, HARES_CAUGHT]
        order = state.order[b]
        shuffle(order[:n], chance[:n])
        for k in range(n):
            i = order[k]
            if not state.free[b, i]:
                continue
            if not (actions[i] == UP and chance[n + i] < rules.mountain_slope):
                reward += rules.reward_collision * move_agent(b, i, actions[i], state, world)
            if rules.directed_observations:
                if not rules.directed_exta_actions and actions[i] < 4:
                    state.facing[b, i] = actions[i]
                elif rules.directed_exta_actions and actions[i] >= LOOK:
                    state.facing[b, i] = actions[i] - LOOK
        shuffle(order[n:], chance[2 * n : 2 * n + m])
        for k in range(m):
            if state.alive[b, order[n + k]]:
                reward += hunt(b, order[n + k], actions, state, world)
        if rules.random_ghosts:
            state.ghosts[b, 0] = are_ghosts(chance[2 * n + 4 * m], rules)
        left, hunters = 0, 0
        for p in range(m):
            left += state.alive[b, p]
        for i in range(n):
            hunters += state.free[b, i]
        caught = state.caught[b, STAGS_CAUGHT] + state.caught[b, HARES_CAUGHT] > before
        over = left == 0 or hunters == 0 or (rules.capture_terminal and caught)
        over = over or (not rules.truncate_episodes and copy.t + 1 >= rules.episode_limit)
        outputs.rewards[b, 0] = reward
        end_step(b, copy, outputs, over, rules.episode_limit)
        write_views(b, state, outputs, world)


class StagHunts(TeamSimulator):
    """B hunts."""

    kernel, plural, functions = KERNEL, "hunts", (begin, step)
    options_class = Options  # type: ignore[assignment]
    options: Options  # type: ignore[assignment]

    def set_up(self) -> None:
        options = self.options
        self.n_agents, self.n_actions = options.n_agents, options.n_actions
        rules = np.zeros(1, RULES)
        for name in (*_TRUTHS, *_NUMBERS):
            rules[name] = getattr(options, name)
        self.world = World.of(options, MOVES, rules)
        self.obs_size = self.world.obs_size(options)
        self.constants = (self.world,)

    def new_state(self, copies: int) -> Any:
        options, n, m = self.options, self.n_agents, self.options.n_prey
        numbers = {
            "agents": (n, 2),
            "free": (n,),
            "facing": (n,),
            "prey": (m, 2),
            "alive": (m,),
            "grid": (options.rows, options.columns, 3),
            "ghosts": (3,),
            "caught": (3,),
            "order": (n + m,),
        }
        arrays = {name: np.zeros((copies, *shape), np.int64) for name, shape in numbers.items()}
        return State(np.zeros(copies, COPY), **arrays, chance=np.zeros((copies, 2 * n + 4 * m + 1)))

    def allocate(self, copies: int) -> tuple[Any, Any]:
        size = self.options.rows * self.options.columns * len(self.options.features)
        outputs = Outputs.allocate(copies, self.n_agents, self.obs_size, size, self.n_actions)
        return self.new_state(copies), outputs
