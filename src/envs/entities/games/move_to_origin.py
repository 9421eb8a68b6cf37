"""MoveToOrigin of entity-gym: a spaceship with two thrusters flies to the origin."""

import math
from collections.abc import Mapping
from typing import Any

from envs.entities import ActionSpace, CategoricalActionMask, CategoricalActionSpace, Entity, Observation, ObsSpace
from envs.entities.games.seeded import SeededGame

SPACESHIP = "Spaceship"
HORIZONTAL, VERTICAL = "horizontal_thruster", "vertical_thruster"
ACCELERATIONS = (0.01, 0.001, 0.0, -0.001, -0.01)


class MoveToOrigin(SeededGame):
    """The spaceship starts at rest, one unit from the origin, and flies for 32 steps.

    Each thruster changes its part of the velocity, in units a step. The reward of a step is by how much the distance to
    the origin became less, so the most of an episode is 1. The step is a feature, so the end is `done`.
    """

    episode_limit = 32

    def __init__(self):
        super().__init__()
        self.x, self.y, self.x_velocity, self.y_velocity, self.step = 1.0, 0.0, 0.0, 0.0, 0

    def capacity(self) -> dict[str, int]:
        return {SPACESHIP: 1}

    def max_actors(self) -> dict[str, int]:
        return {HORIZONTAL: 1, VERTICAL: 1}

    def scene(self) -> dict[str, Any]:
        return {"bounds": [-1.2, -1.2, 1.2, 1.2], "grid": 1.2}

    def obs_space(self) -> ObsSpace:
        return ObsSpace(entities={SPACESHIP: Entity(["x_pos", "y_pos", "x_velocity", "y_velocity", "step"])})

    def action_space(self) -> dict[str, ActionSpace]:
        return {
            HORIZONTAL: CategoricalActionSpace(["100% right", "10% right", "hold", "10% left", "100% left"]),
            VERTICAL: CategoricalActionSpace(["100% up", "10% up", "hold", "10% down", "100% down"]),
        }

    def reset(self) -> Observation:
        angle = self._random.uniform(0, 2 * math.pi)
        self.x, self.y = math.cos(angle), math.sin(angle)
        self.x_velocity, self.y_velocity, self.step = 0.0, 0.0, 0
        return self._observe(0.0)

    def act(self, actions: Mapping[str, Any]) -> Observation:
        before = math.hypot(self.x, self.y)
        self.x_velocity += ACCELERATIONS[actions[HORIZONTAL].indices[0]]
        self.y_velocity += ACCELERATIONS[actions[VERTICAL].indices[0]]
        self.x += self.x_velocity
        self.y += self.y_velocity
        self.step += 1
        return self._observe(before - math.hypot(self.x, self.y))

    def _observe(self, reward: float) -> Observation:
        return Observation(
            features={SPACESHIP: [(self.x, self.y, self.x_velocity, self.y_velocity, self.step)]},
            actions={name: CategoricalActionMask(actor_types=[SPACESHIP]) for name in (HORIZONTAL, VERTICAL)},
            reward=reward,
            done=self.step >= self.episode_limit,
        )
