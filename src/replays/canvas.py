"""A picture to draw on, through Pillow."""

import unicodedata
from collections.abc import Sequence
from functools import cache

import numpy as np
from PIL import Image, ImageDraw, ImageFont

OVERSAMPLING = 3  # Pillow's shapes have hard edges: they are drawn this much finer and averaged
TEXT_SIZE = 13

# in place of signs that Pillow's own font draws as empty boxes
_IN_PLACE = str.maketrans({"–": "-", "—": "-", "−": "-", "×": "x", "→": ">", "←": "<"})

Colour = tuple[int, int, int]
Point = tuple[float, float]


@cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def text_width(text: str, size: float = TEXT_SIZE) -> float:
    """Width of one line of text in pixels; `size` is the font's, in pixels."""
    return _font(round(size * OVERSAMPLING)).getlength(_drawable(text)) / OVERSAMPLING


def _drawable(text: str) -> str:
    """The text in letters that the font has: without accents, and with plain signs."""
    parts = unicodedata.normalize("NFKD", text.translate(_IN_PLACE))
    return "".join(part for part in parts if not unicodedata.combining(part))


def shortened(text: str, width: float) -> str:
    """As much of `text` as fits into `width` pixels; an ellipsis stands for the rest."""
    if text_width(text) <= width:
        return text
    while text and text_width(f"{text}…") > width:
        text = text[:-1]
    return f"{text}…"


class Canvas:
    """A picture of `width` x `height` pixels, x to the right, y down; shapes are clipped at its edges."""

    def __init__(self, width: int, height: int, colour: Colour):
        self.width, self.height = width, height
        self._image = Image.new("RGB", (width * OVERSAMPLING, height * OVERSAMPLING), colour)
        self._draw = ImageDraw.Draw(self._image)

    def pixels(self) -> np.ndarray:
        """uint8 `[height, width, 3]`."""
        return np.array(self._image.reduce(OVERSAMPLING))

    def rectangle(self, x: float, y: float, width: float, height: float, colour: Colour) -> None:
        """Fill a rectangle whose upper left corner is (x, y)."""
        left, top, right, bottom = (round(OVERSAMPLING * edge) for edge in (x, y, x + width, y + height))
        if left < right and top < bottom:  # Pillow's rectangles include their last row and column
            self._draw.rectangle((left, top, right - 1, bottom - 1), fill=colour)

    def disc(self, x: float, y: float, radius: float, colour: Colour) -> None:
        self._draw.ellipse(_box(x, y, radius), fill=colour)

    def ring(self, x: float, y: float, radius: float, width: float, colour: Colour) -> None:
        """A circle of that outer radius."""
        self._draw.ellipse(_box(x, y, radius), outline=colour, width=round(OVERSAMPLING * width))

    def square(self, x: float, y: float, radius: float, colour: Colour) -> None:
        """A square around (x, y) with sides of twice the radius."""
        self.rectangle(x - radius, y - radius, 2 * radius, 2 * radius, colour)

    def diamond(self, x: float, y: float, radius: float, colour: Colour) -> None:
        corners = ((x - radius, y), (x, y - radius), (x + radius, y), (x, y + radius))
        self._draw.polygon(_finer(corners), fill=colour)

    def line(self, points: Sequence[Point], width: float, colour: Colour) -> None:
        """A line through the points."""
        self._draw.line(_finer(points), fill=colour, width=round(OVERSAMPLING * width), joint="curve")

    def text(
        self, x: float, y: float, text: str, colour: Colour, *, anchor: str = "lm", size: float = TEXT_SIZE
    ) -> None:
        """Write one line; (x, y) is the point that Pillow's `anchor` names: "lm", "mm" or "rm" with y in the middle."""
        font = _font(round(size * OVERSAMPLING))
        self._draw.text((x * OVERSAMPLING, y * OVERSAMPLING), _drawable(text), fill=colour, font=font, anchor=anchor)


def _box(x: float, y: float, radius: float) -> tuple[int, int, int, int]:
    """The bounding box of a circle, its last row and column included, as Pillow takes it."""
    left, top, side = (round(OVERSAMPLING * part) for part in (x - radius, y - radius, 2 * radius))
    return left, top, left + max(side - 1, 0), top + max(side - 1, 0)


def _finer(points: Sequence[Point]) -> list[Point]:
    return [(x * OVERSAMPLING, y * OVERSAMPLING) for x, y in points]
