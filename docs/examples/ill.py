"""Environments and a learner with an ailment each, for the doctor's table (docs/debugging.md)."""

import gymnasium as gym
import numpy as np

from envs import REGISTRY as ENVS
from envs.multiagentenv import MultiAgentEnv
from learners import REGISTRY as LEARNERS
from learners.q_learner import QLearner


class Detached(QLearner):
    """The loss does not depend on the weights: every gradient is zero."""

    def _loss(self, td_error, mask):
        return 0 * super()._loss(td_error, mask)


class Forced(MultiAgentEnv):
    """Two agents find the number that both see; one choice of ten is legal, whichever it is."""

    n_agents, episode_limit = 2, 10

    def __init__(self, seed=None):
        self._random = np.random.default_rng(seed)
        self.reset()

    def reset(self):
        self._step, self._number = 0, int(self._random.integers(10))

    def step(self, actions):
        self._step += 1
        reward = float(self._random.normal())
        self._number = int(self._random.integers(10))
        return reward, self._step >= 10, {}

    def get_obs(self):
        return [np.eye(10, dtype=np.float32)[self._number]] * 2

    def get_state(self):
        return self.get_obs()[0]

    def get_avail_actions(self):
        one = [0] * 10
        one[int(self._random.integers(10))] = 1
        return [one, one]

    def get_avail_agent_actions(self, agent_id):
        return self.get_avail_actions()[agent_id]

    def get_obs_size(self):
        return 10

    def get_state_size(self):
        return 10

    def get_total_actions(self):
        return 10


class Metres(gym.ObservationWrapper):
    """CartPole in tenths of a millimetre, which announces bounds in metres, or none."""

    def __init__(self, announced=True):
        super().__init__(gym.make("CartPole-v1"))
        if not announced:
            self.observation_space = gym.spaces.Box(-np.inf, np.inf, (4,), np.float32)
        else:
            self.observation_space = gym.spaces.Box(-5, 5, (4,), np.float32)

    def observation(self, observation):
        return (observation * 1e4).astype(np.float32)


LEARNERS["detached"] = Detached
ENVS["forced"] = Forced
