"""A parallel environment of PettingZoo for tests, which does what few do: masks, deaths, early cuts."""

import sys
from types import ModuleType

import numpy as np
from gymnasium import spaces


def install(monkeypatch, parallel_env):
    """Make it the module parades.parade_v0."""
    package, module = ModuleType("parades"), ModuleType("parades.parade_v0")
    package.__path__ = []
    module.parallel_env = parallel_env
    package.parade_v0 = module
    monkeypatch.setitem(sys.modules, "parades", package)
    monkeypatch.setitem(sys.modules, "parades.parade_v0", module)


class Parade:
    """Three agents of unequal sizes. "b" dies in step 2; "c" leaves it to its info what it can do."""

    def __init__(self, end="terminate", cut=4, continuous=False, with_state=False):
        self.end, self.cut, self.continuous = end, cut, continuous
        self.possible_agents = ["a", "b", "c"]
        if with_state:
            self.state = lambda: np.array([self.t, 42.0])

    def observation_space(self, agent):
        if agent == "a":
            mask = spaces.Box(0, 1, (2,), np.int8)
            return spaces.Dict({"observation": spaces.Box(-1, 1, (2, 2)), "action_mask": mask})
        return spaces.Discrete(3) if agent == "b" else spaces.Box(-9, 9, (1,))

    def action_space(self, agent):
        if self.continuous:
            return spaces.Box(-1, 1, (2,))
        return spaces.Discrete({"a": 2, "b": 4, "c": 3}[agent])

    def _seen(self, agents):
        obs = {
            "a": {"observation": np.full((2, 2), 0.5), "action_mask": np.array([0, 1])},
            "b": 1,
            "c": np.array([self.t], dtype=np.float32),
        }
        infos = {"a": {}, "b": {}, "c": {"action_mask": np.array([1, 0, 1])}}
        return {a: obs[a] for a in agents}, {a: infos[a] for a in agents}

    def reset(self, seed=None, options=None):
        self.seed, self.t, self.agents, self.given = seed, 0, list(self.possible_agents), []
        return self._seen(self.agents)

    def step(self, actions):
        self.given.append(actions)
        self.t += 1
        acted = list(self.agents)
        obs, infos = self._seen(acted)
        over = self.t >= self.cut
        dead = {a: (a == "b" and self.t == 2) or (over and self.end == "terminate") for a in acted}
        cut = {a: over and self.end == "truncate" and not dead[a] for a in acted}
        self.agents = [a for a in acted if not (dead[a] or cut[a])]
        return obs, {a: {"a": 1.0, "b": 10.0, "c": 100.0}[a] * self.t for a in acted}, dead, cut, infos

    def close(self):
        pass
