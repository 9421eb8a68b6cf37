"""Record play of Overcooked-AI, with a Python that has overcooked-ai 1.1.0 and a NumPy below 2:

python tests/support/record_overcooked.py tests/envs/overcooked/episodes.npz NAME...

Named layouts are left out. For corridor, centre_objects, centre_pots and you_shall_not_pass the package takes minutes.

It plays all its layouts for two cooks who begin where the layout says, with half a plan: cooks fetch, cook and serve,
put things on counters now and then, and err.
"""

import ast
import json
import sys
import warnings
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np

STEPS = 300
LEFT_OUT = (
    "multiplayer_schelling",
    "cramped_room_single",
    "tutorial_1",
    "tutorial_3",
)  # other numbers of cooks, starts
MOVES = ((0, -1), (0, 1), (1, 0), (-1, 0))


def step_towards(grid: list[list[str]], place: tuple, facing: int, goals: set[tuple]) -> int:
    """The first action on a shortest way to face one of the cells; 5: it is faced; 4: none can be reached."""
    begun, waiting = {(place, facing)}, deque([(place, facing, None)])
    while waiting:
        (x, y), direction, first = waiting.popleft()
        if (x + MOVES[direction][0], y + MOVES[direction][1]) in goals:
            return 5 if first is None else first
        for action, (dx, dy) in enumerate(MOVES):
            cell = (x + dx, y + dy)
            after = (cell if grid[y + dy][x + dx] == " " else (x, y), action)
            if after not in begun:
                begun.add(after)
                waiting.append((*after, action if first is None else first))
    return 4


class Plan:
    """What a cook wants: a kind of cell, until it has used one."""

    def __init__(self, rng: np.random.Generator, grid: list[list[str]]):
        self.rng, self.grid, self.wants = rng, grid, [""] * 2

    def act(self, state: Any, i: int) -> int:
        cook = state.players[i]
        held = cook.held_object.name if cook.has_object() else ""
        if not self.wants[i]:
            soups = [soup for soup in state.all_objects_list if soup.name == "soup"]
            full = any(soup.is_idle and len(soup.ingredients) == 3 for soup in soups)
            cooked = any(not soup.is_idle for soup in soups)
            without = "OOTX" + full * "PPPPPP" + (3 * "D" if cooked else "") + (self.rng.random() < 0.1) * "PD"
            likely = {"": without, "onion": "PPPPX", "tomato": "PPPPX", "dish": "PPPPX", "soup": "SSSSSSX"}[held]
            self.wants[i] = str(self.rng.choice(list(likely)))
        cells = {(x, y) for y, row in enumerate(self.grid) for x, c in enumerate(row) if c == self.wants[i]}
        action = step_towards(self.grid, cook.position, MOVES.index(cook.orientation), cells)
        if action >= 4 or self.rng.random() < 0.05:
            self.wants[i] = ""
        return action if self.rng.random() < 0.9 else int(self.rng.integers(6))


def recorded(name: str, rng: np.random.Generator) -> dict[str, np.ndarray]:
    from overcooked_ai_py.mdp.actions import Action  # type: ignore[import-not-found]
    from overcooked_ai_py.mdp.overcooked_env import OvercookedEnv  # type: ignore[import-not-found]
    from overcooked_ai_py.mdp.overcooked_mdp import OvercookedGridworld  # type: ignore[import-not-found]

    mdp = OvercookedGridworld.from_layout_name(name)
    env = OvercookedEnv.from_mdp(mdp, horizon=STEPS, info_level=0)
    env.reset()
    plan = Plan(rng, mdp.terrain_mtx)
    seen, played = [mdp.featurize_state(env.state, env.mlam)], []
    for _ in range(STEPS):
        actions = [plan.act(env.state, i) for i in (0, 1)]
        state, _, done, info = env.step(tuple(Action.ALL_ACTIONS[action] for action in actions))
        seen.append(mdp.featurize_state(state, env.mlam))
        played.append((actions, info["sparse_r_by_agent"], info["shaped_r_by_agent"], done))
    actions, sparse, shaped, ended = (np.array(column) for column in zip(*played, strict=True))
    obs = np.array(seen)
    assert (obs == obs.astype(np.int8)).all()
    return {
        "actions": actions.astype(np.int8),
        "sparse": sparse.astype(np.int16),
        "shaped": shaped.astype(np.int8),
        "ended": ended,
        "obs": obs.astype(np.int8),
    }


def main() -> None:
    import overcooked_ai_py  # type: ignore[import-not-found]

    warnings.simplefilter("ignore")
    rng, arrays, layouts = np.random.default_rng(0), {}, {}
    for path in sorted((Path(overcooked_ai_py.__file__).parent / "data" / "layouts").glob("*.layout")):
        if path.stem in LEFT_OUT:
            continue
        said = ast.literal_eval(path.read_text().strip())
        if path.stem in sys.argv[2:] or len(said["grid"]) > 500:
            continue
        columns = recorded(path.stem, rng)
        layouts[path.stem] = {key: value for key, value in said.items() if value is not None}
        arrays |= {f"{path.stem}/{column}": values for column, values in columns.items()}
        soups, steps = (columns["sparse"] > 0).sum(), columns["shaped"].sum()
        print(f"{path.stem}: {soups} soups, {columns['sparse'].sum()} paid, {steps} for steps", flush=True)
        np.savez_compressed(sys.argv[1], layouts=json.dumps(layouts), **arrays)


if __name__ == "__main__":
    main()
