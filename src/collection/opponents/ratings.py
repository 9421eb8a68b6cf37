"""Ratings of the newest and the past models, by the matches of tests (package openskill)."""

from collections.abc import Collection, Mapping, Sequence
from importlib.util import find_spec
from math import hypot
from typing import Any

from utils.errors import ConfigError

INSTALL = "pip install -r requirements-ratings.txt"
NEWEST = "newest"
# by how much the newest model may have changed between two tests: half of openskill's beta, which is how much a
# player's strength differs from game to game
DRIFT = 25 / 12


def require_ratings() -> None:
    """Raises ConfigError: the package is not installed."""
    if find_spec("openskill") is None:
        raise ConfigError(
            f"opponent_ratings needs the package 'openskill', which is not installed. Install it with: {INSTALL}"
        )


class Ratings:
    """A rating and its uncertainty for each model of each team: Weng & Lin 2011, algorithm 4 (Plackett-Luce).

    A model begins with 25 ± 25/3, a past one with what the newest had when it entered the pool. Only models of past and
    fixed weights stay as strong as they were: before each test the newest model's uncertainty grows by `DRIFT`.

    Raises:
        ConfigError: the package is not installed.
    """

    def __init__(self) -> None:
        require_ratings()
        from openskill.models import PlackettLuce

        self._rules = PlackettLuce(tau=0.0)  # nobody drifts from match to match
        # team -> model -> [rating, uncertainty]
        self._known: dict[str, dict[str, list[float]]] = {}

    def of(self, team: str, model: str) -> tuple[float, float]:
        """The rating and its standard deviation."""
        mean, deviation = self._known.get(team, {}).get(model, (self._rules.mu, self._rules.sigma))
        return mean, deviation

    def take(self, one: tuple[str, str], others: Sequence[tuple[str, str]], win: float) -> None:
        """A match is over.

        Args:
            one: team and model of a group; others: those of the groups that it played against.
            win: 1 if that group has won, 1/2 if it was a draw, 0 if it has lost.
        """
        players = [one, *others]
        sides = [[self._rules.rating(*self.of(*player))] for player in players]
        ranks = [1 - win, *[win for _ in others]]
        for player, (rated,) in zip(players, self._rules.rate(sides, ranks=ranks), strict=True):
            self._set(player, rated.mu, rated.sigma)

    def add(self, teams: Collection[str], model: str) -> None:
        """The newest models of these teams have entered the pool under this name."""
        for team in teams:
            self._set((team, model), *self.of(team, NEWEST))

    def follow(self, before: str, model: str) -> None:
        """A model has learned and is called `model` now: it has the rating that it had, less certain by `DRIFT`."""
        for team, known in self._known.items():
            if before in known:
                mean, deviation = self.of(team, before)
                self._set((team, model), mean, hypot(deviation, DRIFT))

    def keep(self, models: Collection[str]) -> None:
        """Forget all others but the newest."""
        for team, known in self._known.items():
            self._known[team] = {name: rating for name, rating in known.items() if name in (NEWEST, *models)}

    def drift(self) -> None:
        """The newest models will learn until the next test."""
        for team in self._known:
            mean, deviation = self.of(team, NEWEST)
            self._set((team, NEWEST), mean, hypot(deviation, DRIFT))

    def figures(self, team: str, names: Mapping[str, str]) -> dict[str, float]:
        """Statistics of a team: `test_rating`, `test_rating_sigma`, and of other models `test_rating_<name>`, ...

        Args:
            names: model -> its name in statistics.
        """
        found: dict[str, float] = {}
        for model, name in {NEWEST: "", **{model: f"_{name}" for model, name in names.items()}}.items():
            if model in self._known.get(team, {}):
                found[f"test_rating{name}"], found[f"test_rating_sigma{name}"] = self.of(team, model)
        return found

    def state_dict(self) -> dict[str, Any]:
        return self._known

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._known = {team: {name: list(rating) for name, rating in known.items()} for team, known in state.items()}

    def _set(self, player: tuple[str, str], mean: float, deviation: float) -> None:
        team, model = player
        self._known.setdefault(team, {})[model] = [mean, deviation]
