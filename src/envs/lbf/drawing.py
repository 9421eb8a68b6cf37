"""Level-based foraging as a person sees it."""

from collections.abc import Iterable, Sequence
from typing import Any

ACTIONS = ("none", "north", "south", "west", "east", "load")
RADIUS = 0.38


def scene(rows: int, columns: int) -> dict[str, Any]:
    return {"title": "level-based foraging", "bounds": [-0.5, -0.5, columns - 0.5, rows - 0.5], "grid": 1}


def snapshot(rows: int, players: Iterable[Sequence[int]], foods: Iterable[Sequence[int]]) -> dict[str, Any]:
    """Agents and the food that is left, in the middle of their cells, with their levels.

    Args:
        players: row, column and level of each.
        foods: the same.
    """
    north = rows - 1
    units: list[dict[str, Any]] = [
        {"id": f"food {row} {column}", "team": None, "kind": "food", "label": str(level), "level": int(level)}
        | {"shape": "diamond", "x": int(column), "y": int(north - row), "radius": RADIUS}
        for row, column, level in foods
    ]
    units += [
        {"id": i, "team": 0, "agent": i, "kind": "agent", "label": str(level), "level": int(level)}
        | {"x": int(column), "y": int(north - row), "radius": RADIUS}
        for i, (row, column, level) in enumerate(players)
    ]
    return {"units": units}
