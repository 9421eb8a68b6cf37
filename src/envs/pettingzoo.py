"""PettingZoo parallel environments with discrete actions (Terry et al. 2021), MPE among them."""

import inspect
import os
from types import ModuleType
from typing import Any

import numpy as np

from envs.multiagentenv import MultiAgentEnv
from envs.optional import require
from envs.particles import MOVES, particles
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import shown

# agents, landmarks, cells: what a user of these games may count
MOST_COUNTED = 1000
REWARDS = {"sum": np.sum, "mean": np.mean}


def _module(key: str) -> ModuleType:
    # pygame, which many of them draw with, greets on standard output otherwise
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    require("pettingzoo", f"env_args.key={key}")
    parent = require(key.rpartition(".")[0] or key, f"env_args.key={key}")
    try:
        module = require(key, f"env_args.key={key}")
    except ConfigError:
        import pkgutil

        siblings = [f"{parent.__name__}.{m.name}" for m in pkgutil.iter_modules(getattr(parent, "__path__", []))]
        raise ConfigError(f"env_args.key: there is no module '{key}'.{suggestion(key, siblings)}") from None
    if not hasattr(module, "parallel_env"):
        raise ConfigError(
            f"env_args.key: the module '{key}' has no parallel_env, so it is not a PettingZoo environment."
        )
    return module


def _parameters(module: ModuleType) -> dict[str, inspect.Parameter]:
    """The parameters of `parallel_env`, or of `raw_env`, to which it often passes everything."""
    return dict(inspect.signature(getattr(module, "raw_env", module.parallel_env)).parameters)


def _try_arguments(key: str, module: ModuleType, kwargs: dict) -> None:
    """Make an environment with them, which checks them best; an error names the invalid ones."""
    try:
        module.parallel_env(**kwargs).close()
    except Exception as error:
        alone = [name for name in kwargs if not _makes_one(module, {name: kwargs[name]})]
        given = ", ".join(f"{name}={shown(repr(kwargs[name]))}" for name in alone or kwargs)
        raise ConfigError(
            f"env_args.kwargs: {key} cannot be made with {given}: {type(error).__name__}: {shown(str(error), 300)}"
        ) from error


def _makes_one(module: ModuleType, kwargs: dict) -> bool:
    try:
        module.parallel_env(**kwargs).close()
    except Exception:
        return False
    return True


class PettingZooEnv(MultiAgentEnv):
    """Any `parallel_env` whose agents have Discrete actions, as a team with one reward.

    Observations are flattened and padded with zeros to the longest; actions an agent does not have are illegal.
    An `action_mask`, in the observation or the info, is respected. An agent that has died sees zeros, can only
    do action 0 (which is not passed on), and earns nothing. The episode terminates when the last agents do; it is
    truncated when time is up or the environment truncates agents that did not terminate.

    Args:
        key: module that has `parallel_env`, e.g. "mpe2.simple_spread_v3".
        time_limit: steps of an episode, if the environment does not end it before.
        kwargs: arguments of `parallel_env`.
        reward: "sum" or "mean" of all agents' rewards.
        seed: given to the first reset; None: a random one.

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
    ):
        self.check_args(key=key, time_limit=time_limit, kwargs=kwargs, reward=reward)
        from gymnasium import spaces

        self._spaces = spaces
        module = _module(key)
        arguments = dict(kwargs or {})
        if "max_cycles" in _parameters(module):
            arguments.setdefault("max_cycles", time_limit)
        self._env = module.parallel_env(**arguments)
        self._agents = list(self._env.possible_agents)
        self._obs_spaces = {agent: self._plain_space(agent) for agent in self._agents}
        self._n_actions = [self._count_actions(key, agent) for agent in self._agents]
        self._obs_size = max(spaces.flatdim(space) for space in self._obs_spaces.values())
        self._team_reward = REWARDS[reward]
        self.n_agents = len(self._agents)
        self.episode_limit = time_limit
        self._seed = seed
        self.reset()
        self._has_state = self._try_state()
        self._state_size = self.get_state().size
        # the episode started to learn the state's size is not one of the run's
        self._seed = seed
        self._ended = True

    @classmethod
    def check_args(
        cls,
        key: str = "mpe2.simple_spread_v3",
        time_limit: int = 25,
        kwargs: dict | None = None,
        reward: str = "sum",
        **others,
    ) -> None:
        """Refuse bad arguments before a run starts."""
        module = _module(key)
        if reward not in REWARDS:
            raise ConfigError(f"env_args.reward is '{reward}'.{suggestion(reward, REWARDS)}")
        if time_limit < 1:
            raise ConfigError(f"env_args.time_limit is {time_limit}; it must be at least 1.")
        parameters = _parameters(module)
        if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            for name in kwargs or {}:
                if name not in parameters:
                    raise ConfigError(f"env_args.kwargs: {key} takes no '{name}'.{suggestion(name, parameters)}")
        for name, value in (kwargs or {}).items():
            if type(value) is int and name != "max_cycles" and not -MOST_COUNTED <= value <= MOST_COUNTED:
                raise ConfigError(f"env_args.kwargs.{name}={value}: a count of {key} is at most {MOST_COUNTED}.")
        if kwargs:
            _try_arguments(key, module, kwargs)

    def _plain_space(self, agent: str):
        space = self._env.observation_space(agent)
        if isinstance(space, self._spaces.Dict) and "observation" in space.spaces:
            return space["observation"]
        return space

    def _count_actions(self, key: str, agent: str) -> int:
        space = self._env.action_space(agent)
        if not isinstance(space, self._spaces.Discrete) or space.start != 0:
            raise ConfigError(
                f"env_args.key={key}: the actions of {agent} are {space}; only Discrete ones are supported."
            )
        return int(space.n)

    def reset(self) -> None:
        obs, infos = self._env.reset(seed=self._seed)
        # later episodes continue with the generator's state
        self._seed = None
        self._steps = 0
        self._ended = False
        self._keep(obs, infos, self._env.agents)

    def step(self, actions) -> tuple[float, bool, dict]:
        living = list(self._env.agents)
        chosen = {agent: int(action) for agent, action in zip(self._agents, actions, strict=True) if agent in living}
        obs, rewards, terminations, truncations, infos = self._env.step(chosen)
        self._steps += 1
        ended_early = [a for a in living if truncations.get(a, False) and not terminations.get(a, False)]
        # learning bootstraps from the closing state of a truncated agent, so it keeps its legal actions there
        self._keep(obs, infos, [*self._env.agents, *ended_early])
        reward = float(self._team_reward([float(rewards.get(agent, 0.0)) for agent in self._agents]))
        left = [a for a in living if not (terminations.get(a, False) or truncations.get(a, False))]
        time_up = bool(left) and self._steps >= self.episode_limit
        self._ended = ended = not left or time_up
        return reward, ended, {"episode_limit": ended and (time_up or bool(ended_early))}

    def state_dict(self) -> dict[str, Any]:
        """Between episodes, of the particle environments (package mpe2); see `MultiAgentEnv`.

        Their episodes depend on their generator only. For other environments that is unknown.
        """
        if not type(self._env.unwrapped).__module__.startswith("mpe2."):
            raise NotImplementedError("PettingZoo environments cannot be saved, except those of mpe2")
        if not self._ended:
            raise NotImplementedError("particle environments cannot be saved during an episode")
        return {"seed": self._seed, "generator": self._env.unwrapped.np_random.bit_generator.state}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._seed = state["seed"]
        self._env.unwrapped.np_random.bit_generator.state = state["generator"]
        self._ended = True

    def _keep(self, obs: dict, infos: dict, able: list[str]) -> None:
        """Flatten and pad what the agents see, and note what those that are `able` to act can do."""
        self._obs = np.zeros((self.n_agents, self._obs_size), dtype=np.float32)
        self._avail_actions = np.zeros((self.n_agents, max(self._n_actions)), dtype=np.int32)
        for i, agent in enumerate(self._agents):
            mask = infos.get(agent, {}).get("action_mask")
            if agent in obs:
                seen = obs[agent]
                if isinstance(seen, dict) and "observation" in seen:
                    mask = seen.get("action_mask", mask)
                    seen = seen["observation"]
                flat = self._spaces.flatten(self._obs_spaces[agent], seen)
                self._obs[i, : flat.size] = flat
            if agent not in able:
                self._avail_actions[i, 0] = 1
            elif mask is None:
                self._avail_actions[i, : self._n_actions[i]] = 1
            else:
                self._avail_actions[i, : self._n_actions[i]] = np.asarray(mask) != 0

    def _try_state(self) -> bool:
        try:
            self._env.state()
        except (AttributeError, NotImplementedError):
            return False
        return True

    def get_obs(self) -> np.ndarray:
        return self._obs

    def get_obs_agent(self, agent_id: int) -> np.ndarray:
        return self._obs[agent_id]

    def get_obs_size(self) -> int:
        return self._obs_size

    def get_state(self) -> np.ndarray:
        """The environment's own global state, or the observations of all agents if it has none."""
        state = self._env.state() if self._has_state else self._obs
        return np.asarray(state, dtype=np.float32).reshape(-1)

    def get_state_size(self) -> int:
        return self._state_size

    def get_avail_actions(self) -> np.ndarray:
        return self._avail_actions

    def get_avail_agent_actions(self, agent_id: int) -> np.ndarray:
        return self._avail_actions[agent_id]

    def get_total_actions(self) -> int:
        return max(self._n_actions)

    def snapshot(self) -> dict:
        """Of particle environments, the agents and landmarks; others do not say where anything is."""
        return particles(self._world(), self._agents)

    def scene(self) -> dict:
        return {"bounds": [-1.2, -1.2, 1.2, 1.2]}

    def action_names(self) -> list[list[str]]:
        """See `MultiAgentEnv`; agents with fewer actions than others have names for all the same."""
        names = super().action_names()
        try:
            moving = {agent.name for agent in self._world().agents if agent.movable and agent.silent}
        except NotImplementedError:
            return names
        return [
            [*MOVES, *own[len(MOVES) :]] if name in moving and count == len(MOVES) else own
            for name, count, own in zip(self._agents, self._n_actions, names, strict=True)
        ]

    def _world(self) -> Any:
        world = getattr(self._env.unwrapped, "world", None)
        if not hasattr(world, "landmarks"):
            raise NotImplementedError(
                f"{self._env.unwrapped} does not expose the positions of its agents, so it has no snapshots"
            )
        return world

    def seed(self, seed: int | None = None) -> None:
        self._seed = seed

    def render(self):
        return self._env.render()

    def close(self) -> None:
        self._env.close()
