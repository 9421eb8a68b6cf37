"""A picture of a battle, with NumPy alone."""

from typing import TYPE_CHECKING

import numpy as np

from envs.skirmish.unit_types import UNIT_TYPES

if TYPE_CHECKING:
    from envs.skirmish.batch import BatchedSkirmish

SCALE = 16  # pixels for one map unit
OPEN, CLOSED, DEAD = (232, 230, 222), (120, 116, 108), (170, 166, 158)
ALLY, ENEMY = (40, 110, 200), (205, 60, 50)
HEALTH, SHIELD, LOST, SHOT = (60, 170, 70), (90, 170, 230), (60, 60, 60), (250, 180, 40)


def draw_battle(battles: "BatchedSkirmish", b: int = 0) -> np.ndarray:
    """Battle b from above, north up: uint8 `[height, width, 3]`. Discs are bodies, bars above them health and shield,
    lines attacks and healing; a small mark is where a unit died."""
    units, n = battles.battles.units[b], battles.n_agents
    ground = np.where(battles.scenario.open[..., None] > 0, OPEN, CLOSED).astype(np.uint8)
    picture = np.kron(ground, np.ones((SCALE, SCALE, 1), dtype=np.uint8))  # indexed [x, y]
    for unit in units[units["health"] <= 0]:
        _disc(picture, unit.x, unit.y, 0.15, DEAD)
    alive = np.nonzero(units["health"] > 0)[0]
    for i in alive:
        unit = units[i]
        radius = UNIT_TYPES[unit.kind].radius
        _disc(picture, unit.x, unit.y, radius, ALLY if i < n else ENEMY)
        if unit.cooldown > 0 and unit.target >= 0:
            _line(picture, unit, units[unit.target])
    for i in alive:
        _bars(picture, units[i])
    return np.ascontiguousarray(picture.transpose(1, 0, 2)[::-1])


def _disc(picture: np.ndarray, x: float, y: float, radius: float, colour) -> None:
    low_x, low_y = (max(int((c - radius) * SCALE), 0) for c in (x, y))
    high_x, high_y = (int((c + radius) * SCALE) + 2 for c in (x, y))
    part = picture[low_x:high_x, low_y:high_y]
    xs = (np.arange(part.shape[0]) + low_x + 0.5) / SCALE - x
    ys = (np.arange(part.shape[1]) + low_y + 0.5) / SCALE - y
    part[xs[:, None] ** 2 + ys[None] ** 2 <= radius * radius] = colour


def _line(picture: np.ndarray, unit: np.record, target: np.record) -> None:
    share = np.linspace(0, 1, 2 * SCALE * 10)
    xs = ((unit.x + share * (target.x - unit.x)) * SCALE).astype(int)
    ys = ((unit.y + share * (target.y - unit.y)) * SCALE).astype(int)
    inside = (xs >= 0) & (ys >= 0) & (xs < picture.shape[0]) & (ys < picture.shape[1])
    picture[xs[inside], ys[inside]] = SHOT


def _bars(picture: np.ndarray, unit: np.record) -> None:
    kind = UNIT_TYPES[unit.kind]
    left = int((unit.x - kind.radius) * SCALE)
    width = int(2 * kind.radius * SCALE)
    top = int((unit.y + kind.radius) * SCALE) + 2
    for row, (now, full, colour) in enumerate([(unit.health, kind.health, HEALTH), (unit.shield, kind.shield, SHIELD)]):
        if full > 0:
            filled = left + round(width * float(now) / full)
            height = slice(max(top + 3 * row, 0), max(top + 3 * row + 2, 0))
            picture[max(left, 0) : max(filled, 0), height] = colour
            picture[max(filled, 0) : max(left + width, 0), height] = LOST
