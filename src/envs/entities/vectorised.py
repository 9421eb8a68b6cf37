"""Games that play many copies in a few operations on arrays, in place of one copy after the other."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from envs.entities.copies import Copy
from envs.entities.environment import Environment
from envs.entities.layout import Layout
from utils.config.registry import loaded

Arrays = Mapping[str, np.ndarray]


class VectorisedGame(Protocol):
    """B copies of a game, which play as its class does. It has their states; the games get theirs back when asked.

    A game's class names it by `vectorised_by = "module:Class"`; its arguments are the games, their layout and the
    arrays of observations (`envs.entities.encoding`), which it writes. Rows are int64 `[k]`.
    """

    def take(self, rows: np.ndarray) -> None:
        """Take the states of these games, which have begun an episode or were restored."""

    def give_back(self, rows: np.ndarray) -> None:
        """Give these games their states, in which they may be saved or observed."""

    def act(self, rows: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Let the actors of these games act; `chosen` are the choices of their slots, int64 `[k, n]`.

        Returns:
            reward float64 `[k]`; done and truncated, bool `[k]`.
        """

    def write(self, rows: np.ndarray) -> None:
        """Write the present observations of these games."""


def vectorised(copies: Sequence[Copy], layout: Layout, arrays: Arrays) -> VectorisedGame | None:
    """What plays these copies at once; None: their class has no such way, or not for arrays as small as these."""
    games = [copy.env for copy in copies]
    # a class that inherits from the game may play otherwise
    name = vars(type(games[0])).get("vectorised_by")
    if name is None or not _has_room(layout, games[0]):
        return None
    return loaded(name)(games, layout, arrays)


def _has_room(layout: Layout, game: Environment) -> bool:
    entities, actors = game.capacity(), game.max_actors()
    return all(layout.entities[name] >= count for name, count in (entities or {}).items()) and all(
        layout.actors[name] >= count for name, count in (actors or {}).items()
    )
