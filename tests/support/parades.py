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
    """Three agents of unequal sizes. "b" dies in step 2; "c" leaves it to its info what it can do.

    Args:
        end: how the others end, in step `cut`: "terminate" or "truncate".
        stays: who has ended stays among the `agents`, is shown on and has to act.
        with_state: it has a `state()`; if it is "shrinking", of fewer numbers from step 1 on.
        odd: from step 2 on, what agents see and can do: "beyond" bounds, an "unknown" choice, a "short" vector, no
            "mask", "zeros" or a "wide" one.
    """

    def __init__(self, end="terminate", cut=4, continuous=False, with_state=False, stays=False, odd=""):
        self.end, self.cut, self.continuous, self.stays, self.odd = end, cut, continuous, stays, odd
        self.possible_agents = ["a", "b", "c"]
        if with_state:
            self.state = lambda: np.array([self.t, 42.0][: 1 if self.t and with_state == "shrinking" else 2])

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
        if self.t >= 2:
            obs["a"]["observation"] += 9 * (self.odd == "beyond")
            obs["b"] += 9 * (self.odd == "unknown")
            obs["c"] = obs["c"][: 0 if self.odd == "short" else 1]
            masks = {"mask": {}, "zeros": {"action_mask": np.zeros(3)}, "wide": {"action_mask": np.ones(4)}}
            infos["c"] = masks.get(self.odd, infos["c"])
        return {a: obs[a] for a in agents}, {a: infos[a] for a in agents}

    def reset(self, seed=None, options=None):
        self.seed, self.t, self.agents, self.given = seed, 0, list(self.possible_agents), []
        return self._seen(self.agents)

    def step(self, actions):
        self.given.append(actions)
        self.t += 1
        if self.stays:
            assert sorted(actions) == sorted(self.agents), "who is listed is asked"
        acted = list(self.agents)
        obs, infos = self._seen(acted)
        over = self.t >= self.cut
        dead = {a: self.t == 2 if a == "b" else over and self.end == "terminate" for a in acted}
        cut = {a: over and self.end == "truncate" and not dead[a] and a != "b" for a in acted}
        if not self.stays:
            self.agents = [a for a in acted if not (dead[a] or cut[a])]
        return obs, {a: {"a": 1.0, "b": 10.0, "c": 100.0}[a] * self.t for a in acted}, dead, cut, infos

    def close(self):
        pass
