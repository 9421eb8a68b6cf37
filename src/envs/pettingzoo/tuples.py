"""Environments of Gymnasium for several agents, in the form of PettingZoo's parallel ones."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from envs.contract.legal_actions import MASK
from envs.contract.mask_place import METHOD
from envs.contract.optional import require
from envs.contract.validation import InvalidEnvironmentError
from utils.errors import ConfigError
from utils.plain_values import quoted

# of legal actions, in SMAC's and EPyMARL's environments
PYMARLS = "get_avail_actions"


class TupleGame:
    """An environment whose spaces are tuples with one entry an agent, as those of lbforaging, rware and VMAS.

    Rewards, and whether the episode terminated or was truncated, are one value for all agents or one for each. Masks of
    legal actions are in each agent's observation, or from the first of these that there is, with an entry for each
    agent: the method `action_masks()`, PyMARL's `get_avail_actions()`, `info["action_mask"]`. The agents are `agent_0`,
    `agent_1`, ...

    Args:
        env: of Gymnasium, in its wrappers.
        key: its name, for messages.

    Attributes:
        info: that of the last step, for all agents together.
        shares_reward: the reward of the last step was one for all.
        masks_by: what offers masks, for messages; empty: the info.

    Raises:
        ConfigError: its spaces are no tuples of the same length.
    """

    def __init__(self, env: Any, key: str):
        self._env, self._key = env, key
        self.unwrapped = env.unwrapped
        self.metadata = getattr(env, "metadata", None) or {}
        observed, actions = _entries(env.observation_space), _entries(env.action_space)
        if observed is None or actions is None:
            raise ConfigError(
                f"env_args.key={quoted(key)}: the observations are {quoted(env.observation_space)} and the actions "
                f"{quoted(env.action_space)}; of several agents both are tuples with a space for each. An environment "
                "of one agent is played by --env-config=gymnasium."
            )
        if len(observed) != len(actions) or not observed:
            raise ConfigError(
                f"env_args.key={quoted(key)}: it has {len(observed)} observation spaces and {len(actions)} action "
                "spaces; it must have one of each for every agent."
            )
        self.possible_agents = [f"agent_{i}" for i in range(len(observed))]
        self._observed = dict(zip(self.possible_agents, observed, strict=True))
        self._actions = dict(zip(self.possible_agents, actions, strict=True))
        self._rest = {agent: _first(space) for agent, space in self._actions.items()}
        self.agents: list[str] = []
        self.info: Mapping[Any, Any] = {}
        self.shares_reward = False
        method = next((name for name in (METHOD, PYMARLS) if env.has_wrapper_attr(name)), "")
        self.masks_by = method and f"{method}()"
        self._masks_now = (lambda: env.get_wrapper_attr(method)()) if method else None

    def observation_space(self, agent: str) -> Any:
        return self._observed[agent]

    def action_space(self, agent: str) -> Any:
        return self._actions[agent]

    def reset(self, seed: int | None = None) -> tuple[dict[str, Any], dict[str, dict]]:
        obs, self.info = self._env.reset(seed=seed)
        self.agents = list(self.possible_agents)
        return self._by_agent("observations", obs), self._masks()

    def step(self, actions: Mapping[str, Any]) -> tuple[dict, dict, dict, dict, dict]:
        # who has ended gets no action any more, but the environment wants one
        chosen = tuple(actions.get(agent, self._rest[agent]) for agent in self.possible_agents)
        obs, rewards, terminated, truncated, self.info = self._env.step(chosen)
        self.shares_reward = not _is_several(rewards)
        found = self._by_agent("observations", obs)
        ends = self._for_each("terminated", terminated), self._for_each("truncated", truncated)
        self.agents = [agent for agent in self.possible_agents if not ends[0][agent] and not ends[1][agent]]
        return found, self._for_each("rewards", rewards), *ends, self._masks()

    def _for_each(self, what: str, values: Any) -> dict[str, Any]:
        """One value for all agents, or one for each."""
        return self._by_agent(what, values) if _is_several(values) else dict.fromkeys(self.possible_agents, values)

    def _by_agent(self, what: str, values: Any) -> dict[str, Any]:
        if len(values) != len(self.possible_agents):
            raise InvalidEnvironmentError(
                f"env_args.key={self._key}: it returns {len(values)} {what} for {len(self.possible_agents)} agents"
            )
        return dict(zip(self.possible_agents, values, strict=True))

    def _masks(self) -> dict[str, dict]:
        said = self.info.get(MASK) if isinstance(self.info, Mapping) else None
        masks = said if self._masks_now is None else self._masks_now()
        if masks is None:
            return {agent: {} for agent in self.possible_agents}
        by_agent = self._by_agent(self.masks_by or f"masks (info['{MASK}'])", masks)
        return {agent: {MASK: mask} for agent, mask in by_agent.items()}

    def render(self) -> Any:
        return self._env.render()

    def close(self) -> None:
        self._env.close()


def _entries(space: Any) -> list[Any] | None:
    """The spaces of a Tuple, or of a plain list or tuple of spaces, as older packages have them."""
    found = getattr(space, "spaces", space)
    return list(found) if isinstance(found, list | tuple) else None


def _is_several(values: Any) -> bool:
    return isinstance(values, Sequence) or (isinstance(values, np.ndarray) and values.ndim > 0)


def _first(space: Any) -> Any:
    """The first choice, or zeros within the bounds."""
    spaces = require("gymnasium.spaces", "Gymnasium's spaces")
    if isinstance(space, spaces.Box):
        return np.clip(np.zeros(space.shape, space.dtype), space.low, space.high)
    start = getattr(space, "start", 0)
    return int(start) if isinstance(space, spaces.Discrete) else np.zeros(space.shape, space.dtype) + start
