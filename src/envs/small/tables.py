"""Payoff tables as replays show them (docs/replays.md)."""

from typing import Any

import numpy as np


def bounds_of(table: np.ndarray) -> list[float]:
    rows, columns = table.shape
    return [-0.7, -rows + 0.3, columns - 0.3, 0.7]


def units_of(table: np.ndarray, chosen: tuple[int, int] | None) -> list[dict[str, Any]]:
    """Squares, a row for each action of agent 0 and a column for all actions of the others; a ring: what was chosen.

    Args:
        table: texts `[rows, columns]`.
    """
    units = [
        {"id": f"{row} {column}", "team": None, "kind": "payoff", "label": str(label), "shape": "square"}
        | {"x": column, "y": -row, "radius": 0.42}
        for (row, column), label in np.ndenumerate(table)
    ]
    if chosen is not None:
        ring = {"id": "chosen", "team": 0, "kind": "joint action", "shape": "ring", "radius": 0.47}
        units.append(ring | {"x": chosen[1], "y": -chosen[0]})
    return units
