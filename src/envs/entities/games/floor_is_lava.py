"""FloorIsLava of entity-gym: step onto the one neighbouring tile that is no lava."""

from collections.abc import Mapping
from typing import Any

from envs.entities import ActionSpace, CategoricalActionMask, CategoricalActionSpace, Entity, Observation, ObsSpace
from envs.entities.games.seeded import SeededGame

LAVA, HIGH_GROUND, PLAYER, MOVE = "Lava", "HighGround", "Player", "move"
MOVES = {
    "n": (0, 1),
    "ne": (1, 1),
    "e": (1, 0),
    "se": (1, -1),
    "s": (0, -1),
    "sw": (-1, -1),
    "w": (-1, 0),
    "nw": (-1, 1),
}
WIDTH = 1000
Tile = tuple[int, int]


class FloorIsLava(SeededGame):
    """Of the eight tiles around the player one is high ground, and none to seven are lava; the others are nothing.

    The player moves once; reaching the high ground gives 1. The player's x and y are drawn from -1000 to 1000. In
    entity-gym the entity that acts is a lava tile, if there is any.
    """

    episode_limit = 1

    def __init__(self):
        super().__init__()
        self.player: Tile = (0, 0)
        self.high_ground: Tile = (0, 1)
        self.lava: list[Tile] = []

    def capacity(self) -> dict[str, int]:
        return {LAVA: len(MOVES) - 1, HIGH_GROUND: 1, PLAYER: 1}

    def max_actors(self) -> dict[str, int]:
        return {MOVE: 1}

    def obs_space(self) -> ObsSpace:
        return ObsSpace(entities={name: Entity(["x", "y"]) for name in (LAVA, HIGH_GROUND, PLAYER)})

    def action_space(self) -> dict[str, ActionSpace]:
        return {MOVE: CategoricalActionSpace(list(MOVES))}

    def reset(self) -> Observation:
        x, y = self.player = self._random.randint(-WIDTH, WIDTH), self._random.randint(-WIDTH, WIDTH)
        around = [(x + dx, y + dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1) if (dx, dy) != (0, 0)]
        self.lava = self._random.sample(around, self._random.randint(1, len(around)))
        self.high_ground = self.lava.pop(self._random.randint(0, len(self.lava) - 1))
        return self._observe(done=False)

    def act(self, actions: Mapping[str, Any]) -> Observation:
        dx, dy = MOVES[actions[MOVE].labels[0]]
        self.player = self.player[0] + dx, self.player[1] + dy
        return self._observe(done=True)

    def _observe(self, done: bool) -> Observation:
        return Observation(
            features={LAVA: list(self.lava), HIGH_GROUND: [self.high_ground], PLAYER: [self.player]},
            actions={MOVE: CategoricalActionMask(actor_types=[PLAYER])},
            reward=float(self.player == self.high_ground),
            done=done,
        )
