import numpy as np

from envs import REGISTRY, MultiAgentEnv


class Lifting(MultiAgentEnv):
    """Two agents on a line lift a box: 1 when both lift at its place, which ends the episode. Each step costs 0.02."""

    n_agents, episode_limit = 2, 20

    def __init__(self, cells=7, seed=None):
        self.cells, self.random = cells, np.random.default_rng(seed)

    def reset(self):
        self.steps = 0
        self.box, *self.agents = self.random.integers(self.cells, size=3)

    def step(self, actions):  # of each agent: 0 to the left, 1 to the right, 2 lift
        self.steps += 1
        self.agents = np.clip(self.agents + np.array([-1, 1, 0])[actions], 0, self.cells - 1)
        lifted = all(action == 2 and at == self.box for action, at in zip(actions, self.agents, strict=True))
        return None, lifted - 0.02, lifted, self.steps == self.episode_limit, {"lifted": lifted}

    def get_obs(self):  # of each agent: how far it is to the box, and to the other agent
        return [np.array([self.box - own, other - own]) / self.cells for own, other in (self.agents, self.agents[::-1])]

    def get_obs_size(self):
        return 2

    def get_state(self):  # for training alone
        return np.array([self.box, *self.agents]) / self.cells

    def get_state_size(self):
        return 3

    def get_total_actions(self):
        return 3


REGISTRY["lifting"] = Lifting
