"""Minefield of entity-gym: steer a vehicle round mines to a target."""

import math
from collections.abc import Mapping
from typing import Any

from envs.entities import ActionSpace, CategoricalActionMask, CategoricalActionSpace, Entity, Observation, ObsSpace
from envs.entities.games.seeded import SeededGame, require_whole
from utils.errors import ConfigError
from utils.plain_values import quoted

VEHICLE, MINE, TARGET, MOVE = "Vehicle", "Mine", "Target", "move"
LABELS = ["turn left", "move forward", "turn right"]
TURNS = (-math.pi / 8, 0.0, math.pi / 8)
FORWARD, SPEED = 1, 3.0
REACH, APART = 5.0, 15.0  # of a target or a mine; of a mine from all else at the beginning
Point = tuple[float, float]


class Minefield(SeededGame):
    """The vehicle turns by 22.5 degrees a step, or moves 3 units forward. Within 5 units of a mine it is lost.

    Within 5 units of the target the episode ends with reward 1, whether or not a mine is as near; any other step has
    reward 0. After `max_steps` the episode is truncated, which entity-gym counts as an end. Two more differences: the
    feature `step` is 0 when an episode begins, there the last episode's; and a target that is drawn within 5 units of
    the vehicle is drawn again, there the episode is over before it begins.

    Args:
        max_mines: how many are drawn; those within 15 units of another, the vehicle or the target are left out.
        max_steps: of an episode.
        translate: positions of mines and target are relative to the vehicle.
        width: of the square field, in units, at least 20.

    Raises:
        ConfigError: a number is too small.
    """

    def __init__(self, max_mines: int = 10, max_steps: int = 200, translate: bool = False, width: float = 200.0):
        super().__init__()
        require_whole(self, {"max_mines": (max_mines, 1), "max_steps": (max_steps, 1)})
        if type(width) not in (int, float) or not 4 * REACH <= width < math.inf:
            raise ConfigError(f"Minefield: width={quoted(width)} must be a number, at least {4 * REACH}.")
        self.max_mines, self.max_steps, self.translate, self.width = max_mines, max_steps, translate, width
        self.episode_limit = max_steps
        self.vehicle, self.target, self.direction = (0.0, 0.0), (0.0, 0.0), 0.0
        self.mines: list[Point] = []
        self.step = 0

    def capacity(self) -> dict[str, int]:
        return {VEHICLE: 1, MINE: self.max_mines, TARGET: 1}

    def max_actors(self) -> dict[str, int]:
        return {MOVE: 1}

    def scene(self) -> dict[str, Any]:
        half = self.width / 2
        return {"bounds": [-half, -half, half, half]}

    def obs_space(self) -> ObsSpace:
        place = ["x_pos", "y_pos"]
        return ObsSpace(
            entities={
                VEHICLE: Entity([*place, "direction", "step"]),
                MINE: Entity(list(place)),
                TARGET: Entity(list(place)),
            }
        )

    def action_space(self) -> dict[str, ActionSpace]:
        return {MOVE: CategoricalActionSpace(list(LABELS))}

    def reset(self) -> Observation:
        self.vehicle, self.target = self._place(), self._place()
        while math.dist(self.vehicle, self.target) < REACH:
            self.target = self._place()
        self.mines = []
        for _ in range(self.max_mines):
            mine = self._place()
            if all(math.dist(mine, other) >= APART for other in (*self.mines, self.vehicle, self.target)):
                self.mines.append(mine)
        self.direction, self.step = self._random.uniform(0, 2 * math.pi), 0
        return self._observe()

    def act(self, actions: Mapping[str, Any]) -> Observation:
        choice = actions[MOVE].indices[0]
        if choice == FORWARD:
            x, y = self.vehicle
            self.vehicle = x + SPEED * math.cos(self.direction), y + SPEED * math.sin(self.direction)
        self.direction = (self.direction + TURNS[choice]) % (2 * math.pi)
        self.step += 1
        return self._observe()

    def _place(self) -> Point:
        half = self.width / 2
        return self._random.uniform(-half, half), self._random.uniform(-half, half)

    def _observe(self) -> Observation:
        arrived = math.dist(self.vehicle, self.target) < REACH
        done = arrived or any(math.dist(self.vehicle, mine) < REACH for mine in self.mines)
        x, y = self.vehicle if self.translate else (0.0, 0.0)
        return Observation(
            features={
                VEHICLE: [(*self.vehicle, self.direction, self.step)],
                MINE: [(mx - x, my - y) for mx, my in self.mines],
                TARGET: [(self.target[0] - x, self.target[1] - y)],
            },
            actions={MOVE: CategoricalActionMask(actor_types=[VEHICLE])},
            reward=float(arrived),
            done=done,
            truncated=not done and self.step >= self.max_steps,
        )
