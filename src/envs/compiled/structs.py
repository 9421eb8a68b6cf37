"""Structs of plain numbers: what numba compiles to bare loads and stores, and what a simulated world is saved as."""

import numpy as np


def struct(fields: list[tuple]) -> np.dtype:
    """A structured dtype whose fields can be read as attributes, compiled or not."""
    return np.dtype((np.record, np.dtype(fields, align=True)))
