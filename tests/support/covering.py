"""Few cases of a product of choices, with every pair of choices that some case of the product has."""

from collections.abc import Iterable
from itertools import combinations


def pairs_of(case: tuple) -> set[tuple]:
    """The pairs of its choices, each choice with its place."""
    return set(combinations(enumerate(case), 2))


def covering(cases: Iterable[tuple]) -> list[tuple]:
    """Some of the `cases`, of several choices each, that together have every pair of choices which any of them has.

    Parts meet in pairs, so a product of three kinds of parts would try each pair again for every part of the third
    kind: this is the usual remedy, all-pairs testing. The case with the most pairs that are missing is next, the first
    of several: the choice is always the same, and the pairs of a new part are in it at once.
    """
    cases = list(cases)
    missing = set().union(*map(pairs_of, cases))
    chosen = []
    while missing:
        chosen.append(max(cases, key=lambda case: len(pairs_of(case) & missing)))
        missing -= pairs_of(chosen[-1])
    return chosen
