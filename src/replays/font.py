"""A small font, so that pictures can have text wherever there is NumPy."""

from functools import cache

import numpy as np

HEIGHT = 5
# five rows of dots each, from the top
GLYPHS = {
    "A": ".#. #.# ### #.# #.#",
    "B": "##. #.# ##. #.# ##.",
    "C": ".## #.. #.. #.. .##",
    "D": "##. #.# #.# #.# ##.",
    "E": "### #.. ##. #.. ###",
    "F": "### #.. ##. #.. #..",
    "G": ".### #... #.## #..# .##.",
    "H": "#.# #.# ### #.# #.#",
    "I": "# # # # #",
    "J": "..# ..# ..# #.# .#.",
    "K": "#.# #.# ##. #.# #.#",
    "L": "#.. #.. #.. #.. ###",
    "M": "#...# ##.## #.#.# #...# #...#",
    "N": "#..# ##.# #.## #..# #..#",
    "O": ".##. #..# #..# #..# .##.",
    "P": "##. #.# ##. #.. #..",
    "Q": ".##. #..# #..# #.#. .#.#",
    "R": "##. #.# ##. #.# #.#",
    "S": ".## #.. .#. ..# ##.",
    "T": "### .#. .#. .#. .#.",
    "U": "#..# #..# #..# #..# .##.",
    "V": "#.# #.# #.# #.# .#.",
    "W": "#...# #...# #.#.# #.#.# .#.#.",
    "X": "#.# #.# .#. #.# #.#",
    "Y": "#.# #.# .#. .#. .#.",
    "Z": "### ..# .#. #.. ###",
    "0": ".#. #.# #.# #.# .#.",
    "1": ".# ## .# .# .#",
    "2": "##. ..# .#. #.. ###",
    "3": "##. ..# .#. ..# ##.",
    "4": "#.# #.# ### ..# ..#",
    "5": "### #.. ##. ..# ##.",
    "6": ".## #.. ##. #.# .#.",
    "7": "### ..# .#. .#. .#.",
    "8": ".#. #.# .#. #.# .#.",
    "9": ".#. #.# .## ..# ##.",
    " ": ".. .. .. .. ..",
    ".": ". . . . #",
    ",": ".. .. .. .# #.",
    ":": ". # . # .",
    "-": "... ... ### ... ...",
    "+": "... .#. ### .#. ...",
    "_": "... ... ... ... ###",
    "=": "... ### ... ### ...",
    "/": "..# ..# .#. #.. #..",
    "(": ".# #. #. #. .#",
    ")": "#. .# .# .# #.",
    "[": "## #. #. #. ##",
    "]": "## .# .# .# ##",
    "°": "## ## .. .. ..",
    "%": "#.# ..# .#. #.. #.#",
    "'": "# # . . .",
    "#": "#.#.# ##### .#.#. ##### #.#.#",
    "*": "... #.# .#. #.# ...",
    "?": "##. ..# .#. ... .#.",
    "!": "# # # . #",
    "<": "..# .#. #.. .#. ..#",
    ">": "#.. .#. ..# .#. #..",
}
UNKNOWN = "### #.# #.# #.# ###"


@cache
def dots(text: str) -> np.ndarray:
    """`text` in capitals as bool `[HEIGHT, width]`, one empty column between characters."""
    columns = [np.zeros((HEIGHT, 0), dtype=bool)]
    for character in text.upper():
        glyph = [[dot == "#" for dot in row] for row in GLYPHS.get(character, UNKNOWN).split()]
        columns += [np.array(glyph), np.zeros((HEIGHT, 1), dtype=bool)]
    return np.concatenate(columns[:-1] if text else columns, axis=1)


def shortened(text: str, width: int) -> str:
    """As much of `text` as fits into `width` dots; two dots stand for what is left out."""
    if dots(text).shape[1] <= width:
        return text
    while text and dots(f"{text}..").shape[1] > width:
        text = text[:-1]
    return f"{text}.."
