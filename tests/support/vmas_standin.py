"""A stand-in for the package vmas: two unequal agents walk along a line; who gets to 3 ends the episode.

Its `__file__` must be set to a folder with `scenarios/balance.py`.
"""

from types import SimpleNamespace

import gymnasium
import torch as th
from gymnasium import spaces

SEEDS = []


# of both agents, by the word that asks for them
ACTIONS = {
    "continuous_actions": [spaces.Box(-1, 1, (2,))] * 2,
    "multidiscrete_actions": [spaces.MultiDiscrete([2, 2])] * 2,
    "": [spaces.Discrete(2), spaces.Discrete(3)],
}


def make_env(scenario, num_envs, wrapper=None, seed=None, max_steps=None, **words):
    kind = next((kind for kind in ACTIONS if words.pop(kind, False)), "")
    words.pop("continuous_actions", None)
    assert (scenario, words) == ("balance", {"dict_spaces": False, "terminated_truncated": True})
    SEEDS.append(seed)
    return Single(max_steps, kind) if wrapper else Walk(num_envs, max_steps, kind)


class Walk:
    """Agent i whose first number is 1 walks i + 1 steps and is paid them; each copy begins at its number's half."""

    n_agents = 2
    agents = (SimpleNamespace(name="one"), SimpleNamespace(name="two"))
    observation_space = spaces.Tuple([spaces.Box(-9, 9, (1,)), spaces.Box(-9, 9, (2,))])

    def __init__(self, num_envs, max_steps, kind):
        self.place, self.max_steps = th.zeros(num_envs), max_steps
        self.steps, self.action_space = th.zeros(num_envs), spaces.Tuple(ACTIONS[kind])

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
        for action, space in zip(actions, self.action_space, strict=True):
            assert all(space.contains(one.numpy().astype(space.dtype).reshape(space.shape)) for one in action)
        paid = [(i + 1.0) * (action[:, 0] == 1) for i, action in enumerate(actions)]
        self.place = self.place + sum(paid)
        self.steps = self.steps + 1
        return self._seen(), paid, self.place >= 3, self.steps >= self.max_steps, self._infos(paid)

    def _infos(self, paid):
        return [{"paid": one, "way": self._seen()[1]} for one in paid]


class Single(gymnasium.Env):
    """One copy, as the package's wrapper of Gymnasium."""

    observation_space = Walk.observation_space

    def __init__(self, max_steps, kind):
        self.walk = Walk(1, max_steps, kind)
        self.action_space = self.walk.action_space

    def reset(self, seed=None, options=None):
        return tuple(one[0].numpy() for one in self.walk.reset()), {}

    def step(self, actions):
        seen, paid, *ends, infos = self.walk.step([th.as_tensor(action).reshape(1, -1) for action in actions])
        names = [agent.name for agent in Walk.agents]
        said = {
            name: {key: value[0].numpy() for key, value in info.items()}
            for name, info in zip(names, infos, strict=True)
        }
        return tuple(one[0].numpy() for one in seen), [float(one) for one in paid], *(bool(end) for end in ends), said


def package(folder):
    """The module, with its scenarios in a folder."""
    (folder / "of_vmas" / "scenarios").mkdir(parents=True)
    (folder / "of_vmas" / "scenarios" / "balance.py").touch()
    return SimpleNamespace(make_env=make_env, __file__=str(folder / "of_vmas" / "__init__.py"))
