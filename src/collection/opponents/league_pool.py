"""The copies of a league that a player knows, which it meets instead of a pool of its own."""

import random
from collections.abc import Callable, Mapping
from typing import Any

from collection.opponents.matchmaking import ITSELF, ROLES, FrozenCopy, Matchmaking
from collection.opponents.pool import Weights

# copies whose weights are kept in memory
KEPT = 32


class LeaguePool:
    """Frozen copies by name, "player/step", and who meets whom (see `pool.Pool`).

    What it knows changes when `look` is called only, so that draws do not depend on how fast other runs are.

    Args:
        matchmaking: the player's.
        interval: steps between two looks.
        seed: of its random numbers.
        rate: (the group that learns, the name of a copy) -> the rate at which it is beaten.
        read: the name of a copy -> its weights.
    """

    def __init__(
        self,
        matchmaking: Matchmaking,
        interval: int,
        seed: int,
        rate: Callable[[str, str], float],
        read: Callable[[str], Weights],
    ):
        self.player, self._matchmaking, self._interval = matchmaking.player, matchmaking, interval
        self._rate, self._read = rate, read
        self.random = random.Random(seed)
        self.copies: list[FrozenCopy] = []
        self._last: int | None = None
        self._weights: dict[str, Weights] = {}

    def due(self, t_env: int) -> bool:
        """Whether it is time to look after `t_env` steps."""
        return self._last is None or t_env - self._last >= self._interval

    def look(self, t_env: int, copies: list[FrozenCopy]) -> None:
        """These are all copies after `t_env` steps."""
        self._last, self.copies = t_env, copies

    @property
    def past(self) -> list[str]:
        """The player's own copies, from the oldest to the newest."""
        return [copy.name for copy in self.copies if copy.player == self.player]

    @property
    def tested(self) -> list[str]:
        """The newest copies of all other players."""
        return [copy.name for copy in self._newest().values()]

    def ranks(self) -> dict[str, str]:
        """Their names in statistics: those of their players."""
        return {copy.name: player for player, copy in self._newest().items()}

    def opponents(self, team: str) -> list[str]:
        """All copies: each has weights for every team."""
        return [copy.name for copy in self.copies]

    def weights_of(self, name: str, team: str) -> Any:
        """The weights of a copy's team, kept in memory or read from the folder."""
        weights = self._weights.pop(name, None) or self._read(name)
        self._weights[name] = weights  # what was used last goes last
        while len(self._weights) > KEPT:
            del self._weights[next(iter(self._weights))]
        return weights[team]

    def draw(self, sides: Mapping[str, str]) -> dict[str, str]:
        """The groups that are not played by the newest models in the next rollout, and the copy that plays them.

        Args:
            sides: group -> its team. One of the groups learns, drawn at random, unless all do.
        """
        learning = self.random.choice(list(sides))
        chances = self._matchmaking.probabilities(self.copies, lambda name: self._rate(learning, name))
        chosen = self.random.choices(list(chances), list(chances.values()))[0]
        return {} if chosen == ITSELF else {group: chosen for group in sides if group != learning}

    def state_dict(self) -> dict[str, Any]:
        copies = [[copy.player, copy.role, copy.step, dict(copy.beaten)] for copy in self.copies]
        return {"random": self.random.getstate(), "last": self._last, "copies": copies}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from where `state_dict` was taken.

        Raises:
            ValueError: it is not that of a league.
        """
        if not isinstance(state.get("copies"), list):
            raise ValueError("it is the state of a pool and not of a league")
        self.random.setstate(state["random"])
        self._last, self._weights = state["last"], {}
        self.copies = [FrozenCopy(*each) for each in state["copies"]]

    def _newest(self) -> dict[str, FrozenCopy]:
        by_role = sorted(self.copies, key=lambda copy: ROLES.index(copy.role))
        return {copy.player: copy for copy in by_role if copy.player != self.player}
