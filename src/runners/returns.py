"""The returns of unfinished episodes."""

from collections.abc import Mapping

import numpy as np

from envs.contract.fields import EnvSpec


class EpisodeReturns:
    """Sums of the rewards of B episodes: of all together, of each group, and of each agent that has its own.

    `totals`: float64 `[B]`; where agents are rewarded one by one, the sum over them.
    """

    def __init__(self, spec: EnvSpec, size: int):
        self.totals = np.zeros(size)
        self._sums: dict[str, np.ndarray] = {}  # by path of the reward: of groups `[B]`, of agents `[B, n]`
        for path in spec.rewards():
            group = spec.fields[path].group
            if group is not None:
                self._sums[path] = np.zeros((size, spec.groups[group]))
            elif path != "reward":  # PyMARL's environments have that one, without a statistic beside the total
                self._sums[path] = np.zeros(size)
        self._paths = spec.rewards()

    def add(self, values: Mapping[str, np.ndarray], rows: np.ndarray) -> None:
        """Add the rewards of a step in the episodes `rows`."""
        for path in self._paths:
            reward = values[path][rows]
            if path in self._sums:
                self._sums[path][rows] += reward
            self.totals[rows] += reward if reward.ndim == 1 else reward.sum(axis=1)

    def of_groups(self, rows: np.ndarray) -> list[dict[str, float]]:
        """The returns of groups and agents in the episodes `rows`, as statistics.

        They are "red/return" and "red/agent_0_return"; where all agents are one group, EPyMARL's "agent_0_return" and
        "total_return".
        """
        found: dict[str, list[float]] = {}
        for path, sums in self._sums.items():
            prefix, returns = path.removesuffix("reward"), sums[rows]
            if returns.ndim > 1:
                found |= {f"{prefix}agent_{i}_return": returns[:, i].tolist() for i in range(returns.shape[1])}
                returns = returns.sum(axis=1)
            found[f"{prefix}return" if prefix else "total_return"] = returns.tolist()
        return [dict(zip(found, returns, strict=True)) for returns in zip(*found.values(), strict=True)] or [
            {} for _ in rows
        ]

    def clear(self, rows: np.ndarray) -> None:
        """Forget the episodes `rows`."""
        self.totals[rows] = 0
        for sums in self._sums.values():
            sums[rows] = 0

    def state_dict(self) -> dict[str, np.ndarray]:
        return {"totals": self.totals, **self._sums}

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        self.totals[:] = state["totals"]
        for path, sums in self._sums.items():
            if path in state and state[path].shape == sums.shape:  # older checkpoints have no returns of agents
                sums[:] = state[path]
