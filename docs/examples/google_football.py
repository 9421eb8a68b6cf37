"""Google Research Football (Kurach et al. 2020) for `--env-config=gymma`, on a machine that has the package gfootball.

    ./muster --config=mappo --env-config=gymma with env_args.key=docs/examples/google_football.py:Football \
        env_args.env_name=academy_3_vs_1_with_keeper env_args.players=3 env_args.time_limit=400
"""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces


class Football(gymnasium.Env):
    """Players of the left team; each sees its row of the package's array, and has a reward.

    The package has old Gym's form: `reset()` returns what is seen and no info, `step()` says only that an episode is
    over, and there is no axis of players if there is one. Its matches cannot be seeded here.

    Args:
        env_name: of a scenario.
        players: how many are controlled.
        representation, rewards, words: arguments of gfootball's `create_environment`.
    """

    def __init__(
        self,
        env_name: str = "academy_3_vs_1_with_keeper",
        players: int = 3,
        representation: str = "simple115v2",
        rewards: str = "scoring,checkpoints",
        **words: Any,
    ):
        from gfootball.env import create_environment

        controlled = {"number_of_left_players_agent_controls": players}
        self._env = create_environment(
            env_name=env_name, representation=representation, rewards=rewards, **controlled, **words
        )
        self._players = players
        shape, choices = self._env.observation_space.shape, self._env.action_space
        seen = spaces.Box(-np.inf, np.inf, shape if players == 1 else shape[1:], np.float32)
        n = int(choices.n if players == 1 else choices.nvec[0])
        self.observation_space = spaces.Tuple([seen] * players)
        self.action_space = spaces.Tuple([spaces.Discrete(n)] * players)

    def reset(self, seed: int | None = None, options: dict | None = None) -> tuple[tuple, dict]:
        super().reset(seed=seed)
        return self._by_player(self._env.reset()), {}

    def step(self, actions: Any) -> tuple[tuple, list[float], bool, bool, dict]:
        chosen = [int(action) for action in actions]
        seen, rewards, over, info = self._env.step(chosen[0] if self._players == 1 else chosen)
        return self._by_player(seen), np.reshape(rewards, self._players).tolist(), bool(over), False, info

    def _by_player(self, seen: Any) -> tuple:
        return (np.float32(seen),) if self._players == 1 else tuple(np.float32(seen))

    def close(self) -> None:
        self._env.close()
