"""An environment with two ailments, for docs/debugging.md: its steps are slow, and it keeps everything it has seen."""

import time

import numpy as np

from envs import REGISTRY
from envs.small.two_step import TwoStepGame
from learners import REGISTRY as LEARNERS
from learners.q_learner import QLearner
from utils.monitoring import monitor
from utils.timing import timed


class Ailing(TwoStepGame):
    """The two-step game, slow and leaky."""

    def __init__(self, seed: int | None = None):
        super().__init__()
        self._seen = []

    def step(self, actions):
        time.sleep(0.002)
        with timed("bookkeeping"):
            self._seen.append(np.ones(20_000))
        return super().step(actions)


class WatchedLearner(QLearner):
    """Q-learning that monitors the rewards it learns from."""

    def train(self, batch, t_env, episode_num):
        monitor("learner/reward", batch["reward"].max())
        super().train(batch, t_env, episode_num)


REGISTRY.declare("ailing", Ailing, "the two-step game, slow and leaky")
LEARNERS.declare("watched", WatchedLearner, "Q-learning that monitors rewards", learns_from="q", options={})
