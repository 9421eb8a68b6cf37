"""How far everything is from a cook, by the fewest actions, turns included and the other cook left out."""

import numpy as np

from envs.overcooked.layouts import DISHES, FLOOR, ONIONS, POT, SERVING, TOMATOES, Layout

DIRECTIONS = np.array([(0, -1), (0, 1), (1, 0), (-1, 0)])  # north, south, east, west
NEAREST = (ONIONS, TOMATOES, DISHES, SERVING)
FAR = 2**30


class Ways:
    """
    Attributes:
        nearest: `[H, W, 4, len(NEAREST), 2]` float32: from a cell and direction to the nearest of each kind; 0, 0: none
            can be reached. Of equally near ones the first, row by row.
        pots: `[H, W, 4, 2]` int64: the numbers of the two nearest pots; -1: none.
    """

    def __init__(self, layout: Layout):
        height, width = layout.ground.shape
        self._floor = layout.ground == FLOOR
        self._after = self._steps()
        self.nearest = np.zeros((height, width, 4, len(NEAREST), 2), np.float32)
        y, x, _ = np.indices((height, width, 4))
        for k, kind in enumerate(NEAREST):
            cells = layout.cells(kind)
            if len(cells):
                distances = np.stack([self._to(cell) for cell in cells])
                chosen = cells[distances.argmin(axis=0)]
                reached = (distances.min(axis=0) < FAR)[..., None]
                self.nearest[:, :, :, k] = np.where(reached, chosen - np.stack([x, y], axis=-1), 0)
        self.pots = np.full((height, width, 4, 2), -1)
        distances = np.stack([self._to(cell) for cell in layout.cells(POT)])
        for place in range(min(2, len(distances))):
            nearest = distances.argmin(axis=0)
            self.pots[..., place] = np.where(distances.min(axis=0) < FAR, nearest, -1)
            np.put_along_axis(distances, nearest[None], FAR, axis=0)

    def _steps(self) -> np.ndarray:
        """Where each direction leads from each cell, as numbers of (cell, direction), `[H, W, 4]`."""
        height, width = self._floor.shape
        y, x = np.indices((height, width))
        after = np.zeros((height, width, 4), np.int64)
        for a, (dx, dy) in enumerate(DIRECTIONS):
            ny, nx = np.clip(y + dy, 0, height - 1), np.clip(x + dx, 0, width - 1)
            free = self._floor[ny, nx]
            after[:, :, a] = (np.where(free, ny, y) * width + np.where(free, nx, x)) * 4 + a
        return after

    def _to(self, cell: np.ndarray) -> np.ndarray:
        """The fewest actions from each cell and direction until one faces this cell, `[H, W, 4]`."""
        height, width = self._floor.shape
        distances = np.full((height, width, 4), FAR)
        for a, (dx, dy) in enumerate(DIRECTIONS):
            x, y = cell[0] - dx, cell[1] - dy
            if 0 <= x < width and 0 <= y < height and self._floor[y, x]:
                distances[y, x, a] = 0
        while True:
            nearer = np.minimum(distances, 1 + distances.ravel()[self._after].min(axis=2, keepdims=True))
            if (nearer == distances).all():
                return distances
            distances = nearer
