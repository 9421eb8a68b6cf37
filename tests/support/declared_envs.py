"""Small environments that declare their fields: twin groups in a duel, scouts with a picture each, and the convoy."""

import numpy as np

from envs import REGISTRY as environments
from envs.contract.fields import FieldSpec


class Duel:
    """Two groups of two agents that see the same kind of things; the group with the larger sum of actions wins."""

    def __init__(self, episode_limit: int = 3, seed: int | None = None):
        self.groups, self.episode_limit = {"red": 2, "blue": 2}, episode_limit
        self._rng = np.random.default_rng(seed)
        self.reset()

    def fields(self):
        fields = {"state": FieldSpec("observation", (3,), group=None)}
        for group in self.groups:
            fields |= {
                f"{group}/obs": FieldSpec("observation", (2,), group=group),
                f"{group}/avail_actions": FieldSpec("mask", (3,), "uint8", group, of=f"{group}/actions"),
                f"{group}/actions": FieldSpec("action", (), "int64", group, n=3),
                f"{group}/reward": FieldSpec("outcome", (), "float64", None),
            }
        return fields

    def reset(self):
        self.t, self.drawn = 0, self._rng.integers(3, size=2)

    def observe(self):
        seen = {"state": np.array([self.t, *self.drawn], dtype=np.float32)}
        for k, group in enumerate(self.groups):
            seen[f"{group}/obs"] = np.full((2, 2), [self.t, self.drawn[k]], dtype=np.float32)
            seen[f"{group}/avail_actions"] = np.ones((2, 3), dtype=np.uint8)
        return seen

    def step(self, actions):
        sums = [int(actions[f"{group}/actions"].sum()) for group in self.groups]
        self.t, self.drawn = self.t + 1, self._rng.integers(3, size=2)
        rewards = {f"{group}/reward": float(sums[k] - sums[1 - k]) for k, group in enumerate(self.groups)}
        return rewards, False, self.t >= self.episode_limit, {}

    def state_dict(self):
        return {"rng": self._rng.bit_generator.state, "t": self.t, "drawn": self.drawn}

    def load_state_dict(self, state):
        self._rng.bit_generator.state = state["rng"]
        self.t, self.drawn = state["t"], state["drawn"].copy()

    def close(self):
        pass


class Scouts:
    """Three scouts, a reward for each: 1 for the action that the brightest column of its picture shows.

    The second arrives at the second step, the third leaves after it. There is no state, and no reward of the team.
    """

    def __init__(self, seed: int | None = None):
        self.groups, self.episode_limit = {"agents": 3}, 4
        self._rng = np.random.default_rng(seed)
        self.reset()

    def fields(self):
        return {
            "obs/picture": FieldSpec("observation", (2, 3), "uint8"),
            "obs/step": FieldSpec("observation", (1,)),
            "present": FieldSpec("mask", (), "bool"),
            "avail_actions": FieldSpec("mask", (3,), "uint8", of="actions"),
            "actions": FieldSpec("action", (), "int64", n=3),
            "reward": FieldSpec("outcome"),
            "agents/terminated": FieldSpec("outcome", (), "bool"),
        }

    def reset(self):
        self.t, self.bright = 0, self._rng.integers(3, size=3)

    def observe(self):
        pictures = np.zeros((3, 2, 3), dtype=np.uint8)
        pictures[np.arange(3), :, self.bright] = 255
        there = np.array([True, self.t >= 1, self.t < 2])
        legal = np.ones((3, 3), dtype=np.uint8)
        legal[~there, 1:] = 0
        step = np.full((3, 1), self.t, dtype=np.float32)
        return {"obs/picture": pictures, "obs/step": step, "present": there, "avail_actions": legal}

    def step(self, actions):
        rewards = (actions["actions"] == self.bright).astype(np.float32)
        self.t, self.bright = self.t + 1, self._rng.integers(3, size=3)
        leaves = np.array([False, False, self.t == 2])
        return {"reward": rewards, "agents/terminated": leaves}, self.t >= self.episode_limit, False, {}

    def close(self):
        pass


def register() -> None:
    """Bring them into the registry."""
    description, batched = "trucks and drones, for tests", "convoy:ConvoyBatch"
    environments.declare("convoy", "convoy:Convoy", description, light=True, batched=batched)
    environments.declare("duel", "declared_envs:Duel", "for tests", light=True)
    environments.declare("scouts", "declared_envs:Scouts", "for tests", light=True)
