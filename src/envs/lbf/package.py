"""Level-based foraging, played by the package lbforaging."""

from functools import cache
from typing import Any

import numpy as np

from envs.contract.arguments import LARGEST, require_number
from envs.contract.optional import require
from envs.lbf import drawing
from envs.multiagentenv import MultiAgentEnv
from utils.errors import ConfigError
from utils.nearest import suggestion

KEY = "Foraging-8x8-2p-2f-coop-v3"
SEE_LIST = ", which docs/lbf.md describes"


@cache
def _registered_keys() -> tuple[str, ...]:
    require("lbforaging", "env=lbf")  # importing it registers its tasks
    gymnasium = require("gymnasium", "env=lbf")
    return tuple(key for key in gymnasium.registry if key.startswith("Foraging"))


def _numbered_players(count: int) -> list:
    """Players whose hashes are their numbers.

    The package lets players who load at once take turns in the order of a set, which would otherwise be that of their
    places in memory: another one in every process.
    """
    from lbforaging.foraging.environment import Player

    class NumberedPlayer(Player):
        def __init__(self, number: int):
            super().__init__()
            self._number = number

        def __hash__(self) -> int:
            return self._number

    return [NumberedPlayer(number) for number in range(count)]


class LevelBasedForaging(MultiAgentEnv):
    """A task of lbforaging with the sum of the agents' rewards, which is 1 when all food has been eaten.

    Args:
        key: the package's name of the task.
        time_limit: steps of an episode; reaching it truncates, eating everything terminates.
        seed: of the tasks; None: a random one.

    Raises:
        ConfigError: the package is missing, or it has no such task.
    """

    def __init__(self, key: str = KEY, time_limit: int = 50, seed: int | None = None):
        self.check_args(key=key, time_limit=time_limit)
        from gymnasium.envs.registration import load_env_creator, spec

        task = spec(key)
        # the package silently ends an episode at its own limit; ours comes first
        arguments = {**task.kwargs, "max_episode_steps": time_limit + 1}
        made: Any = load_env_creator(str(task.entry_point))
        self._env = made(**arguments)
        self._env.players = _numbered_players(len(self._env.players))
        self.n_agents = len(self._env.action_space)
        self.episode_limit = time_limit
        self._n_actions = int(self._env.action_space[0].n)
        self._obs_size = int(np.prod(self._env.observation_space[0].shape))
        self._seed = seed
        self._steps = 0
        self._ended = True
        self._obs = [np.zeros(self._obs_size, dtype=np.float32)] * self.n_agents

    @classmethod
    def check_args(cls, key: str = KEY, time_limit: int = 50, **others) -> None:
        keys = _registered_keys()
        if key not in keys:
            raise ConfigError(f"env_args.key: lbforaging has no task '{key}'.{suggestion(key, keys, 3, SEE_LIST)}")
        require_number("env_args.time_limit", time_limit, 1, LARGEST, whole=True)

    @classmethod
    def scenarios(cls) -> tuple[str, list[tuple[str, str]]]:
        return "key", [(key, "") for key in _registered_keys()]

    def reset(self) -> None:
        obs, _ = self._env.reset(seed=self._seed)
        # later episodes continue with the generator's state
        self._seed = None
        self._steps = 0
        self._ended = False
        self._keep(obs)

    def step(self, actions) -> tuple[float, bool, dict]:
        obs, rewards, terminated, _, _ = self._env.step([int(action) for action in actions])
        self._steps += 1
        self._keep(obs)
        time_up = self._steps >= self.episode_limit and not terminated
        self._ended = bool(terminated or time_up)
        self.agent_rewards = np.asarray(rewards, dtype=np.float64)
        return float(np.sum(rewards)), self._ended, {"episode_limit": time_up}

    def state_dict(self) -> dict[str, Any]:
        """See `MultiAgentEnv`.

        The players' positions belong to it between episodes, too: the package keeps these cells free when it places
        them again.
        """
        players = [(player.position, player.level) for player in self._env.players]
        return {
            "seed": self._seed,
            "generator": self._env.np_random.bit_generator.state,
            "players": [
                {"position": position and [int(x) for x in position], "level": None if level is None else int(level)}
                for position, level in players
            ],
            "episode": None if self._ended else self._episode(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._seed = state["seed"]
        self._env.np_random.bit_generator.state = state["generator"]
        for player, saved in zip(self._env.players, state["players"], strict=True):
            player.position = saved["position"] and tuple(saved["position"])
            player.level = saved["level"]
        episode = state.get("episode")
        self._ended = episode is None
        if episode is not None:
            self._continue(episode)

    def _episode(self) -> dict[str, Any]:
        game = self._env
        return {
            "steps": self._steps,
            "food": np.array(game.field),
            "food_spawned": int(game._food_spawned),
            "scores": [float(player.score) for player in game.players],
            "rewards": [float(player.reward) for player in game.players],
            "obs": np.stack(self._obs),
        }

    def _continue(self, episode: dict[str, Any]) -> None:
        game = self._env
        self._steps = game.current_step = int(episode["steps"])
        game.field = np.array(episode["food"], np.int32)
        game._food_spawned, game._game_over = episode["food_spawned"], False
        for player, score, reward in zip(game.players, episode["scores"], episode["rewards"], strict=True):
            # the package's `setup`, which places a player at the start of an episode, does the same
            player.field_size, player.history, player.score, player.reward = game.field_size, [], score, reward
        game._gen_valid_moves()
        self._keep(episode["obs"])

    def _keep(self, obs) -> None:
        self._obs = [np.asarray(o, dtype=np.float32).reshape(-1) for o in obs]

    def get_obs(self) -> list[np.ndarray]:
        return self._obs

    def get_obs_agent(self, agent_id: int) -> np.ndarray:
        return self._obs[agent_id]

    def get_obs_size(self) -> int:
        return self._obs_size

    def get_state(self) -> np.ndarray:
        return np.concatenate(self._obs)

    def get_state_size(self) -> int:
        return self._obs_size * self.n_agents

    def get_total_actions(self) -> int:
        return self._n_actions

    def scene(self) -> dict:
        return drawing.scene(*self._env.field.shape)

    def snapshot(self) -> dict:
        field, players = self._env.field, self._env.players
        foods = [(row, column, field[row, column]) for row, column in np.argwhere(field > 0)]
        return drawing.snapshot(len(field), [(*player.position, player.level) for player in players], foods)

    def action_names(self) -> list[list[str]]:
        return [list(drawing.ACTIONS)] * self.n_agents

    def seed(self, seed: int | None = None) -> None:
        self._seed = seed

    def render(self) -> None:
        self._env.render()

    def close(self) -> None:
        self._env.close()
