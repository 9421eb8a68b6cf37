"""The units at the start of an episode, and their places."""

from functools import cache

import numpy as np

from envs.skirmish.kernel.placing import place_in_turn
from envs.skirmish.maps import Map
from envs.skirmish.unit_types import ALLY_INDEX, TYPE_INDEX

GRID = 1 / 16  # between the places that are tried: the game's radii are multiples of it
FAR = 8.0  # no place further away is tried


Side = tuple[list[str], np.ndarray]  # names of the units of one side in the order of their creation, and where


def starting_units(battle_map: Map, types: np.ndarray, is_open: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The units of one of SMAC's maps, as `numbered_units` gives them."""

    def side(ally: bool) -> Side:
        spots = [(g.unit, g.spawn) for g in battle_map.groups if g.ally == ally for _ in range(g.count)]
        return [name for name, _ in spots], np.array([point for _, point in spots])

    return numbered_units(side(True), side(False), battle_map.type_order, types, is_open)


def numbered_units(
    allies: Side, enemies: Side, type_order: tuple[str, ...], types: np.ndarray, is_open: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Types `[U]` and places `[U, 2]` of all units once created: allies in the order of their ids, then enemies.

    Args:
        type_order: that of the allies' ids.
        types: `unit_types.type_table()`.
        is_open: cells of open ground, `[x, y]`.
    """
    (ally_names, ally_points), (enemy_names, enemy_points) = allies, enemies
    kinds = np.array([ALLY_INDEX[name] for name in ally_names] + [TYPE_INDEX[name] for name in enemy_names])
    places = stand(kinds, np.concatenate([ally_points, enemy_points]), types, is_open)
    # SMAC numbers agents by type, then from west to east and from south to north
    ids = sorted(range(len(ally_names)), key=lambda i: (type_order.index(ally_names[i]), *places[i]))
    ids += range(len(ally_names), len(kinds))
    return kinds[ids], places[ids]


def stand(kinds: np.ndarray, points: np.ndarray, types: np.ndarray, is_open: np.ndarray) -> np.ndarray:
    """Places `[U, 2]` of units created one after another at `points` `[U, 2]`: each at the nearest free place."""
    places = np.array(points, dtype=np.float64)
    figures = types[kinds]
    place_in_turn(places, figures["body"].copy(), figures["layer"].copy(), np.ascontiguousarray(is_open), _offsets())
    return places


@cache
def _offsets() -> np.ndarray:
    """Offsets `[N, 2]` up to `FAR`: nearest first, of those as near the one in the east, then clockwise."""
    steps = np.arange(-FAR / GRID, FAR / GRID + 1) * GRID
    dx, dy = (axis.reshape(-1) for axis in np.meshgrid(steps, steps, indexing="ij"))
    clockwise = np.arctan2(-dy, dx) % (2 * np.pi)
    square = dx * dx + dy * dy
    order = np.lexsort((clockwise, square))[: np.count_nonzero(square <= FAR * FAR)]
    return np.column_stack([dx, dy])[order]
