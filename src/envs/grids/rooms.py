"""PressurePlate's rooms: one above the other, with a wall and a door between each two of them."""

from typing import NamedTuple

import numpy as np

WIDTH = 9
GOAL = (3, 1)
SIGHT = 2  # cells to each side
OPEN, WALL, DOOR = 0, 1, 2  # door k is DOOR + k
_PLATES = ((7, 21), (2, 17), (7, 13), (2, 9), (7, 5))


class Rooms(NamedTuple):
    """Cells (x, y), y downwards; the first door, plate and room are the lowest."""

    height: int
    doors: tuple[tuple[int, tuple[int, ...]], ...]  # (y, xs); the rest of row y is a wall
    plates: tuple[tuple[int, int], ...]  # plate k opens door k while agent k stands on it
    starts: tuple[tuple[int, int], ...]

    @property
    def ground(self) -> np.ndarray:
        """`[H, W]` int64 of OPEN, WALL, DOOR + k."""
        ground = np.full((self.height, WIDTH), OPEN)
        for k, (y, xs) in enumerate(self.doors):
            ground[y] = WALL
            ground[y, list(xs)] = DOOR + k
        return ground

    @property
    def views(self) -> np.ndarray:
        """What an agent sees on each cell, `[H, W, 4, 5, 5]` float32: starts, plates, doors, the goal."""
        layers = np.zeros((4, self.height, WIDTH), np.float32)
        for layer, cells in ((0, self.starts), (1, self.plates), (3, [GOAL])):
            for x, y in cells:
                layers[layer, y, x] = 1
        layers[2] = self.ground >= DOOR
        padded = np.pad(layers, ((0, 0), (SIGHT, SIGHT), (SIGHT, SIGHT)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (2 * SIGHT + 1, 2 * SIGHT + 1), axis=(1, 2))
        return np.ascontiguousarray(windows.transpose(1, 2, 0, 3, 4))


ROOMS = {
    4: Rooms(15, ((11, (6, 7)), (7, (2, 3)), (3, (6, 7))), _PLATES[2:], ((5, 13), (5, 12), (4, 13), (4, 12))),
    5: Rooms(
        19,
        ((15, (2, 3, 4)), (11, (5, 6, 7)), (7, (2, 3, 4)), (3, (5, 6, 7))),
        _PLATES[1:],
        ((6, 16), (5, 17), (5, 16), (4, 17), (4, 16)),
    ),
    6: Rooms(
        23,
        ((19, (5, 6, 7)), (15, (2, 3, 4)), (11, (5, 6, 7)), (7, (2, 3, 4)), (3, (5, 6, 7))),
        _PLATES,
        ((6, 21), (6, 20), (5, 21), (5, 20), (4, 21), (4, 20)),
    ),
}
