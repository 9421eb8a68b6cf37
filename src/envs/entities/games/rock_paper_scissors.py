"""RockPaperScissors of entity-gym: only the value function sees what the opponent throws."""

from collections.abc import Mapping
from typing import Any

from envs.entities import ActionSpace, CategoricalActionMask, CategoricalActionSpace, Entity, Observation, ObsSpace
from envs.entities.games.seeded import SeededGame

PLAYER, OPPONENT, THROW = "Player", "Opponent", "throw"
THROWS = ["rock", "paper", "scissors"]
UP_TO = (0.5, 0.8)  # cumulative probabilities of rock and of paper


class RockPaperScissors(SeededGame):
    """The opponent throws rock, paper or scissors with probability 0.5, 0.3 and 0.2; beating it gives 2.

    An episode is one step. The policy does not see the opponent, the value function does: always paper is best, with a
    mean return of 1.

    Args:
        cheat: the policy sees the opponent too, and can have 2.
    """

    episode_limit = 1

    def __init__(self, cheat: bool = False):
        super().__init__()
        self.cheat, self.opponent = cheat, 0

    def capacity(self) -> dict[str, int]:
        return {PLAYER: 1, OPPONENT: 1}

    def max_actors(self) -> dict[str, int]:
        return {THROW: 1}

    def obs_space(self) -> ObsSpace:
        return ObsSpace(entities={PLAYER: Entity([]), OPPONENT: Entity(list(THROWS))})

    def action_space(self) -> dict[str, ActionSpace]:
        return {THROW: CategoricalActionSpace(list(THROWS))}

    def reset(self) -> Observation:
        drawn = self._random.random()
        self.opponent = sum(drawn >= bound for bound in UP_TO)
        return self._observe(False, 0.0)

    def act(self, actions: Mapping[str, Any]) -> Observation:
        beats = actions[THROW].indices[0] == (self.opponent + 1) % len(THROWS)
        return self._observe(True, 2.0 * beats)

    def _observe(self, done: bool, reward: float) -> Observation:
        return Observation(
            features={PLAYER: [()], OPPONENT: [[float(i == self.opponent) for i in range(len(THROWS))]]},
            visible={OPPONENT: [self.cheat]},
            actions={THROW: CategoricalActionMask(actor_types=[PLAYER])},
            reward=reward,
            done=done,
        )
