"""Record episodes of PyMARLzoo+'s PressurePlate, Capture Target and Box Pushing, with a Python that has gymnasium:

python tests/support/record_grids.py FOLDER tests/envs/grids/episodes.npz

FOLDER has the package, `pymarlzooplus/`. It plays with its own rules and with random numbers of ours in place of its
generators', which are recorded, too: a row for each beginning and each step, in the slots of the compiled games.
"""

import importlib
import itertools
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

PLATES = "envs.pressureplate_ai.pressureplate.environment"
TARGETS = "envs.capture_target.src.capture_target_ai_py.environment"
BOXES = "envs.box_pushing.src.box_pushing_ai_py.environment"
STARTS = {0: (0, 0, 2, 3, 2, 2), 3: (0, 0, 3, 2, 2, 2), 1: (0, 2, 0, 7, 1, 1)}  # of boxes' pushers: headings, xs, ys
HEIGHTS = {4: 15, 5: 19, 6: 23}


class Given:
    """Stands for NumPy's generators; what each method drew is in `drawn`."""

    def __init__(self, rng: np.random.Generator):
        self.rng, self.drawn = rng, {}  # type: tuple[np.random.Generator, dict[str, list[float]]]

    def number(self, kind: str) -> float:
        self.drawn.setdefault(kind, []).append(float(self.rng.integers(2**16)) / 2**16)  # exact in 32 bits
        return self.drawn[kind][-1]

    def integers(self, n: int, size: int | None = None) -> Any:
        value = int(self.number("integers") * n)
        return value if size is None else np.array([value])

    def random(self, size: int) -> np.ndarray:
        return np.array([self.number("random") for _ in range(size)])

    def choice(self, among: Any, size: int | None = None, p: Any = None) -> Any:
        if p is not None:
            return int(np.searchsorted(np.cumsum(p)[:-1], self.number("slip"), side="right"))
        return np.array([among[int(self.number("integers") * len(among))]])

    def randint(self, n: int, size: int) -> np.ndarray:
        return np.array([int(self.number("randint") * n) for _ in range(size)])

    def shuffle(self, items: list) -> None:
        for i in range(len(items) - 1, 0, -1):
            j = int(self.number("shuffle") * (i + 1))
            items[i], items[j] = items[j], items[i]


def recorded(
    env: Any, given: Given, slots: Callable, act: Callable, episodes: int, limit: int
) -> dict[str, np.ndarray]:
    """Rows of beginnings and steps: what was drawn and done, and what was seen."""
    rows = []
    for _ in range(episodes):
        given.drawn = {}
        seen, ended = env.reset()[0], False
        none = np.zeros(len(seen))
        rows.append((True, slots(True, given.drawn), none, none, False, seen))
        for _ in range(limit):
            actions, given.drawn = act(env), {}
            seen, rewards, ended, *_ = env.step(actions)
            ended = bool(np.all(ended))
            rows.append((False, slots(False, given.drawn), actions, rewards, ended, seen))
            if ended:
                break
    names = ("begins", "chance", "actions", "rewards", "ended", "obs")
    arrays = {name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    arrays["chance"] = (arrays["chance"] * 2**16).astype(np.uint16)
    arrays["actions"] = arrays["actions"].astype(np.int8)
    if (arrays["obs"] == arrays["obs"].astype(np.int8)).all():
        arrays["obs"] = arrays["obs"].astype(np.int8)
    return arrays


def pressure_plates(module: Any, rng: np.random.Generator) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    for n, height in HEIGHTS.items():
        env = module.PressurePlate(height, 9, n, 4, "linear")
        env.np_random = given = Given(rng)

        def act(env: Any) -> list[int]:
            goals = [*((plate.x, plate.y) for plate in env.plates), (env.goal.x, env.goal.y)]
            ways = [_step(env, (one.x, one.y), goal) for goal, one in zip(goals, env.agents, strict=True)]
            return [int(rng.integers(5)) if rng.random() < (0.2 if way < 4 else 0.02) else way for way in ways]

        def slots(begins: bool, drawn: dict, n: int = n) -> list[float]:
            return drawn.get("shuffle", [0.0] * (n - 1))

        yield f"pressureplate-linear-{n}p-v0", _from_the_identity(env, given, slots, act)


def _step(env: Any, place: tuple[int, int], goal: tuple[int, int]) -> int:
    """The first one on a shortest way through doors."""
    walls, height = {(wall.x, wall.y) for wall in env.walls}, env.grid_size[0]
    steps, waiting = {goal: 4}, [goal]
    for x, y in waiting:
        for action, (dx, dy) in enumerate(((0, 1), (0, -1), (1, 0), (-1, 0))):
            cell = (x + dx, y + dy)
            if cell not in steps and cell not in walls and 0 <= cell[0] < 9 and 0 <= cell[1] < height:
                steps[cell] = action
                waiting.append(cell)
    return steps[place]


def _towards(rng: np.random.Generator, dx: int, dy: int) -> int:
    ways = [0] * int(dy > 0) + [1] * int(dy < 0) + [2] * int(dx < 0) + [3] * int(dx > 0)
    return int(rng.integers(5)) if rng.random() < 0.3 else int(rng.choice(ways or [4]))


def _from_the_identity(env: Any, given: Given, slots: Callable, act: Callable) -> dict[str, np.ndarray]:
    """Before each episode but the first the order is the identity, shuffled once, as the compiled game has it."""
    begin, begun = env.reset, []

    def reset() -> Any:
        env.agent_order = list(range(env.n_agents))
        if begun:
            given.shuffle(env.agent_order)
        begun.append(True)
        return begin()

    env.reset = reset
    return recorded(env, given, slots, act, 5, 300)


def capture_targets(module: Any, rng: np.random.Generator) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    for one_hot, avoids in itertools.product((False, True), repeat=2):
        for flick, target_noise, noise in ((0.3, 0.0, 0.1), (0.0, 0.4, 0.0), (1.0, 0.0, 0.5)):
            env = module.CaptureTarget(1, 2, [6, 6], 60, False, flick, one_hot, avoids, target_noise, noise)
            env.np_random = given = Given(rng)
            module.np.random.choice = given.choice

            def slots(begins: bool, drawn: dict) -> list[float]:
                if begins:
                    tx, ty, *agents = drawn["integers"]
                    return [*agents, tx, ty, *drawn["random"]]
                slips = [*drawn["slip"], 0.0]
                return [*slips[:3], *drawn.get("integers", [0.0]), 0.0, 0.0, *drawn["random"]]

            def act(env: Any) -> list[int]:
                tx, ty = env.target_positions[0]
                return [_towards(rng, tx - x, ty - y) for x, y in env.agent_positions]

            name = f"CaptureTarget {int(one_hot)} {int(avoids)} {flick} {target_noise} {noise}"
            yield name, recorded(env, given, slots, act, 12, 60)


class BelowBoxes(Given):
    """In some episodes both agents begin below the big box, or one below a small one, and face up."""

    def __init__(self, rng: np.random.Generator):
        super().__init__(rng)
        self.count = itertools.count()

    def number(self, kind: str) -> float:
        drawn = super().number(kind)
        episode, place = divmod(next(self.count), 6)
        if episode % 6 in STARTS:
            drawn = (STARTS[episode % 6][place] + 0.5) / (4, 4, 8, 8, 3, 3)[place]
            drawn = int(drawn * 2**16) / 2**16
            self.drawn[kind][-1] = drawn
        return drawn


def box_pushings(module: Any, rng: np.random.Generator) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    for random_init in (True, False):
        given = BelowBoxes(rng)
        module.np.random.randint = given.randint
        env = module.BoxPushing(2, [6, 6], 60, random_init)

        def act(env: Any) -> list[int]:
            if env.count_step == 0 and rng.random() < 0.5:
                env.steady = True
            steady = getattr(env, "steady", False) and env.count_step < 8
            if env.count_step >= 8:
                env.steady = False
            return [0, 0] if steady else [int(a) for a in rng.choice(4, size=2, p=[0.6, 0.15, 0.15, 0.1])]

        def slots(begins: bool, drawn: dict) -> list[float]:
            return drawn.get("randint", [0.0] * 6)

        yield f"BoxPushing {int(random_init)}", recorded(env, given, slots, act, 60, 60)


if __name__ == "__main__":
    folder, target = Path(sys.argv[1]), Path(sys.argv[2])
    for name in ("pymarlzooplus", "pymarlzooplus.envs"):  # whose own modules import what these games do not need
        package = sys.modules[name] = types.ModuleType(name)
        package.__path__ = [str(folder / name.replace(".", "/"))]
    arrays, rng = {}, np.random.default_rng(0)
    for path, play in ((PLATES, pressure_plates), (TARGETS, capture_targets), (BOXES, box_pushings)):
        for name, columns in play(importlib.import_module(f"pymarlzooplus.{path}"), rng):
            arrays |= {f"{name}/{column}": values for column, values in columns.items()}
            ended, rewards = columns["ended"], columns["rewards"].sum(axis=1)
            print(f"{name}: {len(ended)} rows, {ended.sum()} ends, rewards {rewards.min():g} to {rewards.max():g}")
    np.savez_compressed(target, **arrays)
