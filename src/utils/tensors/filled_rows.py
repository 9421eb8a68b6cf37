"""Sequences of unequal length in few rows of one width."""

from functools import lru_cache

import numpy as np

# Of how many ways to fill a row the fullest is taken, at most
TRIES = 64


def filled_rows(lengths: np.ndarray, width: int) -> tuple[np.ndarray, int]:
    """Share rows of `width` places, at least the longest, among sequences of these lengths, int64 `[S]`.

    Row after row gets the longest sequence that waits, and those that leave the fewest places beside it (Gupta & Ho
    1999, "minimum bin slack"; Fleszar & Hindi 2002). As many rows as possible are filled alike at once.

    Returns:
        The place (row * width + column) where each sequence begins, int64 `[S]`, and the number of rows.
    """
    left = np.bincount(lengths, minlength=1).tolist()
    waiting = [length for length in range(len(left) - 1, 0, -1) if left[length]]
    # of each length its sequences' places: the first of some, one under the other, and how many these are
    columns: dict[int, list[tuple[int, int]]] = {length: [] for length in waiting}
    rows = 0
    while waiting:
        in_row = _fullest_row(tuple((length, min(left[length], width // length)) for length in waiting), width)
        alike = min(left[length] // number for length, number in in_row)
        place = rows * width
        for length, number in in_row:
            columns[length] += [(place + i * length, alike) for i in range(number)]
            place += number * length
            left[length] -= number * alike
        waiting = [length for length in waiting if left[length]]
        rows += alike
    flat = [column for of_length in columns.values() for column in of_length]
    first, count = np.array(flat, np.int64).reshape(-1, 2).T
    places = np.repeat(first - (np.cumsum(count) - count) * width, count) + np.arange(count.sum()) * width
    starts = np.zeros(len(lengths), np.int64)
    starts[np.argsort(-lengths, kind="stable")[: len(places)]] = places
    return starts, rows


@lru_cache(4096)
def _fullest_row(waiting: tuple[tuple[int, int], ...], width: int) -> tuple[tuple[int, int], ...]:
    """Lengths and how often each, with the first of `waiting`, which fill a row best; longer ones are tried first.

    Cached: most calls repeat, as a row does not depend on how many more there are than fit.

    Args:
        waiting: the lengths that there are, longest first, and of each how many, at most as many as fit into a row.
    """
    fullest: tuple[tuple[int, int], ...] = ()
    least, tries = width, TRIES

    def fill(at: int, free: int, row: tuple[tuple[int, int], ...]) -> None:
        nonlocal fullest, least, tries
        while at < len(waiting) and waiting[at][0] > free:
            at += 1
        if at == len(waiting):
            tries -= 1
            if free < least:
                fullest, least = row, free
            return
        length, there = waiting[at]
        for number in range(min(there, free // length), -1 if row else 0, -1):
            fill(at + 1, free - number * length, (*row, (length, number)) if number else row)
            if not (least and tries):
                return

    fill(0, width, ())
    return fullest
