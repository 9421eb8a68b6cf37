"""The returns of unfinished episodes."""

from collections.abc import Mapping

import numpy as np

from envs.contract.fields import EnvSpec


class EpisodeReturns:
    """Sums of the rewards of B episodes: of all rewards together, and of each group with its own reward.

    `totals`: float64 `[B]`; where agents are rewarded one by one, the sum over them.
    """

    def __init__(self, spec: EnvSpec, size: int):
        paths = spec.rewards()
        self.totals = np.zeros(size)
        # PyMARL's environments have one, without a separate statistic
        self._groups = {} if paths == ["reward"] else {path: np.zeros(size) for path in paths}
        self._paths = paths

    def add(self, values: Mapping[str, np.ndarray], rows: np.ndarray) -> None:
        """Add the rewards of a step in the episodes `rows`."""
        for path in self._paths:
            reward = values[path][rows]
            if reward.ndim > 1:
                reward = reward.sum(axis=tuple(range(1, reward.ndim)))
            self.totals[rows] += reward
            if path in self._groups:
                self._groups[path][rows] += reward

    def of_groups(self, rows: np.ndarray) -> list[dict[str, float]]:
        """The return of each group in the episodes `rows`, as statistics: "red/return"."""
        names = [f"{path.removesuffix('reward')}return" for path in self._groups]
        columns = [sums[rows].tolist() for sums in self._groups.values()]
        return [dict(zip(names, returns, strict=True)) for returns in zip(*columns, strict=True)] or [{} for _ in rows]

    def clear(self, rows: np.ndarray) -> None:
        """Forget the episodes `rows`."""
        self.totals[rows] = 0
        for sums in self._groups.values():
            sums[rows] = 0

    def state_dict(self) -> dict[str, np.ndarray]:
        return {"totals": self.totals, **self._groups}

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        self.totals[:] = state["totals"]
        for path, sums in self._groups.items():
            sums[:] = state[path]
