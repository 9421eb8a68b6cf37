"""Few cases of a product of choices, with every pair of choices that some case of the product has."""

from collections.abc import Callable, Iterable
from itertools import combinations
from typing import Any


def pairs_of(case: tuple) -> set[tuple]:
    """The pairs of its choices, each choice with its place."""
    return set(combinations(enumerate(case), 2))


def covering(cases: Iterable, of: Callable[[Any], set] = pairs_of) -> list:
    """Some of the `cases`, of several choices each, that together have every pair of choices which any of them has.

    Or all else that cases are `of`, by a function of one.

    Parts meet in pairs, so a product of three kinds of parts would try each pair again for every part of the third
    kind: this is the usual remedy, all-pairs testing. The case with the most pairs that are missing is next, the first
    of several: the choice is always the same, and the pairs of a new part are in it at once.
    """
    cases = list(cases)
    pairs = [of(case) for case in cases]
    holders: dict[tuple, list[int]] = {}
    for place, found in enumerate(pairs):
        for pair in found:
            holders.setdefault(pair, []).append(place)
    missing = [len(found) for found in pairs]  # how many pairs of each case no chosen one has
    chosen = []
    while most := max(missing, default=0):
        chosen.append(missing.index(most))
        for pair in pairs[chosen[-1]]:
            for place in holders.pop(pair, ()):
                missing[place] -= 1
    return [cases[place] for place in chosen]
