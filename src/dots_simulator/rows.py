"""Rows of one turn: the agents that ask, or those that end."""

from collections.abc import Sequence

import numpy as np

from dots_simulator.groups import GroupSpec


class Cuts:
    """The first rows of arrays, in views that are kept: most turns show as many rows as the turn before, and views take
    as long to make as small arrays to copy."""

    def __init__(self, arrays: Sequence[np.ndarray]):
        self._arrays, self._count = arrays, -1
        self._views: list[np.ndarray] = []

    def first(self, count: int) -> list[np.ndarray]:
        """Views of the first rows of each array."""
        if count != self._count:
            self._count, self._views = count, [array[:count] for array in self._arrays]
        return self._views


class Rows:
    """Writes rows into the arrays of one block, decisions or ended; few steps, as it is most of what a simulator's turn
    costs."""

    def __init__(self, spec: GroupSpec, block: str):
        self._spec, self._block = spec, block
        self._shapes = [observation.shape for observation in spec.observations]
        # of this turn
        self.shown = 0
        # until there are arrays, not one row has room
        self._most = -1
        self._arrays: list[np.ndarray] = []
        self._first = Cuts([])
        # of one number, in the arrays: how many rows the trainer shall see
        self.counted = memoryview(bytearray(4)).cast("i")

    def bind(self, views: dict[str, np.ndarray]) -> None:
        """Write into these arrays, named as `GroupLayout` names those of protocol 0.3.2."""
        block = self._block
        observations = [views[f"{block}/obs/{i}"] for i in range(len(self._shapes))]
        self._arrays = [*observations, views[f"{block}/reward"], views[f"{block}/agent_id"]]
        self._first = Cuts(self._arrays)
        self.counted = views[f"{block}/count"].reshape(1).view(np.uint8).data.cast("i")
        self._most = self._spec.max_agents

    def write(
        self, agent_ids: Sequence[int] | np.ndarray, observations: Sequence[np.ndarray], rewards: float | np.ndarray
    ) -> slice:
        """The rows written. Raises ValueError: see `Behaviour.decide`."""
        count = len(agent_ids)
        start, end = self.shown, self.shown + count
        if end > self._most or len(observations) != len(self._shapes):
            self._refuse(end, len(observations))
        places = self._first.first(end) if start == 0 else [array[start:end] for array in self._arrays]
        for i, seen in enumerate(observations):
            place = places[i]
            if seen.shape != place.shape:
                raise ValueError(
                    f"observation {i} of '{self._spec.name}' has shape {seen.shape}; it must be {place.shape}"
                )
            place[...] = seen
        places[-2][...] = rewards
        places[-1][...] = agent_ids
        self.shown = end
        return slice(start, end)

    def recall(self) -> None:
        """Take the number of rows from the arrays."""
        self.shown = self.counted[0]

    def _refuse(self, end: int, observations: int) -> None:
        name = f"'{self._spec.name}'"
        if self._most < 0:
            raise ValueError(f"{name} cannot show anything before the first exchange()")
        if end > self._most:
            raise ValueError(f"{name} shows {end} agents in a turn; it was registered with {self._most}")
        raise ValueError(f"{name} has {len(self._shapes)} observations; {observations} were given")
