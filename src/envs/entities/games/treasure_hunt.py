"""TreasureHunt of entity-gym's tutorial: collect treasures and avoid traps."""

from collections.abc import Mapping
from typing import Any

from envs.entities.actions import ActionSpace, GlobalCategoricalActionMask, GlobalCategoricalActionSpace
from envs.entities.games.seeded import SeededGame, require_whole
from envs.entities.observation import Entity, Observation, ObsSpace

TRAP, TREASURE, MOVE = "Trap", "Treasure", "move"
MOVES = {"up": (0, 1), "down": (0, -1), "left": (-1, 0), "right": (1, 0)}
EACH, SPREAD, EDGE = 5, 5, 10
Cell = tuple[int, int]


class TreasureHunt(SeededGame):
    """The player starts at (0, 0) and moves a cell a step, as far as 10 from there in x and y.

    A treasure gives 1. Five treasures and five traps are drawn within 5 cells; the episode ends on a trap, or when
    there is no treasure.

    Args:
        step_limit: steps after which an episode is truncated; None: no limit, as in entity-gym.

    Raises:
        ConfigError: it is too small.
    """

    def __init__(self, step_limit: int | None = None):
        super().__init__()
        if step_limit is not None:
            require_whole(self, {"step_limit": (step_limit, 1)})
        self.step_limit = self.episode_limit = step_limit
        self.player: Cell = (0, 0)
        self.traps: list[Cell] = []
        self.treasures: list[Cell] = []
        self.steps = 0

    def capacity(self) -> dict[str, int]:
        return {TRAP: EACH, TREASURE: EACH}

    def scene(self) -> dict[str, Any]:
        return {"bounds": [-EDGE - 0.5, -EDGE - 0.5, EDGE + 0.5, EDGE + 0.5], "grid": 1}

    def obs_space(self) -> ObsSpace:
        place = ["x_pos", "y_pos"]
        return ObsSpace(global_features=place, entities={name: Entity(list(place)) for name in (TRAP, TREASURE)})

    def action_space(self) -> dict[str, ActionSpace]:
        return {MOVE: GlobalCategoricalActionSpace(list(MOVES))}

    def reset(self) -> Observation:
        self.player, self.traps, self.treasures, self.steps = (0, 0), [], [], 0
        for cells in (self.traps, self.treasures):
            for _ in range(EACH):
                cells.append(self._free_cell())
        return self._observe(0.0)

    def act(self, actions: Mapping[str, Any]) -> Observation:
        dx, dy = MOVES[actions[MOVE].label]
        x, y = self.player
        self.player = min(max(x + dx, -EDGE), EDGE), min(max(y + dy, -EDGE), EDGE)
        found = self.player in self.treasures
        if found:
            self.treasures.remove(self.player)
        self.steps += 1
        return self._observe(float(found))

    def _observe(self, reward: float) -> Observation:
        done = self.player in self.traps or not self.treasures
        return Observation(
            global_features=self.player,
            features={TRAP: list(self.traps), TREASURE: list(self.treasures)},
            actions={MOVE: GlobalCategoricalActionMask()},
            reward=reward,
            done=done,
            truncated=not done and self.step_limit is not None and self.steps >= self.step_limit,
        )

    def _free_cell(self) -> Cell:
        while True:
            cell = self._random.randint(-SPREAD, SPREAD), self._random.randint(-SPREAD, SPREAD)
            if cell not in (*self.traps, *self.treasures, self.player):
                return cell
