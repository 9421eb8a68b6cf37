"""A stand-in for the package vmas: two unequal agents walk along a line; who gets to 3 ends the episode.

Its `__file__` must be set to a folder with `scenarios/balance.py`.
"""

from types import SimpleNamespace

import gymnasium
import torch as th
from gymnasium import spaces

SEEDS = []


def make_env(scenario, num_envs, wrapper=None, seed=None, max_steps=None, continuous_actions=False, **words):
    assert (scenario, words) == ("balance", {"dict_spaces": False, "terminated_truncated": True})
    SEEDS.append(seed)
    return Single(max_steps) if wrapper else Walk(num_envs, max_steps)


class Walk:
    """Agent i that does 1 walks i + 1 steps and is paid them; each copy begins at its number's half."""

    n_agents = 2
    observation_space = spaces.Tuple([spaces.Box(-9, 9, (1,)), spaces.Box(-9, 9, (2,))])
    action_space = spaces.Tuple([spaces.Discrete(2), spaces.Discrete(3)])

    def __init__(self, num_envs, max_steps):
        self.place, self.max_steps = th.zeros(num_envs), max_steps
        self.steps = th.zeros(num_envs)

    def _seen(self):
        return [self.place[:, None], th.stack([self.place, self.steps], dim=1)]

    def reset(self):
        for b in range(len(self.place)):
            self.reset_at(b)
        return self._seen()

    def reset_at(self, index, return_observations=True):
        self.place[index], self.steps[index] = index / 2, 0

    def get_from_scenario(self, **words):
        return [self._seen()]

    def step(self, actions):
        assert all(action.shape == (len(self.place), 1) for action in actions)
        paid = [(i + 1.0) * (action[:, 0] == 1) for i, action in enumerate(actions)]
        self.place = self.place + sum(paid)
        self.steps = self.steps + 1
        return self._seen(), paid, self.place >= 3, self.steps >= self.max_steps, [{}, {}]


class Single(gymnasium.Env):
    """One copy, as the package's wrapper of Gymnasium."""

    observation_space, action_space = Walk.observation_space, Walk.action_space

    def __init__(self, max_steps):
        self.walk = Walk(1, max_steps)

    def reset(self, seed=None, options=None):
        return tuple(one[0].numpy() for one in self.walk.reset()), {}

    def step(self, actions):
        seen, paid, *ends, _ = self.walk.step([th.tensor([[action]]) for action in actions])
        return tuple(one[0].numpy() for one in seen), [float(one) for one in paid], *(bool(end) for end in ends), {}


def package(folder):
    """The module, with its scenarios in a folder."""
    (folder / "of_vmas" / "scenarios").mkdir(parents=True)
    (folder / "of_vmas" / "scenarios" / "balance.py").touch()
    return SimpleNamespace(make_env=make_env, __file__=str(folder / "of_vmas" / "__init__.py"))
