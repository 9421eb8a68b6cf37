"""The entities of one observation: their numbers by type and by id."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from envs.entities import reading
from utils.errors import MusterError
from utils.nearest import suggestion
from utils.plain_values import shown


class Roster:
    """Numbers count entities, type after type in the order of the space, whether they have ids or not.

    Args:
        counts: of each type of the space, how many entities there are.
        ids: of some types, an id for each.
    """

    def __init__(self, counts: Mapping[str, int], ids: Mapping[str, Sequence[Hashable]]):
        self._counts, self._given, self.count = counts, ids, sum(counts.values())

    @cached_property
    def ids(self) -> list[Hashable]:
        """The id of each entity by number; (type, position) where the environment gives none."""
        return [
            identity
            for name, count in self._counts.items()
            for identity in self._given.get(name, [(name, i) for i in range(count)])
        ]

    @cached_property
    def types(self) -> list[str]:
        """The type of each entity by number."""
        return [name for name, count in self._counts.items() for _ in range(count)]

    @cached_property
    def _ranges(self) -> dict[str, range]:
        first, ranges = 0, {}
        for name, count in self._counts.items():
            ranges[name] = range(first, first + count)
            first += count
        return ranges

    @cached_property
    def _numbers(self) -> dict[Hashable, int]:
        return {identity: number for number, identity in enumerate(self.ids)}

    @cached_property
    def _ambiguous(self) -> set[Hashable]:
        return _repeated(self.ids)

    def chosen(self, where: str, kind: str, ids: Any, types: Any) -> np.ndarray:
        """Numbers of the entities with these ids, or of these types, or of all if both are None, in this order.

        Args:
            kind: actor or actee.

        Raises:
            MusterError: there is no such entity or type, one is named twice, or an id is that of several.
        """
        if ids is not None and types is not None:
            raise MusterError(f"{where} has both {kind}_ids and {kind}_types.")
        if types is not None:
            for name in (types := reading.sequence(f"{where}: {kind}_types", types, "entity types")):
                if not isinstance(name, str) or name not in self._counts:
                    raise MusterError(
                        f"{where}: {kind}_types has '{shown(name)}', which is no type of the space."
                        f"{suggestion(str(name), self._counts)}"
                    )
            numbers = [number for name in types for number in self._ranges[name]]
        elif ids is not None:
            ids = reading.sequence(f"{where}: {kind}_ids", ids, "ids")
            numbers = [self._number_of(where, kind, identity) for identity in ids]
        else:
            numbers = list(range(self.count))
        if len(set(numbers)) < len(numbers):
            twice = next(number for number in numbers if numbers.count(number) > 1)
            raise MusterError(f"{where}: {self._named(twice)} is there twice as {kind}.")
        if self._given:
            # of other types than these, an entity may have the same id: the environment knows its actions' types
            double = self._ambiguous if ids is not None else _repeated([self.ids[number] for number in numbers])
            for number in numbers:
                if self.ids[number] in double:
                    raise MusterError(f"{where}: {kind} {self._named(number)} has the id of another entity.")
        return np.array(numbers, np.int64)

    def _number_of(self, where: str, kind: str, identity: Any) -> int:
        try:
            return self._numbers[identity]
        except (KeyError, TypeError):
            types = sorted(set(self._counts) - set(self._given))
            without = f" Types without ids: {', '.join(types)}." if types else ""
            raise MusterError(
                f"{where}: {kind}_ids has {shown(identity)}, which no entity has as id.{without}"
            ) from None

    def _named(self, number: int) -> str:
        return f"{shown(self.ids[number])} of entity type '{self.types[number]}'"


def _repeated(ids: Sequence[Hashable]) -> set[Hashable]:
    """Those that are there more than once."""
    if len(set(ids)) == len(ids):
        return set()
    return {identity for identity, times in Counter(ids).items() if times > 1}
