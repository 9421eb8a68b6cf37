"""A point on a line that is pushed to the middle: one agent with a continuous action, without any package.

A plugin: it registers itself as `point`.
"""

import numpy as np

from envs import REGISTRY
from envs.contract.fields import AGENTS, FieldSpec


class PointEnv:
    """The reward is minus the squared distance; `time_limit` steps."""

    def __init__(self, time_limit=5, seed=None):
        self.groups = {AGENTS: 1}
        self.episode_limit, self._rng = time_limit, np.random.default_rng(seed)
        self._seen, self._t = np.zeros(2, dtype=np.float32), 0

    def fields(self):
        return {
            "obs": FieldSpec("observation", (2,)),
            "state": FieldSpec("observation", (2,), group=None),
            "actions": FieldSpec("action", (1,), low=-1.0, high=1.0),
            "reward": FieldSpec("outcome", group=None),
        }

    def reset(self):
        self._seen, self._t = self._rng.uniform(-1, 1, 2).astype(np.float32), 0

    def observe(self):
        return {"obs": self._seen[None].copy(), "state": self._seen.copy()}

    def step(self, actions):
        place, speed = self._seen
        speed = 0.9 * speed + 0.1 * float(actions["actions"][0, 0])
        self._seen, self._t = np.array([place + speed, speed], dtype=np.float32), self._t + 1
        return {"reward": np.float32(-(place**2))}, False, self._t == self.episode_limit, {}

    def close(self):
        pass


REGISTRY.declare("point", PointEnv, "a continuous action, for benchmarks")
