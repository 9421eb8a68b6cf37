"""Who meets whom in a league: the probabilities of opponents, by the role of a player (Vinyals et al. 2019, AlphaStar).

A player is met by its frozen copies, of which the newest stands for the player as it is now.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

MAIN, MAIN_EXPLOITER, LEAGUE_EXPLOITER = "main", "main_exploiter", "league_exploiter"
ROLES = (MAIN, MAIN_EXPLOITER, LEAGUE_EXPLOITER)
# against whom: the newest model of the player itself, which then plays and learns on all sides
ITSELF = ""

# weighting -> (win rate of the group that learns, exponent) -> weight of the opponent in the draw
WEIGHTINGS: Mapping[str, Callable[[float, float], float]] = {
    # f_hard(x) = (1 - x)^p: those that are hard to beat
    "hard": lambda rate, hardness: (1 - rate) ** hardness,
    # f_var(x) = x (1 - x): those of the same strength
    "variance": lambda rate, hardness: rate * (1 - rate),
}


@dataclass(frozen=True)
class FrozenCopy:
    """A player as it was at a step of its run; `beaten`: by its player, then: the rates at which it won, by name."""

    player: str
    role: str
    step: int
    beaten: Mapping[str, float] = field(default_factory=dict, compare=False)

    @property
    def name(self) -> str:
        return f"{self.player}/{self.step}"


@dataclass(frozen=True)
class Matchmaking:
    """The league as a player sees it.

    Args:
        player, role: of the one that learns.
        hardness: exponent of f_hard.
        self_play: a main player's share of matches with the newest main players, itself among them.
        checks: a main player's share of matches with main exploiters that beat it and with forgotten main players.
        lost: a main player that beats the player more often than 1 - `lost` is met as it was earlier.
        exploited: the same of a main exploiter.
    """

    player: str
    role: str
    hardness: float = 2.0
    self_play: float = 0.35
    checks: float = 0.15
    lost: float = 0.3
    exploited: float = 0.2

    def probabilities(self, copies: Sequence[FrozenCopy], rate: Callable[[str], float]) -> dict[str, float]:
        """Opponents, by name, that are met in the next match; they sum up to 1.

        Args:
            copies: all there are, those of each player from the oldest to the newest.
            rate: the name of a copy -> the rate at which the player beats it now.
        """
        found: dict[str, float] = {}
        mains = newest_of(copies, MAIN)
        if self.role == MAIN:
            mains[self.player] = None
            self._add(found, 1 - self.self_play - self.checks, self._prioritised(copies, rate, "hard"))
            for main in mains:
                checked = self._unchecked([c for c in copies if c.player == main], copies, rate)
                self._add(found, self.checks / len(mains), checked or self._playing(main, mains, copies, rate))
                self._add(found, self.self_play / len(mains), self._playing(main, mains, copies, rate))
        elif self.role == MAIN_EXPLOITER:
            for main, newest in mains.items():
                weak = newest is not None and rate(newest.name) < self.exploited
                past = self._prioritised([c for c in copies if c.player == main], rate, "variance") if weak else {}
                self._add(found, 1 / len(mains), past or {newest.name: 1.0} if newest is not None else {})
        else:
            self._add(found, 1.0, self._prioritised(copies, rate, "hard"))
        return found or {ITSELF: 1.0}

    def _add(self, found: dict[str, float], share: float, part: Mapping[str, float]) -> None:
        for name, probability in (part or {ITSELF: 1.0}).items():
            if share * probability > 0:
                found[name] = found.get(name, 0.0) + share * probability

    def _prioritised(
        self, copies: Sequence[FrozenCopy], rate: Callable[[str], float], weighting: str
    ) -> dict[str, float]:
        """In proportion to the weights of the rates at which they are beaten; evenly if all weights are 0."""
        weights = {copy.name: WEIGHTINGS[weighting](rate(copy.name), self.hardness) for copy in copies}
        total = sum(weights.values())
        return {name: weight / total if total > 0 else 1 / len(copies) for name, weight in weights.items()}

    def _playing(
        self,
        main: str,
        mains: Mapping[str, FrozenCopy | None],
        copies: Sequence[FrozenCopy],
        rate: Callable[[str], float],
    ) -> dict[str, float]:
        """Self-play with a main player: as it is now, or, if it is too strong, as it was."""
        newest = mains[main]
        if newest is None or main == self.player:
            return {ITSELF: 1.0}
        if rate(newest.name) > self.lost:
            return {newest.name: 1.0}
        return self._prioritised([c for c in copies if c.player == main], rate, "variance")

    def _unchecked(
        self, past: Sequence[FrozenCopy], copies: Sequence[FrozenCopy], rate: Callable[[str], float]
    ) -> dict[str, float]:
        """Main exploiters, if one wins more than 70 %; or else what was forgotten of a main player's past."""
        exploiters = [copy for copy in copies if copy.role == MAIN_EXPLOITER]
        if exploiters and min(rate(copy.name) for copy in exploiters) < self.lost:
            return self._prioritised(exploiters, rate, "hard")
        forgotten = forgotten_of(past, [rate(copy.name) for copy in past])
        if forgotten and min(rate(copy.name) for copy in forgotten) < 1 - self.lost:
            return self._prioritised(forgotten, rate, "hard")
        return {}


def newest_of(copies: Sequence[FrozenCopy], role: str) -> dict[str, FrozenCopy | None]:
    """Of each player of a role the newest copy."""
    return {copy.player: copy for copy in copies if copy.role == role}


def forgotten_of(past: Sequence[FrozenCopy], rates: Sequence[float]) -> list[FrozenCopy]:
    """The past of a player without its newest copies, as far as each is as hard to beat as the one before or harder.

    A player that forgets nothing beats older copies more often than newer ones.
    """
    rising = [k for k in range(1, len(rates)) if rates[k - 1] < rates[k]]
    return list(past[: rising[-1] + 1]) if rising else []
