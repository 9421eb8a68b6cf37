"""PickMatchingBalls of entity-gym: pick balls of one colour, the most frequent one."""

from collections.abc import Mapping
from typing import Any

from envs.entities import ActionSpace, Entity, Observation, ObsSpace, SelectEntityActionMask, SelectEntityActionSpace
from envs.entities.games.seeded import SeededGame, require_whole

BALL, PLAYER, PICK = "Ball", "Player", "Pick Ball"
COLOURS, FEWEST = 6, 3


class PickMatchingBalls(SeededGame):
    """The player picks one ball a step. The episode ends with the first ball of another colour, or without balls.

    The last step's reward is the number of balls of one colour that were picked, divided by the number of balls of the
    most frequent colour.

    Args:
        max_balls: how many there are, at least 3.
        one_hot: colours are six features of which one is 1, instead of six times the colour's number.
        randomize: the number of balls is drawn from 3 to `max_balls`.

    Raises:
        ConfigError: there are too few balls.
    """

    def __init__(self, max_balls: int = 32, one_hot: bool = False, randomize: bool = False):
        super().__init__()
        require_whole(self, {"max_balls": (max_balls, FEWEST)})
        self.max_balls, self.one_hot, self.randomize = max_balls, one_hot, randomize
        self.episode_limit = max_balls
        self.colours: list[int] = []
        self.picked: list[int] = []

    def capacity(self) -> dict[str, int]:
        return {BALL: self.max_balls, PLAYER: 1}

    def max_actors(self) -> dict[str, int]:
        return {PICK: 1}

    def obs_space(self) -> ObsSpace:
        return ObsSpace(
            entities={BALL: Entity([*(f"color{c}" for c in range(COLOURS)), "selected"]), PLAYER: Entity([])}
        )

    def action_space(self) -> dict[str, ActionSpace]:
        return {PICK: SelectEntityActionSpace()}

    def reset(self) -> Observation:
        count = self._random.randint(FEWEST, self.max_balls) if self.randomize else self.max_balls
        self.colours, self.picked = [self._random.randint(0, COLOURS - 1) for _ in range(count)], []
        return self._observe()

    def act(self, actions: Mapping[str, Any]) -> Observation:
        (_, i) = actions[PICK].actees[0]
        self.picked.append(i)
        return self._observe()

    def _observe(self) -> Observation:
        matching = len({self.colours[i] for i in self.picked}) <= 1
        done, reward = not matching or len(self.picked) == len(self.colours), 0.0
        if done:
            most = max(self.colours.count(colour) for colour in range(COLOURS))
            reward = (len(self.picked) - (not matching)) / most
        shown = [
            [float(colour == c) if self.one_hot else float(colour) for c in range(COLOURS)] + [float(i in self.picked)]
            for i, colour in enumerate(self.colours)
        ]
        left = [(BALL, i) for i in range(len(self.colours)) if i not in self.picked]
        return Observation(
            features={BALL: shown, PLAYER: [()]},
            actions={PICK: SelectEntityActionMask(actor_types=[PLAYER], actee_ids=left)},
            reward=reward,
            done=done,
        )
