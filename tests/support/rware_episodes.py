"""Episodes of rware, for tests/envs/warehouse: recorded by the package, read without it.

    python tests/support/rware_episodes.py    # writes rware_episodes.npz; needs rware 2.0.0

Of each case one episode: its first state, all actions, and what the package made of these.
"""

import json
import zlib
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

FILE = Path(__file__).with_suffix(".npz")
NOOP, FORWARD, LEFT, RIGHT, TOGGLE_LOAD = range(5)
STEPS = {0: (0, -1), 1: (0, 1), 2: (-1, 0), 3: (1, 0)}  # of directions: up, down, left, right
CLOCKWISE = [0, 3, 1, 2]
LAYOUT = """
    ..g....
    .xx.XX.
    .xx.xx.
    G..g...
    .x.xx.x
    .......
"""

# ids, and further arguments of the package's constructor
CASES: list[tuple[str, dict[str, Any]]] = [
    ("rware-tiny-1ag-v2", {}),
    ("rware-tiny-1ag-hard-v2", {}),  # nothing is requested
    ("rware-tiny-2ag-v2", {}),
    ("rware-tiny-2ag-easy-v2", {}),
    ("rware-tiny-3ag-hard-v2", {}),
    ("rware-tiny-4ag-v2", {}),
    ("rware-tiny-4ag-hard-v2", {}),
    ("rware-tiny-6ag-easy-v2", {}),
    ("rware-tiny-8ag-v2", {}),
    ("rware-tiny-19ag-hard-v2", {}),
    ("rware-small-2ag-v2", {}),
    ("rware-small-4ag-v2", {}),
    ("rware-small-4ag-easy-v2", {}),
    ("rware-small-10ag-hard-v2", {}),
    ("rware-small-16ag-v2", {}),
    ("rware-medium-2ag-v2", {}),
    ("rware-medium-6ag-hard-v2", {}),
    ("rware-medium-19ag-easy-v2", {}),
    ("rware-large-4ag-v2", {}),
    ("rware-large-12ag-easy-v2", {}),
    # of the full registration
    ("rware-2s-tiny-8h-4ag-v2", {}),
    ("rware-5s-tiny-8h-2ag-easy-v2", {}),
    ("rware-small-1h-5ag-v2", {}),
    ("rware-3s-large-15h-7ag-hard-v2", {}),
    ("rware-1x3-3h-4ag-5req-global-v2", {}),
    ("rware-2x5-4h-6ag-3req-twostage-v2", {}),
    ("rware-4s-1x9-2h-19ag-19req-indiv-v2", {}),
    ("rware-4x7-1h-9ag-12req-twostage-v2", {}),
    # arguments
    ("rware-tiny-4ag-v2", {"reward_type": "global"}),
    ("rware-tiny-4ag-v2", {"reward_type": "two_stage", "normalised_coordinates": True}),
    ("rware-tiny-5ag-easy-v2", {"msg_bits": 3}),
    ("rware-small-3ag-v2", {"msg_bits": 1, "sensor_range": 2, "normalised_coordinates": True}),
    ("rware-tiny-2ag-v2", {"n_agents": 50, "sensor_range": 0}),
    ("rware-tiny-2ag-v2", {"max_inactivity_steps": 40}),
    ("rware-tiny-2ag-v2", {"max_steps": 30, "n_agents": 3}),
    ("rware-tiny-4ag-v2", {"layout": LAYOUT, "request_queue_size": 6}),
]


class Recorded(NamedTuple):
    key: str
    words: dict[str, Any]
    agents: np.ndarray  # [n, 3] int16: x, y, direction at the start
    actions: np.ndarray  # [T, n] uint8; with messages: action + 5 * message, the first bit the lowest
    rewards: np.ndarray  # [T, n] float16
    ended: np.ndarray  # [T] bool
    checksums: np.ndarray  # [T + 1] uint32, CRC-32 of all agents' observations, also the first
    requests: np.ndarray  # [Q] int16: the shelves, from 0, that are requested at the start
    draws: np.ndarray  # [D, 2] int16: step of a delivery, and the shelf that is requested instead


def read() -> list[Recorded]:
    with np.load(FILE) as file:
        cases = json.loads(str(file["cases"]))
        return [
            Recorded(key, words, *(file[f"{k}.{name}"] for name in Recorded._fields[2:]))
            for k, (key, words) in enumerate(cases)
        ]


class Draws:
    """The random numbers of a game, whose draws of new requests are kept."""

    def __init__(self, numbers: np.random.Generator):
        self.numbers, self.shelves = numbers, []

    def choice(self, candidates: list) -> Any:
        shelf = self.numbers.choice(candidates)
        self.shelves.append(shelf.id - 1)
        return shelf


def made(key: str, words: dict[str, Any]) -> Any:
    """The package's game. Registering its more than a million ids would take minutes: what they say is read here."""
    from rware.warehouse import RewardType, Warehouse

    parts = key.removeprefix("rware-").removesuffix("-v2").split("-")
    said = {"msg_bits": 0, "sensor_range": 1, "max_inactivity_steps": None, "max_steps": 500, "column_height": 8}
    said["reward_type"] = RewardType.INDIVIDUAL
    per_agent = 1.0
    for part in parts:
        if part in SIZES:
            said["shelf_rows"], said["shelf_columns"] = SIZES[part]
        elif part in ("easy", "hard"):
            per_agent = {"easy": 2, "hard": 0.5}[part]
        elif part in REWARDS:
            said["reward_type"] = RewardType[REWARDS[part]]
        elif "x" in part:
            said["shelf_rows"], said["shelf_columns"] = map(int, part.split("x"))
        else:
            unit = part.lstrip("0123456789")
            said[UNITS[unit]] = int(part.removesuffix(unit))
    said.setdefault("request_queue_size", int(said["n_agents"] * per_agent))
    words = dict(words)
    if "reward_type" in words:
        words["reward_type"] = RewardType[words["reward_type"].upper()]
    return Warehouse(**{**said, **words})


SIZES = {"tiny": (1, 3), "small": (2, 3), "medium": (2, 5), "large": (3, 5)}
REWARDS = {"indiv": "INDIVIDUAL", "global": "GLOBAL", "twostage": "TWO_STAGE"}
UNITS = {"s": "sensor_range", "h": "column_height", "ag": "n_agents", "req": "request_queue_size"}


def way(env: Any, agent: Any, ends: set[tuple[int, int]]) -> int:
    """The first action of a shortest way to one of the cells, other agents left out."""
    height, width = env.grid_size
    distance, queue = dict.fromkeys(ends, 0), deque(ends)
    while queue:
        x, y = queue.popleft()
        for dx, dy in STEPS.values():
            cell = x + dx, y + dy
            if cell in distance or not (0 <= cell[0] < width and 0 <= cell[1] < height):
                continue
            if agent.carrying_shelf and env.grid[1, cell[1], cell[0]] and cell != (agent.x, agent.y):
                continue
            distance[cell] = distance[x, y] + 1
            queue.append(cell)
    here = distance.get((agent.x, agent.y))
    for direction, (dx, dy) in STEPS.items():
        if here is not None and distance.get((agent.x + dx, agent.y + dy)) == here - 1:
            turns = (CLOCKWISE.index(direction) - CLOCKWISE.index(agent.dir.value)) % 4
            return {0: FORWARD, 3: LEFT}.get(turns, RIGHT)
    return NOOP


def chosen(env: Any, rng: np.random.Generator) -> Iterable[int]:
    """Half random, half a plan that brings shelves to goals and back: random play alone seldom delivers."""
    carried = {id(agent.carrying_shelf) for agent in env.agents}
    for agent in env.agents:
        if rng.random() < 0.35:
            yield int(rng.choice(5, p=[0.1, 0.5, 0.17, 0.17, 0.06]))
            continue
        if agent.carrying_shelf is None:
            ends = {(shelf.x, shelf.y) for shelf in env.request_queue if id(shelf) not in carried}
        elif agent.carrying_shelf in env.request_queue:
            ends = {*env.goals}
        else:
            free = (env.highways == 0) & (env.grid[1] == 0)
            free[agent.y, agent.x] |= env.highways[agent.y, agent.x] == 0
            ends = {(int(x), int(y)) for y, x in np.argwhere(free)}
        ends = {(int(x), int(y)) for x, y in ends}
        yield TOGGLE_LOAD if (agent.x, agent.y) in ends else way(env, agent, ends)


def record(key: str, words: dict[str, Any], seed: int) -> Recorded:
    env, rng = made(key, words), np.random.default_rng(seed)
    obs, _ = env.reset(seed=seed)
    agents = [(agent.x, agent.y, agent.dir.value) for agent in env.agents]
    requests = [shelf.id - 1 for shelf in env.request_queue]
    env.np_random = draws = Draws(env.np_random)
    actions, rewards, ended, sums, steps = [], [], [], [checksum(obs)], []
    while not any(ended):
        plan, messages = list(chosen(env, rng)), rng.integers(2, size=(env.n_agents, env.msg_bits))
        given = [[action, *bits] for action, bits in zip(plan, messages, strict=True)] if env.msg_bits else plan
        obs, reward, over, _, _ = env.step(given)
        actions.append(np.array(plan) + 5 * (messages << np.arange(env.msg_bits)).sum(axis=1))
        rewards.append(reward)
        ended.append(over)
        sums.append(checksum(obs))
        steps += [len(actions) - 1] * (len(draws.shelves) - len(steps))
    starts, played = np.array(agents, np.int16), np.array(actions, np.uint8)
    ends = np.array(rewards, np.float16), np.array(ended), np.array(sums, np.uint32)
    drawn = np.array([steps, draws.shelves], np.int16).T
    return Recorded(key, words, starts, played, *ends, np.array(requests, np.int16), drawn)


def checksum(obs: Any) -> int:
    return zlib.crc32(np.ascontiguousarray(obs, np.float32).tobytes())


def main() -> None:
    arrays = {"cases": np.array(json.dumps(CASES))}
    for k, (key, words) in enumerate(CASES):
        one = record(key, words, seed=k)
        arrays |= {f"{k}.{name}": getattr(one, name) for name in Recorded._fields[2:]}
        print(f"{key} {words or ''}: {len(one.ended)} steps, {len(one.draws)} deliveries", flush=True)
    np.savez_compressed(FILE, **arrays)
    print(f"{FILE}: {FILE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
