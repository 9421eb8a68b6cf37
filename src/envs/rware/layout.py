"""Warehouses as grids: ways, places of shelves, goals."""

from typing import Any, NamedTuple

import numpy as np

from utils.errors import ConfigError
from utils.plain_values import quoted

MOST_CELLS = 2**15 - 1  # numbers of agents and shelves are kept in 16 bits
SIGNS = {"g": "a goal", "x": "a shelf", ".": "a way"}


class Layout(NamedTuple):
    """Cells [y, x], y downwards."""

    ways: np.ndarray  # [H, W] bool: where agents may carry shelves past shelves, and where no shelf belongs
    goals: list[tuple[int, int]]  # x, y

    @property
    def n_shelves(self) -> int:
        return int((~self.ways).sum())


def of_shelves(rows: int, columns: int, column_height: int) -> Layout:
    """Rows of so many double columns of shelves, with ways between them, and two goals below the middle.

    Raises:
        ConfigError: an even number of columns, or too many cells.
    """
    if columns % 2 == 0:
        raise ConfigError(f"env_args.shelf_columns is {columns}; it must be an odd number.")
    height, width = (column_height + 1) * rows + 2, 3 * columns + 1
    require_size("shelf_rows, shelf_columns and column_height", height, width)
    y, x = np.indices((height, width))
    middle = (width // 2 - 1, width // 2)
    queue = (y > height - (column_height + 3)) & np.isin(x, middle)
    ways = (x % 3 == 0) | (y % (column_height + 1) == 0) | (y == height - 1) | queue
    return Layout(ways, [(place, height - 1) for place in middle])


def of_text(text: Any) -> Layout:
    """A drawing with a letter a cell (`SIGNS`), spaces left out: lines, or a list of lines.

    Raises:
        ConfigError: it is no such drawing.
    """
    if isinstance(text, list | tuple) and all(isinstance(line, str) for line in text):
        text = "\n".join(text)
    if not isinstance(text, str) or not text.strip():
        raise ConfigError(f"env_args.layout is {quoted(text)}; it must be a text, or a list of its lines.")
    rows = text.strip().replace(" ", "").lower().split("\n")
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            raise ConfigError(f"env_args.layout: line {number} has {len(row)} cells, and the first one {len(rows[0])}.")
        for sign in row:
            if sign not in SIGNS:
                known = ", ".join(f"{one} ({what})" for one, what in SIGNS.items())
                raise ConfigError(f"env_args.layout: line {number} has '{quoted(sign)}'; cells are {known}.")
    require_size("layout", len(rows), len(rows[0]))
    cells = np.array([list(row) for row in rows])
    goals = [(int(x), int(y)) for y, x in np.argwhere(cells == "g")]
    if not goals:
        raise ConfigError("env_args.layout has no goal (g).")
    return Layout(cells != "x", goals)


def require_size(which: str, height: int, width: int) -> None:
    if height * width > MOST_CELLS:
        raise ConfigError(
            f"env_args.{which}: the warehouse would have {height} x {width} cells; it can have {MOST_CELLS}."
        )
