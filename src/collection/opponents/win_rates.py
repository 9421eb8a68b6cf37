"""Who has won an episode, the win rates of a test against each opponent, and those of a run so far."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from envs.contract.infos import is_true

WON = "battle_won"


def won(group: str, others: Collection[str], info: Mapping[str, Any]) -> float:
    """1 if a group won an episode, 0.5 for a draw, 0 if it lost.

    The environment decides by `<group>/battle_won` in the last info. Without that the highest return wins.

    Args:
        others: the groups that it played against.
        info: of the last step, with the return of each group: `<group>/return`.
    """
    if info.get(f"{group}/{WON}") is not None:
        return float(is_true(info, f"{group}/{WON}"))
    own, best = info[f"{group}/return"], max(info[f"{other}/return"] for other in others)
    return float(own > best) + 0.5 * float(own == best)


class Scores:
    """The episodes of a test against opponents: for each group and opponent, its wins and its returns."""

    def __init__(self) -> None:
        self._episodes: dict[str, dict[str, list[list[float]]]] = {}

    def add(self, group: str, opponent: str, win: float, episode_return: float) -> None:
        self._of(group, opponent).append([win, episode_return])

    def count(self, group: str, opponent: str) -> int:
        """Episodes so far."""
        return len(self._of(group, opponent))

    def figures(self, groups: Collection[str], names: Mapping[str, str]) -> dict[str, float]:
        """Statistics of the team of these groups: against each opponent, and "pool", the mean over all of them.

        Args:
            names: opponent -> its name in statistics.
        """
        found: dict[str, float] = {}
        for k, what in enumerate(("win_rate", "return")):
            by_name = {
                name: np.mean([one[k] for group in groups for one in self._of(group, opponent)])
                for opponent, name in names.items()
                if any(self._of(group, opponent) for group in groups)
            }
            if by_name:
                by_name["pool"] = np.mean(list(by_name.values()))
            found |= {f"test_{what}_{name}": float(value) for name, value in by_name.items()}
        return found

    def wins_in_turn(self) -> Iterator[tuple[str, str, float]]:
        """Group, opponent and win of each episode: the first ones of all matches, then the second ones, ..."""
        matches = [
            (group, name, list(one)) for group, by_name in self._episodes.items() for name, one in by_name.items()
        ]
        for k in range(max((len(episodes) for *_, episodes in matches), default=0)):
            for group, opponent, episodes in matches:
                if k < len(episodes):
                    yield group, opponent, episodes[k][0]

    def clear(self) -> None:
        self._episodes = {}

    def _of(self, group: str, opponent: str) -> list[list[float]]:
        return self._episodes.setdefault(group, {}).setdefault(opponent, [])

    def state_dict(self) -> dict[str, Any]:
        return self._episodes

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._episodes = state


class WinRates:
    """How often each group has won against each opponent so far; the last matches count most.

    Args:
        decay: what an episode counts after each later one of the same pair.
    """

    def __init__(self, decay: float):
        self._decay = decay
        # group -> opponent -> [wins, episodes], both decayed
        self._counts: dict[str, dict[str, list[float]]] = {}

    def add(self, group: str, opponent: str, win: float) -> None:
        wins, episodes = self._counts.setdefault(group, {}).get(opponent, (0.0, 0.0))
        self._counts[group][opponent] = [self._decay * wins + win, self._decay * episodes + 1]

    def of(self, group: str, opponent: str) -> float:
        """Between 0 and 1: (wins + 1/2) / (episodes + 1), as if one draw came before; 1/2 if they never met."""
        wins, episodes = self._counts.get(group, {}).get(opponent, (0.0, 0.0))
        return (wins + 0.5) / (episodes + 1)

    def episodes(self, group: str, opponent: str) -> float:
        """How many count, each as much as is left of it."""
        return self._counts.get(group, {}).get(opponent, (0.0, 0.0))[1]

    def keep(self, opponents: Collection[str]) -> None:
        """Forget all others."""
        for group, counts in self._counts.items():
            self._counts[group] = {name: count for name, count in counts.items() if name in opponents}

    def state_dict(self) -> dict[str, Any]:
        return self._counts

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._counts = {group: {name: list(count) for name, count in counts.items()} for group, counts in state.items()}
