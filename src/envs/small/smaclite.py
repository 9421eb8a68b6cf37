"""SMAClite (Michalski et al. 2023), from the package smaclite: SMAC's battles without StarCraft II."""

import contextlib
import io
from typing import Any

import numpy as np

from envs.contract.arguments import LARGEST, not_made, require_choice, require_number
from envs.contract.optional import require
from envs.contract.reaches import OF_ALL, nowhere
from envs.families import installing
from envs.multiagentenv import MultiAgentEnv
from utils.errors import ConfigError
from utils.nearest import suggestion

REACHES = {**OF_ALL, **nowhere("map_name time_limit use_cpp_rvo2")}
# the package's pin of rtree has no wheels for Python 3.11 and later
INSTALL = str(installing("smaclite"))
INSTALL_RVO2 = "pip install git+https://github.com/micadam/SMAClite-Python-RVO2 (it needs CMake and a C++ compiler)"
IDS, VERSION = "smaclite/", "-v0"
# a map file of the user's, which has no name
UNNAMED = "custom"


def _maps() -> list[str]:
    require("smaclite", "env=smaclite", INSTALL)  # importing it registers its maps
    gymnasium = require("gymnasium", "env=smaclite")
    found = [key.removeprefix(IDS).removesuffix(VERSION) for key in gymnasium.registry if key.startswith(IDS)]
    return sorted(name for name in found if name != UNNAMED)


class SMAClite(MultiAgentEnv):
    """A battle of SMAClite, with SMAC's observations, states, legal actions and rewards.

    `info["battle_won"]` says at every step whether the enemies are dead.

    Args:
        map_name: one of the package's maps.
        time_limit: steps of an episode; reaching it truncates, a victory or defeat terminates.
        use_cpp_rvo2: the package's collision avoidance in C++, which has to be built beside it.
        seed: of the battles; None: a random one.

    Raises:
        ConfigError: the package is missing, or it has no such map.
    """

    def __init__(
        self, map_name: str = "MMM", time_limit: int = 150, use_cpp_rvo2: bool = False, seed: int | None = None
    ):
        self.check_args(map_name, time_limit, use_cpp_rvo2)
        gymnasium = require("gymnasium", "env=smaclite")
        words = {"use_cpp_rvo2": use_cpp_rvo2}
        try:
            # it announces which collision avoidance it uses
            with contextlib.redirect_stdout(io.StringIO()):
                made = gymnasium.make(f"{IDS}{map_name}{VERSION}", seed=seed, disable_env_checker=True, **words)
        except Exception as error:
            raise not_made(f"env_args.map_name={map_name}", words, error) from error
        self._env: Any = made.unwrapped
        self.n_agents, self.episode_limit = len(self._env.action_space), time_limit
        self._n_actions = max(int(space.n) for space in self._env.action_space)
        self._seed, self._steps = seed, 0
        self._obs = [np.zeros(space.shape, np.float32) for space in self._env.observation_space]

    @classmethod
    def check_args(
        cls, map_name: str | None = "MMM", time_limit: int = 150, use_cpp_rvo2: bool = False, seed: Any = None
    ) -> None:
        maps = _maps()
        if map_name is None:
            raise ConfigError(f"env_args.map_name is missing.{suggestion('', maps)}")
        require_choice("env_args.map_name", map_name, maps)
        require_number("env_args.time_limit", time_limit, 1, LARGEST, whole=True)
        if use_cpp_rvo2:
            require("rvo2", "env_args.use_cpp_rvo2=True", INSTALL_RVO2)

    @classmethod
    def scenarios(cls) -> tuple[str, list[tuple[str, str]]]:
        return "map_name", [(name, "") for name in _maps()]

    def reset(self) -> None:
        self._obs = list(self._env.reset(seed=self._seed)[0])
        # later episodes continue with the generator's state
        self._seed, self._steps = None, 0

    def step(self, actions: Any) -> tuple[float, bool, dict]:
        obs, reward, terminated, truncated, info = self._env.step([int(action) for action in actions])
        self._obs, self._steps = list(obs), self._steps + 1
        time_up = not terminated and (bool(truncated) or self._steps >= self.episode_limit)
        return float(reward), bool(terminated) or time_up, {**info, "episode_limit": time_up}

    def get_obs(self) -> list[np.ndarray]:
        return self._obs

    def get_obs_agent(self, agent_id: int) -> np.ndarray:
        return self._obs[agent_id]

    def get_obs_size(self) -> int:
        return max(int(np.prod(space.shape)) for space in self._env.observation_space)

    def get_state(self) -> np.ndarray:
        return np.asarray(self._env.get_state(), np.float32)

    def get_state_size(self) -> int:
        return int(self._env.state_size)

    def get_avail_actions(self) -> np.ndarray:
        return np.stack(self._env.get_avail_actions()).astype(np.int32)

    def get_avail_agent_actions(self, agent_id: int) -> np.ndarray:
        return self.get_avail_actions()[agent_id]

    def get_total_actions(self) -> int:
        return self._n_actions

    def seed(self, seed: int | None = None) -> None:
        self._seed = seed

    def render(self) -> Any:
        return self._env.render()

    def close(self) -> None:
        self._env.close()
