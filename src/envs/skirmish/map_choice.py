"""Which map of a list an episode is on: the next one, or more often one that is won less."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

IN_TURN, LESS_WON = "in_turn", "less_won"
CHOICES = (IN_TURN, LESS_WON)
# of an episode in the share of won ones: about the last ten count
RATE = 0.1
# added to the share of lost episodes, so that a map that is always won is still played
LEAST = 0.1


class MapChoice:
    """The choice of B environments, each by itself.

    `in_turn`: environment i of the c that play the list together plays entry i + k c of it (from the start again after
    its end) as episode k. `less_won`: an entry is drawn with a probability in proportion to `LEAST` + 1 - w, where w is
    the share of this environment's episodes on that map that it won, the later ones more (`RATE`), and 0 at first; the
    draw depends on nothing else but the environment's seed and k.

    Args:
        order: of each entry of the list, the number of its map.
        places: for each environment its number among those that share the list, and how many these are.
        how: one of `CHOICES`.
    """

    def __init__(self, order: Sequence[int], places: Sequence[Sequence[int]], how: str):
        self._order, self._places, self._how = np.array(order), places, how
        self.won = np.zeros((len(places), max(order) + 1))
        self._seeds: Sequence[int] = [0] * len(places)

    def seed(self, seeds: Sequence[int]) -> None:
        """Begin again, with these seeds of the environments, `[B]`."""
        self._seeds = seeds
        self.won[:] = 0

    def of(self, b: int, episode: int) -> int:
        """The number of the map that environment b plays episode k on, counted from 0."""
        if self._how == IN_TURN:
            number, copies, *_ = self._places[b]
            return int(self._order[(number + episode * copies) % len(self._order)])
        shares = (LEAST + 1 - self.won[b, self._order]).cumsum()
        drawn = np.random.default_rng([self._seeds[b], episode]).random() * shares[-1]
        return int(self._order[np.searchsorted(shares, drawn, side="right")])

    def ended(self, m: int, rows: np.ndarray, won: np.ndarray) -> None:
        """Episodes on map m have ended in environments `rows`; `won`: bool, of each."""
        self.won[rows, m] += RATE * (won - self.won[rows, m])

    def state_dict(self) -> dict[str, Any]:
        return {"won": self.won.copy()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.won[:] = state["won"]
