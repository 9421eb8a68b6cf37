"""A user's own environment of two groups with declared fields: cats chase a mouse on a ring of cells."""

import numpy as np

from envs import REGISTRY
from envs.contract.fields import FieldSpec

MOVES = np.array([0, -1, 1])  # of both groups


class Chase:
    """The cats get 1 and the mouse -1 when a cat is on the mouse's cell, which ends the episode; each step before, the
    mouse gets 0.1. Cats see the mouse's distance, the mouse those of all cats."""

    def __init__(self, cells: int = 9, episode_limit: int = 20, seed: int | None = None):
        self.groups = {"cats": 2, "mice": 1}
        self.cells, self.episode_limit = cells, episode_limit
        self.rng = np.random.default_rng(seed)

    def fields(self) -> dict[str, FieldSpec]:
        declared = {}
        for group, seen in (("cats", 1), ("mice", 2)):
            declared[f"{group}/obs"] = FieldSpec("observation", (seen,), group=group)
            declared[f"{group}/avail_actions"] = FieldSpec("mask", (3,), "uint8", group, of=f"{group}/actions")
            declared[f"{group}/actions"] = FieldSpec("action", (), "int64", group, n=3)
            declared[f"{group}/reward"] = FieldSpec("outcome", (), "float64", None)  # one for the team
        return declared | {"state": FieldSpec("observation", (3,), group=None)}

    def reset(self) -> None:
        self.steps = 0
        self.at = self.rng.integers(self.cells, size=3)  # two cats and the mouse
        self.at[2] = (self.at[0] + self.cells // 2) % self.cells

    def observe(self) -> dict[str, np.ndarray]:
        ways = ((self.at[:2] - self.at[2] + self.cells // 2) % self.cells - self.cells // 2) / self.cells
        return {
            "cats/obs": ways[:, None].astype(np.float32),
            "mice/obs": ways[None].astype(np.float32),
            "cats/avail_actions": np.ones((2, 3), np.uint8),
            "mice/avail_actions": np.ones((1, 3), np.uint8),
            "state": (self.at / self.cells).astype(np.float32),
        }

    def step(self, actions: dict[str, np.ndarray]) -> tuple[dict, bool, bool, dict]:
        self.steps += 1
        moves = MOVES[np.concatenate([actions["cats/actions"], actions["mice/actions"]])]
        self.at = (self.at + moves) % self.cells
        caught = bool((self.at[:2] == self.at[2]).any())
        time_up = self.steps >= self.episode_limit and not caught
        rewards = {"cats/reward": float(caught), "mice/reward": -1.0 if caught else 0.1}
        return rewards, caught, time_up, {"caught": caught}


REGISTRY.declare("chase", Chase, "two cats chase a mouse")
