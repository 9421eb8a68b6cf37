"""A stand-in for the package minigrid: a corridor with the goal at its end, seen as cells, and a mission.

Its modules are put into `sys.modules` by `install`.
"""

import sys
from types import ModuleType

import gymnasium
import numpy as np
from gymnasium import spaces

SIZES = (11, 6, 4)
GOAL, WALL = 8, 2


class Mission(spaces.Space):
    """As minigrid's `MissionSpace`: strings, without their longest length."""

    def __init__(self):
        super().__init__(dtype=str)


class MiniGridEnv(gymnasium.Env):
    """Action 1 is a step towards the goal, two steps away; the others do nothing."""

    def __init__(self, max_steps=6, mission="go to the green goal", goal=GOAL):
        self.observation_space = spaces.Dict(
            direction=spaces.Discrete(4), image=spaces.Box(0, 255, (7, 7, 3), np.uint8), mission=Mission()
        )
        self.action_space = spaces.Discrete(3)
        self.max_steps, self.mission, self.goal = max_steps, mission, goal

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.steps, self.place = 0, 0
        return self._seen(), {}

    def step(self, action):
        self.steps += 1
        self.place += action == 1
        there = self.place == 2
        return self._seen(), 1 - 0.9 * self.steps / self.max_steps if there else 0.0, there, False, {}

    def _seen(self):
        image = np.tile(np.array([WALL, 5, 0], np.uint8), (7, 7, 1))
        image[3, 4 + self.place] = self.goal, 1, 0
        return {"direction": 0, "image": image, "mission": self.mission}


class ViewSizeWrapper(gymnasium.ObservationWrapper):
    """It shows the nearest 5 x 5 cells."""

    def __init__(self, env):
        super().__init__(env)
        image = spaces.Box(0, 255, (5, 5, 3), np.uint8)
        self.observation_space = spaces.Dict({**env.observation_space.spaces, "image": image})

    def observation(self, observation):
        return {**observation, "image": observation["image"][1:6, 2:]}


class RGBImgObsWrapper(ViewSizeWrapper):
    """It shows colours, of the same shape here."""

    def observation(self, observation):
        return {**observation, "image": np.full((5, 5, 3), 200, np.uint8)}


class Strange(ViewSizeWrapper):
    """A user's, which may make anything of what it shows."""


def install(monkeypatch):
    constants = ModuleType("minigrid.core.constants")
    constants.OBJECT_TO_IDX, constants.COLOR_TO_IDX, constants.STATE_TO_IDX = map(dict.fromkeys, map(range, (11, 6, 3)))
    base = ModuleType("minigrid.minigrid_env")
    base.MiniGridEnv = MiniGridEnv
    for module in (constants, base):
        monkeypatch.setitem(sys.modules, module.__name__, module)
