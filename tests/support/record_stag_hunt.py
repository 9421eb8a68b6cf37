"""Record episodes of PyMARL2's stag hunt, with a Python that has torch:

python tests/support/record_stag_hunt.py FOLDER tests/envs/stag_hunt/episodes.npz [SEED]

FOLDER has a checkout of PyMARL2. It plays by its own rules and with random numbers of ours in place of NumPy's, which
are recorded, too: a row for each beginning and each step, in the slots of the compiled game.
"""

import json
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np

GOALS = ((0, 1), (1, 0), (0, -1), (-1, 0))
SMALL = {"world_shape": [5, 5], "n_agents": 4, "n_stags": 3, "n_hare": 2, "episode_limit": 30}
COLLISIONS = {"reward_collision": -0.5, "reward_time": -0.1, "miscapture_punishment": -2}
GHOSTS = {"random_ghosts": True, "random_ghosts_prob": 0.7, "random_ghosts_mul": -3}
SURROUNDED = {"capture_action": False, "capture_conditions": [1, 2], "agent_obs": [1, 1]}
DIRECTED = {"directed_observations": True, "observe_walls": True}
# name -> what differs from PyMARL2's stag_hunt.yaml
GAMES: dict[str, dict[str, Any]] = {
    "as it is": {"episode_limit": 60},
    "punished": {"miscapture_punishment": -2, "reward_time": -0.1, "n_hare": 3, "n_stags": 5, "episode_limit": 40},
    "frozen stay": {**SMALL, **COLLISIONS, "remove_frozen": False},
    "nobody freezes": {**SMALL, **COLLISIONS, "capture_freezes": False, "p_stags_rest": 0.4, "p_hare_rest": 0.8},
    "first catch": {**SMALL, "capture_terminal": True},
    "surrounded": {**SMALL, **SURROUNDED},
    "surrounded, by prey": {**SMALL, **SURROUNDED, "prevent_cannibalism": False, "remove_frozen": False},
    "toroidal": {**SMALL, **COLLISIONS, "toroidal": True, "world_shape": [4, 6], "agent_obs": [1, 1]},
    "cells are shared": {
        **SMALL,
        **COLLISIONS,
        "agent_move_block": [],
        "world_shape": [4, 4],
        "p_stags_rest": 0.5,
        "p_hare_rest": 0.5,
        "mountain_slope": 0.7,
    },
    "among agents": {**SMALL, "agent_move_block": [0], "capture_action": False, "capture_conditions": [0, 0]},
    "walls": {**SMALL, "observe_walls": True, "agent_obs": [1, 1]},
    "walls, one-hot": {**SMALL, "observe_walls": True, "observe_one_hot": True, "observe_ids": True},
    "ids": {**SMALL, "observe_ids": True, "intersection_unknown": True, "truncate_episodes": False},
    "the whole grid": {**SMALL, "observe_state": True, **GHOSTS},
    "ghosts": {**SMALL, **GHOSTS, "random_ghosts_indicator": True, "observe_one_hot": True},
    "mountain": {**SMALL, "mountain_slope": 0.5, "mountain_spawn": True, "mountain_agent_row": 2, "p_hare_rest": 0.2},
    "cones": {**SMALL, **DIRECTED},
    "wide cones": {**SMALL, **DIRECTED, "directed_cone_narrow": False, "capture_action": False},
    "cones by moves": {**SMALL, **DIRECTED, "directed_exta_actions": False, "agent_obs": [1, 1], **GHOSTS},
}


class Given:
    """Stands for NumPy's and Python's functions: looks up their numbers in `chance`, by who asks for them."""

    def __init__(self, rng: np.random.Generator):
        self.rng, self.env = rng, None  # type: tuple[np.random.Generator, Any]

    def begin(self, size: int) -> None:
        self.chance = self.rng.integers(2**16, size=size) / 2**16
        self.placed, self.phase, self.moved = 0, 0, -1

    def permutation(self, n: int) -> list[int]:
        env = self.env
        chance = self.chance[2 * env.n_agents * (self.phase == 1) :]
        self.phase += 1
        order = list(range(n))
        for k in range(n - 1):
            i = n - 1 - k
            j = int(chance[k] * (i + 1))
            order[i], order[j] = order[j], order[i]
        return order

    def rand(self) -> float:
        n, m, asks = self.env.n_agents, self.env.n_prey, sys._getframe(1).f_locals
        if self.phase == 1:
            return self.chance[n + asks["a"]]
        p = asks["p"]
        return self.chance[2 * n + (3 if self.moved == p else 1) * m + p]

    def randint(self, most: int) -> int:
        n, m, asks = self.env.n_agents, self.env.n_prey, sys._getframe(1).f_locals
        if "possible" in asks:
            self.moved = asks["p"]
            return int(self.chance[2 * n + 2 * m + self.moved] * most)
        free = [tuple(cell) for cell in np.argwhere(self.env.grid[0].sum(-1) == 0).tolist()]
        free = [cell for cell in free if asks["row"] is None or cell[0] == asks["row"]]
        cell = free[int(self.chance[self.placed] * len(free))]
        is_row = asks["row"] is None and self.moved != self.placed
        self.moved = self.placed if is_row else -1
        self.placed += not is_row
        return cell[0] if is_row else cell[1]

    def random_integers(self, low: int, high: int, size: tuple[int, int]) -> np.ndarray:
        first = self.env.n_agents + self.env.n_prey
        return (self.chance[first : first + size[0]] * (high - low + 1)).astype(int).reshape(size)

    def corner(self, low: int, high: int) -> int:
        return int(self.chance[2 * self.env.n_agents + self.env.n_prey] * (high + 1))

    def random(self) -> float:
        return self.chance[2 * self.env.n_agents + 4 * self.env.n_prey]


def towards(rng: np.random.Generator, env: Any, i: int, legal: np.ndarray) -> int:
    """Often catch, often go to the nearest prey, else anything legal."""
    alive = [env.prey[p, 0] for p in range(env.n_prey) if env.prey_alive[p, 0]]
    if len(legal) > 5 and legal[5] and rng.random() < 0.6:
        return 5
    away = min((place - env.agents[i, 0] for place in alive), key=lambda way: abs(way).sum())
    ways = [u for u in range(4) if legal[u] and np.dot(GOALS[u], away) > 0]
    if ways and rng.random() < 0.6:
        return int(rng.choice(ways))
    return int(rng.choice(np.flatnonzero(legal)))


def recorded(env: Any, given: Given, rng: np.random.Generator, episodes: int) -> dict[str, np.ndarray]:
    """Rows of beginnings and steps: what was drawn and done, and what was seen."""
    rows, given.env, size = [], env, 2 * env.n_agents + 4 * env.n_prey + 1

    def seen() -> tuple[Any, ...]:
        return np.array(env.get_obs()), np.array(env.get_state()), np.array(env.get_avail_actions())

    for _ in range(episodes):
        given.begin(size)
        if env.random_ghosts:
            ghosts = given.chance[2 * env.n_agents + env.n_prey + 1]
            env.ghost_indicator = not ghosts < env.random_ghosts_prob
        env.reset()
        rows.append((True, given.chance, np.zeros(env.n_agents), 0.0, False, False, *seen()))
        ended = False
        while not ended:
            avail = rows[-1][-1]
            actions = [towards(rng, env, i, avail[i]) for i in range(env.n_agents)]
            given.begin(size)
            reward, ended, info = env.step(actions)
            rows.append((False, given.chance, actions, reward, bool(ended), bool(info["episode_limit"]), *seen()))
    names = ("begins", "chance", "actions", "rewards", "ended", "limit", "obs", "state", "avail")
    arrays = {name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    arrays["chance"] = (arrays["chance"] * 2**16).astype(np.uint16)
    for name in ("actions", "obs", "state", "avail"):
        small = arrays[name].astype(np.int8)
        assert (small == arrays[name]).all(), name
        arrays[name] = small
    return arrays


if __name__ == "__main__":
    folder, target = Path(sys.argv[1]), Path(sys.argv[2])
    rng = np.random.default_rng(int(sys.argv[3]) if len(sys.argv) > 3 else 0)
    sys.modules["pygame"] = types.ModuleType("pygame")
    package = sys.modules["envs"] = types.ModuleType("envs")  # whose own __init__ imports StarCraft
    package.__path__ = [str(folder / "src" / "envs")]
    sys.path.insert(0, str(folder / "src"))
    import random

    import yaml

    from envs.stag_hunt import stag_hunt

    given, arrays = Given(rng), {}
    for name in ("permutation", "rand", "randint", "random_integers"):
        setattr(np.random, name, getattr(given, name))
    random.randint, random.random = given.corner, given.random
    defaults = yaml.safe_load((folder / "src" / "config" / "envs" / "stag_hunt.yaml").read_text())["env_args"]
    given.begin(10000)
    for name, changes in GAMES.items():

        class Played(stag_hunt.StagHunt):
            def reset(self) -> Any:
                """The constructor's is with numbers that nobody keeps."""
                if given.env is not self:
                    given.env = self
                    given.begin(10000)
                return super().reset()

        columns = recorded(Played(**{**defaults, **changes}), given, rng, 4)
        arrays |= {f"{name}/{column}": values for column, values in columns.items()}
        arrays[f"{name}/options"] = np.array(json.dumps(changes))
        rewards, ended, late = columns["rewards"], columns["ended"], columns["limit"]
        print(f"{name}: {len(ended)} rows, {(ended & ~late).sum()} of 4 ends before time is up, rewards {set(rewards)}")
    np.savez_compressed(target, **arrays)
