"""CherryPick of entity-gym: take the better half of many cherries, one by one."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from envs.entities.actions import ActionSpace, SelectEntityActionMask, SelectEntityActionSpace
from envs.entities.environment import Environment
from envs.entities.games.seeded import require_whole
from envs.entities.observation import Entity, Observation, ObsSpace

CHERRY, PLAYER, PICK = "Cherry", "Player", "Pick Cherry"


class CherryPick(Environment):
    """The player picks one cherry a step, and its quality is the reward. Half of them end the episode.

    Qualities are drawn from a standard normal, and shifted so that the better half adds up to 1.

    Args:
        num_cherries: at the beginning, at least 2.

    Raises:
        ConfigError: there are too few.
    """

    def __init__(self, num_cherries: int = 32):
        require_whole(self, {"num_cherries": (num_cherries, 2)})
        self.num_cherries, self.episode_limit = num_cherries, num_cherries // 2
        self.cherries: list[float] = []
        self._random = np.random.RandomState()

    def seed(self, seed: int) -> None:
        self._random.seed(seed % 2**32)

    def capacity(self) -> dict[str, int]:
        return {CHERRY: self.num_cherries, PLAYER: 1}

    def max_actors(self) -> dict[str, int]:
        return {PICK: 1}

    def obs_space(self) -> ObsSpace:
        return ObsSpace(entities={CHERRY: Entity(["quality"]), PLAYER: Entity([])})

    def action_space(self) -> dict[str, ActionSpace]:
        return {PICK: SelectEntityActionSpace()}

    def reset(self) -> Observation:
        drawn = self._random.normal(size=self.num_cherries)
        best = np.sort(drawn)[::-1][: self.episode_limit]
        self.cherries = (drawn + (1.0 - best.sum()) / self.episode_limit).tolist()
        return self._observe(0.0)

    def act(self, actions: Mapping[str, Any]) -> Observation:
        (_, i) = actions[PICK].actees[0]
        return self._observe(self.cherries.pop(i))

    def _observe(self, reward: float) -> Observation:
        return Observation(
            features={CHERRY: [(quality,) for quality in self.cherries], PLAYER: [()]},
            actions={PICK: SelectEntityActionMask(actor_types=[PLAYER], actee_types=[CHERRY])},
            reward=reward,
            done=self.num_cherries - len(self.cherries) == self.episode_limit,
        )
