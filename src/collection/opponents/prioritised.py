"""Prioritised fictitious self-play: past models are drawn by how often they are beaten (Vinyals et al. 2019)."""

from collections.abc import Mapping, Sequence
from typing import Any

from collection.opponents.matchmaking import WEIGHTINGS
from collection.opponents.self_play import SelfPlay
from collection.opponents.win_rates import WinRates, won


class PrioritisedSelfPlay(SelfPlay):
    """Self-play whose opponents are drawn in proportion to a function of the win rate against them.

    Win rates are those of all episodes of the group that learns: of training, if one opponent played them from start to
    end, and of tests against opponents.
    """

    def __init__(self, args: Any, *parts: Any):
        self._rates = WinRates(args.opponent_memory)
        self._weighting, self._hardness = WEIGHTINGS[args.opponent_weighting], args.opponent_hardness
        super().__init__(args, *parts)
        self._pool.weights = self._weights_of

    def draw(self, t_env: int) -> None:
        super().draw(t_env)
        self._rates.keep(self._pool.models)

    def take_episode(self, info: Mapping[str, Any]) -> None:
        if self._playing:
            for group in self.learning:
                win = won(group, self._playing, info)
                for opponent in {*self._playing.values()}:
                    self._rates.add(group, opponent, win)

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "rates": self._rates.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._rates.load_state_dict(state.get("rates", {}))

    def _weights_of(self, group: str, opponents: Sequence[str]) -> list[float]:
        return [self._weighting(self._rates.of(group, opponent), self._hardness) for opponent in opponents]

    def _tested(self, group: str, opponent: str, win: float) -> None:
        self._rates.add(group, opponent, win)
