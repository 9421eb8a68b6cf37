"""A user's own environment: agents on a line that must meet."""

import numpy as np

from envs import REGISTRY, MultiAgentEnv

STAY, LEFT, RIGHT = range(3)


class Meeting(MultiAgentEnv):
    """Agents start anywhere on `length` cells and see where they are, not where the others are.

    The team gets 1 when all are on one cell, which ends the episode, and -0.05 for every step before.
    """

    n_agents = 2

    def __init__(self, length: int = 5, episode_limit: int = 10, seed: int | None = None):
        self.length = length
        self.episode_limit = episode_limit
        self.rng = np.random.default_rng(seed)

    def reset(self) -> None:
        self.t = 0
        self.cells = self.rng.integers(self.length, size=self.n_agents)

    def step(self, actions) -> tuple[float, bool, dict]:
        self.t += 1
        moves = np.array([0, -1, 1])[np.asarray(actions)]
        self.cells = np.clip(self.cells + moves, 0, self.length - 1)
        met = bool((self.cells == self.cells[0]).all())
        # a time limit is not the end of the game: learning bootstraps from the last state
        time_up = self.t >= self.episode_limit and not met
        return (1.0 if met else -0.05), met or time_up, {"met": met, "episode_limit": time_up}

    def get_obs_agent(self, agent_id: int) -> np.ndarray:
        return np.eye(self.length, dtype=np.float32)[self.cells[agent_id]]

    def get_obs_size(self) -> int:
        return self.length

    def get_state(self) -> np.ndarray:
        return np.concatenate(self.get_obs())

    def get_state_size(self) -> int:
        return self.length * self.n_agents

    def get_total_actions(self) -> int:
        return 3

    def get_avail_agent_actions(self, agent_id: int) -> list[int]:
        cell = self.cells[agent_id]
        return [1, int(cell > 0), int(cell < self.length - 1)]


REGISTRY["meeting"] = Meeting
