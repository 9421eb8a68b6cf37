"""Xor of entity-gym: the exclusive or of two entities, negated or not."""

from collections.abc import Mapping
from typing import Any

from envs.entities.actions import ActionSpace, GlobalCategoricalActionMask, GlobalCategoricalActionSpace
from envs.entities.games.seeded import SeededGame
from envs.entities.observation import Entity, Observation, ObsSpace

INPUT, OUTPUT = "Input", "output"


class Xor(SeededGame):
    """Two inputs and the global feature `negate` are 0 or 1 each; one global action says their exclusive or.

    The episode is one step; being right gives 1.
    """

    episode_limit = 1

    def __init__(self):
        super().__init__()
        self.bits, self.negate = [0, 0], 0

    def capacity(self) -> dict[str, int]:
        return {INPUT: 2}

    def obs_space(self) -> ObsSpace:
        return ObsSpace(global_features=["negate"], entities={INPUT: Entity(["is_set"])})

    def action_space(self) -> dict[str, ActionSpace]:
        return {OUTPUT: GlobalCategoricalActionSpace(["0", "1"])}

    def reset(self) -> Observation:
        *self.bits, self.negate = (self._random.choice((0, 1)) for _ in range(3))
        return self._observe(False, 0.0)

    def act(self, actions: Mapping[str, Any]) -> Observation:
        first, second = self.bits
        return self._observe(True, float(actions[OUTPUT].index == first ^ second ^ self.negate))

    def _observe(self, done: bool, reward: float) -> Observation:
        return Observation(
            global_features=[self.negate],
            features={INPUT: [(bit,) for bit in self.bits]},
            actions={OUTPUT: GlobalCategoricalActionMask()},
            reward=reward,
            done=done,
        )
