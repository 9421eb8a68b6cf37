"""NotHotdog of entity-gym: say whether there is a hotdog, which may be a type or a feature."""

from collections.abc import Mapping
from typing import Any

from envs.entities import ActionSpace, CategoricalActionMask, CategoricalActionSpace, Entity, Observation, ObsSpace
from envs.entities.games.seeded import SeededGame

PLAYER, OBJECT, HOTDOG = "Player", "Object", "Hotdog"
CLASSIFY, UNUSED = "classify", "unused_action"


class NotHotdog(SeededGame):
    """The player sees an object and says what it is, once; being right gives 1.

    A hotdog is either an Object whose feature is_hotdog is 1, or a Hotdog, a type without features; anything else is an
    Object with 0. The second action never has an actor. entity-gym has the two labels of `classify` in the other order,
    so that "hotdog" is right if there is none.
    """

    episode_limit = 1

    def __init__(self):
        super().__init__()
        self.is_hotdog, self.own_type, self.step = 0, False, 0

    def capacity(self) -> dict[str, int]:
        return {PLAYER: 1, OBJECT: 1, HOTDOG: 1}

    def max_actors(self) -> dict[str, int]:
        return {CLASSIFY: 1, UNUSED: 1}

    def obs_space(self) -> ObsSpace:
        return ObsSpace(entities={PLAYER: Entity(["step"]), OBJECT: Entity(["is_hotdog"]), HOTDOG: Entity([])})

    def action_space(self) -> dict[str, ActionSpace]:
        return {
            CLASSIFY: CategoricalActionSpace(["not_hotdog", "hotdog"]),
            UNUSED: CategoricalActionSpace(["0", "1"]),
        }

    def reset(self) -> Observation:
        self.is_hotdog, self.own_type = self._random.randint(0, 1), self._random.randint(0, 1) == 1
        self.step = 0
        return self._observe(0.0)

    def act(self, actions: Mapping[str, Any]) -> Observation:
        self.step += 1
        return self._observe(float(actions[CLASSIFY].indices[0] == self.is_hotdog))

    def _observe(self, reward: float) -> Observation:
        object_or_hotdog = {HOTDOG: [()]} if self.is_hotdog and self.own_type else {OBJECT: [(self.is_hotdog,)]}
        return Observation(
            features={PLAYER: [(self.step,)], **object_or_hotdog},
            actions={
                CLASSIFY: CategoricalActionMask(actor_types=[PLAYER]),
                UNUSED: CategoricalActionMask(actor_types=[]),
            },
            reward=reward,
            done=self.step > 0,
        )
