"""The entities of one observation by number, as errors and actions name them."""

from collections import Counter
from collections.abc import Hashable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from envs.entities import reading
from envs.entities.observation import Observation
from utils.errors import MusterError
from utils.nearest import suggestion
from utils.plain_values import quoted


class Roster:
    """The entities of one observation: numbers, types and ids.

    Args:
        counts: of each type of the space, how many entities there are.

    Raises:
        MusterError: ids do not fit the entities.
    """

    def __init__(self, counts: Mapping[str, int], observation: Observation):
        self._counts, self._observation = counts, observation
        self._given = [name for name in observation.ids if name in counts]
        for name in self._given:
            reading.check_ids(f"Entity type '{name}'", observation.ids[name], counts[name])

    @property
    def count(self) -> int:
        return sum(self._counts.values())

    @cached_property
    def ids(self) -> list[Hashable]:
        """The id of each entity by number; (type, position) where the environment gives none."""
        return [identity for name in self._counts for identity in self._observation.ids_of(name)]

    @cached_property
    def types(self) -> list[str]:
        return [name for name, count in self._counts.items() for _ in range(count)]

    @cached_property
    def distinct(self) -> bool:
        """Whether no id that the environment gives is that of two entities."""
        given = [identity for name in self._given for identity in self._observation.ids[name]]
        return len(set(given)) == len(given)

    def chosen(self, where: str, role: str, ids: Any, types: Any) -> np.ndarray:
        """Numbers of the entities with these ids, or of these types, or of all if both are None, in this order.

        Args:
            role: actor or actee.

        Raises:
            MusterError: there is no such entity or type, one is named twice, or an id is that of several.
        """
        if ids is not None and types is not None:
            raise MusterError(f"{where} has both {role}_ids and {role}_types.")
        if types is not None:
            for name in (types := reading.sequence(f"{where}: {role}_types", types, "entity types")):
                if not isinstance(name, str) or name not in self._counts:
                    raise MusterError(
                        f"{where}: {role}_types has '{quoted(name)}', which is no type of the space."
                        f"{suggestion(str(name), self._counts)}"
                    )
            numbers = [number for name in types for number, of in enumerate(self.types) if of == name]
        elif ids is not None:
            ids = reading.sequence(f"{where}: {role}_ids", ids, "ids")
            numbers = [self._number_of(where, role, identity) for identity in ids]
        else:
            numbers = list(range(self.count))
        if len(set(numbers)) < len(numbers):
            twice = next(number for number in numbers if numbers.count(number) > 1)
            raise MusterError(f"{where}: {self._named(twice)} is there twice as {role}.")
        if self._given:
            # of other types than these, an entity may have the same id: the environment knows its actions' types
            times = Counter(self.ids if ids is not None else [self.ids[number] for number in numbers])
            for number in numbers:
                if times[self.ids[number]] > 1:
                    raise MusterError(f"{where}: {role} {self._named(number)} has the id of another entity.")
        return np.array(numbers, np.int64)

    def stuck(self, actor: int, selects: bool) -> str:
        """That an actor has nothing to choose, in words."""
        if actor == self.count:
            return "there is nothing to choose."
        return f"an actor of entity type '{self.types[actor]}' has nothing to {'select' if selects else 'choose'}."

    @cached_property
    def _numbers(self) -> dict[Hashable, int]:
        return {identity: number for number, identity in enumerate(self.ids)}

    def _number_of(self, where: str, role: str, identity: Any) -> int:
        try:
            return self._numbers[identity]
        except (KeyError, TypeError):
            types = sorted(self._counts.keys() - self._given)
            without = f" Types without ids: {', '.join(types)}." if types else ""
            raise MusterError(
                f"{where}: {role}_ids has {quoted(identity)}, which no entity has as id.{without}"
            ) from None

    def _named(self, number: int) -> str:
        return f"{quoted(self.ids[number])} of entity type '{self.types[number]}'"
