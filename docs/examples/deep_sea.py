"""A game for which random actions do not do: a team that has to go the same way at every step to the end."""

import numpy as np

from envs import REGISTRY, MultiAgentEnv

LEFT, RIGHT = range(2)


class DeepSea(MultiAgentEnv):
    """Agents sink from row to row of a grid (Osband et al. 2019, "Behaviour Suite", for a team).

    All are in one cell. In each of `rows` steps they come one row down, and one column to the right if all choose
    RIGHT, else one to the left. The right-most cell of the last row pays 1, and a step to the right costs
    0.01 / rows: of all ways there is one that pays, and random actions find it once in 2 ** (n_agents * rows) episodes.
    The left-most cell of the last row pays `decoy`, which is easily found.
    """

    def __init__(self, rows: int = 8, n_agents: int = 2, decoy: float = 0.0, seed: int | None = None):
        self.rows, self.n_agents, self.episode_limit, self.decoy = rows, n_agents, rows, decoy

    def reset(self) -> None:
        self.row = self.column = 0

    def step(self, actions) -> tuple[float, bool, dict]:
        right = all(int(action) == RIGHT for action in actions)
        reward = -0.01 / self.rows if right else 0.0
        found = right and self.row == self.column == self.rows - 1
        self.row, self.column = self.row + 1, max(self.column + (1 if right else -1), 0)
        over = self.row == self.rows
        if over and self.column == 0:
            reward += self.decoy
        return reward + found, over, {"found": found} if over else {}

    def get_obs_agent(self, agent_id: int) -> np.ndarray:
        return self.get_state()

    def get_obs_size(self) -> int:
        return 2 * (self.rows + 1)

    def get_state(self) -> np.ndarray:
        return np.eye(self.rows + 1, dtype=np.float32)[[self.row, self.column]].flatten()

    def get_state_size(self) -> int:
        return self.get_obs_size()

    def get_total_actions(self) -> int:
        return 2

    def get_avail_agent_actions(self, agent_id: int) -> list[int]:
        return [1, 1]


REGISTRY["deep_sea"] = DeepSea
