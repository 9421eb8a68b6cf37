"""A stand-in for the package smaclite: two agents win by shooting three times; action 0 is for the dead."""

import gymnasium
import numpy as np
from gymnasium import spaces

MAPS = ("MMM", "3s5z", "corridor", "custom")


class Battle(gymnasium.Env):
    def __init__(self, seed=None, use_cpp_rvo2=False, render_mode="human", **kwargs):
        print("collision avoidance")
        self.n_agents, self.n_actions, self.state_size = 2, 4, 3
        self.seeds = [seed]
        self.observation_space = spaces.Tuple([spaces.Box(-1, 1, (2,), np.float32)] * 2)
        self.action_space = spaces.Tuple([spaces.Discrete(4)] * 2)

    def _seen(self):
        return tuple(np.full(2, self.shots / 3, np.float32) for _ in range(2))

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.seeds.append(seed)
        self.shots = 0
        return self._seen(), {"battle_won": False}

    def step(self, actions):
        self.shots += sum(action == 3 for action in actions)
        won = self.shots >= 3
        return self._seen(), float(self.shots), won, False, {"battle_won": won}

    def get_avail_actions(self):
        return [np.array([0.0, 1.0, 1.0, 1.0])] * 2

    def get_state(self):
        return np.full(3, self.shots, np.float64)


for name in MAPS:
    gymnasium.register(f"smaclite/{name}-v0", entry_point=Battle)
