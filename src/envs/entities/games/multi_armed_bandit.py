"""MultiArmedBandit of entity-gym: one of five arms pays."""

from collections.abc import Mapping
from typing import Any

from envs.entities.actions import ActionSpace, GlobalCategoricalActionMask, GlobalCategoricalActionSpace
from envs.entities.environment import Environment
from envs.entities.observation import Observation, ObsSpace

PULL, BEST = "pull", "A"


class MultiArmedBandit(Environment):
    """Pulling A gives 1/32, the other arms nothing; 32 pulls are an episode. There are no entities and no chance.

    The step is a global feature, so the end is `done`.
    """

    episode_limit = 32

    def __init__(self):
        self.step = 0

    def seed(self, seed: int) -> None:
        """Nothing is drawn."""

    def capacity(self) -> dict[str, int]:
        return {}

    def obs_space(self) -> ObsSpace:
        return ObsSpace(global_features=["step"])

    def action_space(self) -> dict[str, ActionSpace]:
        return {PULL: GlobalCategoricalActionSpace(list("ABCDE"))}

    def reset(self) -> Observation:
        self.step = 0
        return self._observe(0.0)

    def act(self, actions: Mapping[str, Any]) -> Observation:
        self.step += 1
        return self._observe((actions[PULL].label == BEST) / self.episode_limit)

    def _observe(self, reward: float) -> Observation:
        return Observation(
            global_features=[self.step],
            actions={PULL: GlobalCategoricalActionMask()},
            reward=reward,
            done=self.step >= self.episode_limit,
        )
