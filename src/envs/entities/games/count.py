"""Count of entity-gym: how many entities of a type are there?"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from envs.entities import ActionSpace, CategoricalActionMask, CategoricalActionSpace, Entity, Observation, ObsSpace
from envs.entities.games.seeded import SeededGame, require_whole
from utils.errors import ConfigError

PLAYER, BEAN, COUNT = "Player", "Bean", "count"
CHOICES = 10


class Count(SeededGame):
    """The player says how many beans there are, once; being right gives 1. Some wrong answers are masked.

    Args:
        masked_choices: there are fewer beans than this, and only fewer can be said; from 1 to 10.

    Raises:
        ConfigError: it is out of these bounds.
    """

    episode_limit = 1

    def __init__(self, masked_choices: int = CHOICES):
        super().__init__()
        require_whole(self, {"masked_choices": (masked_choices, 1)})
        if masked_choices > CHOICES:
            raise ConfigError(f"Count: masked_choices={masked_choices} must be at most {CHOICES}.")
        self.masked_choices, self.count = masked_choices, 0

    def capacity(self) -> dict[str, int]:
        return {PLAYER: 1, BEAN: max(self.masked_choices - 1, 1)}

    def max_actors(self) -> dict[str, int]:
        return {COUNT: 1}

    def obs_space(self) -> ObsSpace:
        return ObsSpace(entities={PLAYER: Entity([]), BEAN: Entity([])})

    def action_space(self) -> dict[str, ActionSpace]:
        return {COUNT: CategoricalActionSpace([str(n) for n in range(CHOICES)])}

    def reset(self) -> Observation:
        self.count = self._random.randint(0, self.masked_choices - 1)
        others = self._random.randint(0, self.masked_choices)
        mask = np.zeros((1, CHOICES), bool)
        mask[0, [self.count, *self._random.sample(range(self.masked_choices), others)]] = True
        return self._observe(False, 0.0, mask)

    def act(self, actions: Mapping[str, Any]) -> Observation:
        return self._observe(True, float(actions[COUNT].indices[0] == self.count))

    def _observe(self, done: bool, reward: float, mask: np.ndarray | None = None) -> Observation:
        return Observation(
            features={PLAYER: [()], BEAN: [()] * self.count},
            actions={COUNT: CategoricalActionMask(actor_types=[PLAYER], mask=mask)},
            reward=reward,
            done=done,
        )
