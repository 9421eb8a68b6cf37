"""MineSweeper of entity-gym: robots clear a field of mines, and a cannon in orbit may help."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from envs.entities.actions import (
    ActionMask,
    ActionSpace,
    CategoricalActionMask,
    CategoricalActionSpace,
    SelectEntityActionMask,
    SelectEntityActionSpace,
)
from envs.entities.games.seeded import SeededGame, require_whole
from envs.entities.observation import Entity, Observation, ObsSpace
from utils.errors import ConfigError

Cell = tuple[int, int]
MOVES = {"Up": (0, 1), "Down": (0, -1), "Left": (-1, 0), "Right": (1, 0)}
DEFUSE = "Defuse Mines"
LABELS = [*MOVES, DEFUSE]
# of the mask's columns
ORDER, COMPAT_ORDER = tuple(MOVES), ("Right", "Left", "Up", "Down")
MINE, ROBOT, CANNON, FIRE = "Mine", "Robot", "Orbital Cannon", "Fire Orbital Cannon"


class MineSweeper(SeededGame):
    """Each robot moves a cell a step, or removes every mine at most one cell away, its own included.

    A robot that stands on a mine after all have acted is lost. The episode ends when there is no mine, with reward 1,
    or no robot; any other step has reward 0. If the cannon's cooldown is 0, it must shoot a mine or a robot: a mine is
    gone before the robots act, a robot after them.

    Args:
        width, height: of the field, in cells.
        nmines, nrobots: how many there are at the beginning, each in a cell of its own.
        orbital_cannon: whether there is a cannon.
        cooldown_period: steps from the beginning, and from a shot, until it can shoot.
        step_limit: steps after which an episode is truncated; None: no limit.
        compat: play as entity-gym's code does: the cooldown never changes; the mask of moves has the order right, left,
            up, down, unlike the actions; spaces have the cannon even if there is none. Equal seeds give equal fields.

    Raises:
        ConfigError: the field is too small, or a number is too small.
    """

    vectorised_by = "envs.entities.games.mine_fields:MineFields"

    def __init__(
        self,
        width: int = 6,
        height: int = 6,
        nmines: int = 5,
        nrobots: int = 2,
        orbital_cannon: bool = False,
        cooldown_period: int = 5,
        step_limit: int | None = None,
        compat: bool = False,
    ):
        super().__init__()
        least = {"width": (width, 1), "height": (height, 1), "nmines": (nmines, 1), "nrobots": (nrobots, 1)}
        least |= {"cooldown_period": (cooldown_period, 0), "step_limit": (1 if step_limit is None else step_limit, 1)}
        require_whole(self, least)
        if nmines + nrobots > width * height:
            raise ConfigError(
                f"MineSweeper: {nmines} mines and {nrobots} robots need more than {width}x{height} cells."
            )
        self.width, self.height, self.nmines, self.nrobots = width, height, nmines, nrobots
        self.orbital_cannon, self.cooldown_period = orbital_cannon, cooldown_period
        self.step_limit = self.episode_limit = step_limit
        self.compat = compat
        self.mines: list[Cell] = []
        self.robots: list[Cell] = []
        self.cooldown, self.steps = cooldown_period, 0
        self._declares_cannon = orbital_cannon or compat

    def capacity(self) -> dict[str, int]:
        sizes = {MINE: self.nmines, ROBOT: self.nrobots}
        return sizes | {CANNON: 1} if self._declares_cannon else sizes

    def max_actors(self) -> dict[str, int]:
        actors = {"Move": self.nrobots}
        return actors | {FIRE: 1} if self._declares_cannon else actors

    def scene(self) -> dict[str, Any]:
        return {"bounds": [-0.5, -0.5, self.width - 0.5, self.height - 0.5], "grid": 1}

    def obs_space(self) -> ObsSpace:
        entities = {MINE: Entity(["x", "y"]), ROBOT: Entity(["x", "y"])}
        if self._declares_cannon:
            entities[CANNON] = Entity(["cooldown"])
        return ObsSpace(entities=entities)

    def action_space(self) -> dict[str, ActionSpace]:
        actions: dict[str, ActionSpace] = {"Move": CategoricalActionSpace(list(LABELS))}
        if self._declares_cannon:
            actions[FIRE] = SelectEntityActionSpace()
        return actions

    def reset(self) -> Observation:
        cells = [(x, y) for x in range(self.width) for y in range(self.height)]
        drawn = self._random.sample(cells, self.nmines + self.nrobots)
        self.mines, self.robots = drawn[: self.nmines], drawn[self.nmines :]
        self.cooldown, self.steps = self.cooldown_period, 0
        return self.observe()

    def act(self, actions: Mapping[str, Any]) -> Observation:
        shots = actions[FIRE].actees if FIRE in actions else []
        for kind, i in shots:
            if kind == MINE:
                del self.mines[i]
        for (_, i), choice in zip(actions["Move"].actors, actions["Move"].labels, strict=True):
            self._move(i, choice)
        for kind, i in shots:
            if kind == ROBOT:
                del self.robots[i]
        self.robots = [cell for cell in self.robots if cell not in self.mines]
        if not self.compat:
            self.cooldown = self.cooldown_period if shots else max(self.cooldown - 1, 0)
        self.steps += 1
        return self.observe()

    def observe(self) -> Observation:
        entities: dict[str, list[tuple[int, ...]]] = {MINE: list(self.mines), ROBOT: list(self.robots)}
        if self.orbital_cannon:
            entities[CANNON] = [(self.cooldown,)]
        order = COMPAT_ORDER if self.compat else ORDER
        moves = [_moves(x, y, self.width, self.height, order) for x, y in self.robots]
        masks: dict[str, ActionMask] = {"Move": CategoricalActionMask(actor_types=[ROBOT], mask=moves)}
        if self._declares_cannon:
            ready = [CANNON] if self.cooldown == 0 else []
            masks[FIRE] = SelectEntityActionMask(actor_types=ready, actee_types=[MINE, ROBOT])
        done = not self.mines or not self.robots
        return Observation(
            entities=entities,
            actions=masks,
            reward=0.0 if self.mines else 1.0,
            done=done,
            truncated=not done and self.step_limit is not None and self.steps >= self.step_limit,
        )

    def _move(self, i: int, choice: str) -> None:
        x, y = self.robots[i]
        if choice == DEFUSE:
            self.mines = [(mx, my) for mx, my in self.mines if abs(mx - x) + abs(my - y) > 1]
        elif _inside(*(cell := (x + MOVES[choice][0], y + MOVES[choice][1])), self.width, self.height):
            self.robots[i] = cell


@lru_cache(maxsize=4096)
def _moves(x: int, y: int, width: int, height: int, order: tuple[str, ...]) -> tuple[bool, ...]:
    """Which choices a robot in this cell has."""
    return *(_inside(x + MOVES[label][0], y + MOVES[label][1], width, height) for label in order), True


def _inside(x: int, y: int, width: int, height: int) -> bool:
    return 0 <= x < width and 0 <= y < height
