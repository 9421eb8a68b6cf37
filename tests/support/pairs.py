"""Games of several agents for tests, as users write them: of Gymnasium, with spaces in tuples, and in turns."""

import gymnasium
import numpy as np
from gymnasium import spaces


class Pair(gymnasium.Env):
    """Two unequal agents; agent i that does a is paid (i + 1) * a.

    Args:
        ends: "each": rewards and ends are lists; "all": one for both.
        over: the step in which it terminates; the second agent one step before, if ends are its own.
        masked: agent 0 may not do 0; "once" only at first.
    """

    def __init__(self, ends="each", over=3, masked=""):
        self.ends, self.over, self.masked = ends, over, masked
        self.observation_space = spaces.Tuple([spaces.Box(-9, 9, (2,)), spaces.Discrete(3)])
        self.action_space = spaces.Tuple([spaces.Discrete(2), spaces.Discrete(3)])

    def _info(self):
        info = {"steps": self.t, "name": "pair"}
        if self.masked and (self.t == 0 or self.masked != "once"):
            info["action_mask"] = (np.array([0, 1]), np.ones(3))
        return info

    def _obs(self):
        return np.full(2, self.t, np.float32), self.t % 3

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self._obs(), self._info()

    def step(self, actions):
        self.t += 1
        rewards = [float((i + 1) * action) for i, action in enumerate(actions)]
        if self.ends == "all":
            return self._obs(), sum(rewards), self.t >= self.over, False, self._info()
        ends = [self.t >= self.over, self.t >= self.over - 1]
        return self._obs(), rewards, ends, [False, False], self._info()


gymnasium.register("Pair-v0", entry_point=Pair)
