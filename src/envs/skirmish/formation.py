"""Where units stand when an episode begins, and who they are."""

import numpy as np

from envs.skirmish.maps import Map
from envs.skirmish.unit_types import TYPE_INDEX, UNIT_TYPES, UnitType

SPACE = 0.1  # between the bodies of a block


def starting_units(battle_map: Map) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Types, x and y of the units of one of SMAC's maps: allies in the order of their ids, then enemies."""
    kinds, xs, ys = [], [], []
    for ally in (True, False):
        side = []
        for spawn in dict.fromkeys(group.spawn for group in battle_map.groups if group.ally == ally):
            names = [g.unit for g in battle_map.groups if g.ally == ally and g.spawn == spawn for _ in range(g.count)]
            places = block([_type(name).radius for name in names], spawn, 1 if ally else -1)
            side += zip(names, *places.T, strict=True)
        if ally:  # SMAC numbers agents by type, then from west to east and from south to north
            order = battle_map.type_order
            side.sort(key=lambda unit: (order.index(unit[0]), unit[1], unit[2]))
        kinds += [TYPE_INDEX[name] for name, _, _ in side]
        xs += [x for _, x, _ in side]
        ys += [y for _, _, y in side]
    return np.array(kinds), np.array(xs), np.array(ys)


def block(radii: list[float], centre: tuple[float, float], turned: int) -> np.ndarray:
    """Places `[units, 2]` in rows of a square around a point; `turned` is -1 for the side that faces the other."""
    side = int(np.ceil(np.sqrt(len(radii))))
    rows = [radii[k : k + side] for k in range(0, len(radii), side)]
    width = max(2 * sum(row) + SPACE * (len(row) - 1) for row in rows)
    height = 2 * sum(max(row) for row in rows) + SPACE * (len(rows) - 1)
    places = []
    y = -height / 2
    for row in rows:
        y += max(row)
        x = -width / 2
        for radius in row:
            places.append((x + radius, y))
            x += 2 * radius + SPACE
        y += max(row) + SPACE
    return np.asarray(centre) + turned * np.array(places)


def _type(name: str) -> UnitType:
    return UNIT_TYPES[TYPE_INDEX[name]]


def spread(names: list[str], places: np.ndarray) -> np.ndarray:
    """Places `[units, 2]` in which units that would start at the same point stand in a block around it."""
    places = np.array(places, dtype=float)
    for spot in np.unique(places, axis=0):
        same = np.nonzero((places == spot).all(axis=1))[0]
        if same.size > 1:
            places[same] = block([UNIT_TYPES[TYPE_INDEX[names[i]]].radius for i in same], tuple(spot), 1)
    return places
