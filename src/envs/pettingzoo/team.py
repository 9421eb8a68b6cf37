"""PettingZoo environments with discrete actions, as a team with one reward."""

from math import prod

import numpy as np

from envs.contract.arguments import require_choice
from envs.multiagentenv import MultiAgentEnv
from envs.pettingzoo import games
from envs.pettingzoo.agent import Agent
from envs.pettingzoo.game import OWN, REWARDS, ParallelGame
from envs.pettingzoo.particles import MOVES
from utils.errors import ConfigError


class OtherActionsError(ConfigError):
    """Agents have other actions than one choice each."""


class PicturesError(ConfigError):
    """Agents see pictures, which are no vectors of floats."""


class PettingZooEnv(ParallelGame, MultiAgentEnv):
    """Any `parallel_env` whose agents have Discrete actions, as a team with one reward.

    Observations are flattened and padded with zeros to the longest; actions an agent does not have are illegal.
    An `action_mask`, in the observation or the info, is respected. An agent whose own end was before sees zeros, can
    only do action 0, and earns nothing. `ParallelGame` has the ends.

    Args:
        key: module that has `parallel_env`, e.g. "mpe2.simple_spread_v3".
        time_limit: steps of an episode, if the environment does not end it before.
        kwargs: arguments of `parallel_env`.
        reward: "sum" or "mean" of all agents' rewards.
        seed: given to the first reset; None: a random one.
        state: "own", the environment's, or that of "observations" if it has none; "observations": always those of all
            agents side by side.
        flat: flatten pictures of bytes, too; False: refuse them.

    Raises:
        ConfigError: the package is missing, or the arguments do not fit it.
    """

    def __init__(
        self,
        key: str = "mpe2.simple_spread_v3",
        time_limit: int = 25,
        kwargs: dict | None = None,
        reward: str = "sum",
        seed: int | None = None,
        state: str = OWN,
        flat: bool = True,
    ):
        games.require_arguments(key, time_limit, kwargs)
        require_choice("env_args.reward", reward, REWARDS)
        super().__init__(games.made(key, time_limit, kwargs), key, time_limit, seed, state)
        self._n_actions = [self._count_actions(key, agent) for agent in self._agents]
        self.players = {agent: self.player(agent) for agent in self._agents}
        if not flat and any(map(_sees_pictures, self.players.values())):
            self._env.close()
            raise PicturesError(f"env_args.key={key}: agents see pictures.")
        self._obs_size = max(map(_flat_size, self.players.values()))
        self._reward = reward
        self.n_agents = len(self._agents)
        self.reset()
        self.forget_episode(seed)

    def _count_actions(self, key: str, agent: str) -> int:
        from gymnasium.spaces import Discrete

        space = self._env.action_space(agent)
        if not isinstance(space, Discrete) or space.start != 0:
            raise OtherActionsError(
                f"env_args.key={key}: the actions of {agent} are {space}; only Discrete ones are supported."
            )
        return int(space.n)

    def reset(self) -> None:
        self._keep(*self.begin(), self._env.agents)

    def step(self, actions) -> tuple[float, bool, dict]:
        step = self.play(dict(zip(self._agents, map(int, actions), strict=True)))
        self._keep(step.obs, step.infos, step.able)
        self.agent_rewards = np.array([float(step.rewards.get(agent, 0.0)) for agent in self._agents])
        reward = float(self.together(self.agent_rewards, self._reward))
        return reward, step.ended, {**self.info_of(step), "episode_limit": step.truncated}

    def _keep(self, obs: dict, infos: dict, able: list[str]) -> None:
        """Flatten and pad what the agents see, and note what those that are `able` to act can do."""
        self._obs = np.zeros((self.n_agents, self._obs_size), dtype=np.float32)
        self._avail_actions = np.zeros((self.n_agents, max(self._n_actions)), dtype=np.int32)
        for i, agent in enumerate(self._agents):
            seen, legal = self.seen_by(agent, obs, infos, able)
            if seen is not None:
                flat = np.concatenate([np.ravel(value) for value in seen.values()])
                self._obs[i, : flat.size] = flat
            self._avail_actions[i, : self._n_actions[i]] = legal["avail_actions"]
        state = self.global_state()
        self._state = self._obs.reshape(-1) if state is None else state

    def get_obs(self) -> np.ndarray:
        return self._obs

    def get_obs_agent(self, agent_id: int) -> np.ndarray:
        return self._obs[agent_id]

    def get_obs_size(self) -> int:
        return self._obs_size

    def get_state(self) -> np.ndarray:
        """The environment's own global state, or the observations of all agents."""
        return self._state

    def get_state_size(self) -> int:
        return self._state.size

    def get_avail_actions(self) -> np.ndarray:
        return self._avail_actions

    def get_avail_agent_actions(self, agent_id: int) -> np.ndarray:
        return self._avail_actions[agent_id]

    def get_total_actions(self) -> int:
        return max(self._n_actions)

    def action_names(self) -> list[list[str]]:
        """See `MultiAgentEnv`; agents with fewer actions than others have names for all the same."""
        names = super().action_names()
        try:
            moving = {agent.name for agent in self.world().agents if agent.movable and agent.silent}
        except NotImplementedError:
            return names
        return [
            [*MOVES, *own[len(MOVES) :]] if name in moving and count == len(MOVES) else own
            for name, count, own in zip(self._agents, self._n_actions, names, strict=True)
        ]


def _sees_pictures(agent: Agent) -> bool:
    return any(len(field.shape) == 3 and field.dtype == "uint8" for field in agent.observations.values())


def _flat_size(agent: Agent) -> int:
    return sum(prod(field.shape) for field in agent.observations.values())
