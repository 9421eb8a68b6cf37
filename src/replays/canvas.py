"""A picture to draw on, with NumPy alone."""

from collections.abc import Callable

import numpy as np

from replays.font import HEIGHT, dots

OVERSAMPLING = 2  # edges are drawn this much finer and averaged

Colour = tuple[int, int, int]


class Canvas:
    """A picture of `width` x `height` pixels, x to the right, y down; what lies outside is cut off."""

    def __init__(self, width: int, height: int, colour: Colour):
        self.width, self.height = width, height
        self._fine = np.empty((height * OVERSAMPLING, width * OVERSAMPLING, 3), dtype=np.uint8)
        self._fine[:] = colour

    def pixels(self) -> np.ndarray:
        """uint8 `[height, width, 3]`."""
        parts = self._fine.reshape(self.height, OVERSAMPLING, self.width, OVERSAMPLING, 3)
        return parts.mean(axis=(1, 3)).round().astype(np.uint8)

    def rectangle(self, x: float, y: float, width: float, height: float, colour: Colour) -> None:
        """Fill a rectangle whose upper left corner is (x, y)."""
        left, right, top, bottom = (max(round(OVERSAMPLING * edge), 0) for edge in (x, x + width, y, y + height))
        self._fine[top:bottom, left:right] = colour

    def disc(self, x: float, y: float, radius: float, colour: Colour) -> None:
        self._where(x, y, radius, lambda dx, dy: dx * dx + dy * dy <= radius * radius, colour)

    def ring(self, x: float, y: float, radius: float, width: float, colour: Colour) -> None:
        """A circle of that outer radius."""
        inner = max(radius - width, 0)

        def inside(dx, dy):
            squared = dx * dx + dy * dy
            return (squared <= radius * radius) & (squared >= inner * inner)

        self._where(x, y, radius, inside, colour)

    def square(self, x: float, y: float, radius: float, colour: Colour) -> None:
        """A square around (x, y), half a side being `radius`."""
        self.rectangle(x - radius, y - radius, 2 * radius, 2 * radius, colour)

    def diamond(self, x: float, y: float, radius: float, colour: Colour) -> None:
        self._where(x, y, radius, lambda dx, dy: np.abs(dx) + np.abs(dy) <= radius, colour)

    def line(self, x0: float, y0: float, x1: float, y1: float, width: float, colour: Colour) -> None:
        along_x, along_y = x1 - x0, y1 - y0
        squared = max(along_x**2 + along_y**2, 1e-9)
        middle_x, middle_y = (x0 + x1) / 2, (y0 + y1) / 2

        def inside(dx, dy):
            from_x, from_y = dx + middle_x - x0, dy + middle_y - y0
            share = np.clip((from_x * along_x + from_y * along_y) / squared, 0, 1)
            return (from_x - share * along_x) ** 2 + (from_y - share * along_y) ** 2 <= width * width / 4

        self._where(middle_x, middle_y, (max(abs(along_x), abs(along_y)) + width) / 2 + 1, inside, colour)

    def text(self, x: float, y: float, text: str, colour: Colour, size: int = 2) -> None:
        """Write with dots of `size` pixels; (x, y) is the upper left corner."""
        side = size * OVERSAMPLING
        letters = np.kron(dots(text), np.ones((side, side), dtype=bool))
        top, left = round(y * OVERSAMPLING), round(x * OVERSAMPLING)
        letters = letters[max(-top, 0) :, max(-left, 0) :]
        part = self._fine[max(top, 0) :, max(left, 0) :][: letters.shape[0], : letters.shape[1]]
        part[letters[: part.shape[0], : part.shape[1]]] = colour

    def text_around(self, x: float, y: float, text: str, colour: Colour, size: int = 2) -> None:
        """Write with (x, y) in the middle."""
        self.text(x - dots(text).shape[1] * size / 2, y - HEIGHT * size / 2, text, colour, size)

    def _where(self, x: float, y: float, reach: float, inside: Callable, colour: Colour) -> None:
        """Colour what is `inside(dx, dy)`, in pixels from (x, y), and not further than `reach`."""
        left, top = (max(int((axis - reach) * OVERSAMPLING), 0) for axis in (x, y))
        right, bottom = (max(int((axis + reach) * OVERSAMPLING) + 2, 0) for axis in (x, y))
        part = self._fine[top:bottom, left:right]
        dx = (np.arange(part.shape[1]) + left + 0.5) / OVERSAMPLING - x
        dy = (np.arange(part.shape[0]) + top + 0.5) / OVERSAMPLING - y
        part[inside(dx[None], dy[:, None])] = colour
