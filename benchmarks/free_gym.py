"""`free_env.py`'s environment as one of Gymnasium's teams, which EPyMARL's `gymma` plays, and ours.

Its ids are `free_gym:Free-3m-v0` and `free_gym:Free-8m-v0`; the state is the observations of all.
"""

import gymnasium as gym
import numpy as np
from free_shapes import SHAPES


class FreeGym(gym.Env):
    """Every step shows the same arrays and pays 1 to each agent."""

    def __init__(self, shape: str, render_mode: None = None):
        self.n_agents, obs, _, actions = SHAPES[shape]
        self.observation_space = gym.spaces.Tuple([gym.spaces.Box(0.0, 1.0, (obs,))] * self.n_agents)
        self.action_space = gym.spaces.Tuple([gym.spaces.Discrete(actions)] * self.n_agents)
        self._shown = tuple(np.random.default_rng(0).random((self.n_agents, obs), dtype=np.float32))

    def reset(self, seed=None, options=None):
        return self._shown, {}

    def step(self, actions):
        return self._shown, [1.0] * self.n_agents, False, False, {}


for map_name in SHAPES:
    gym.register(f"Free-{map_name}-v0", FreeGym, kwargs={"shape": map_name})
