"""Turn-based games of PettingZoo (AEC), in the form of its parallel ones."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from envs.contract.legal_actions import MASK
from envs.contract.mask_place import METHOD
from envs.contract.optional import require
from utils.errors import ConfigError
from utils.plain_values import quoted


class TurnGame:
    """A game in which agents act one after another: in each step one of them acts, and the others wait.

    Whoever waits has only action 0 legal, which the game is not given. Rewards are those of the step, of all agents, as
    the game announces them after each action. Each agent sees the game in every step, at its turn and beside it. Masks
    of legal actions are those of `MaskPlace`; the method `action_masks()` is of the agent whose turn it is.

    Args:
        env: the AEC environment.
        key: its name, for messages.

    Raises:
        ConfigError: an agent has other actions than one choice.
    """

    def __init__(self, env: Any, key: str):
        self._env, self.unwrapped = env, env.unwrapped
        self.metadata = getattr(env, "metadata", None) or {}
        self.possible_agents = list(env.possible_agents)
        self.agents: list[str] = []
        self._offers: Callable[[], Any] | None = getattr(env, METHOD, None)
        # whether it marks what is legal; None before the first observation
        self._offered: bool | None = None
        self._all: dict[str, np.ndarray] = {}
        self._first_only: dict[str, np.ndarray] = {}
        spaces = require("gymnasium.spaces", "Gymnasium's spaces")
        for agent in self.possible_agents:
            space = env.action_space(agent)
            if not isinstance(space, spaces.Discrete) or space.start != 0:
                raise ConfigError(
                    f"env_args.key={quoted(key)}: the actions of {agent} are {quoted(space)}; in a turn-based game "
                    "only Discrete ones are supported, since those who wait need one that they can only do."
                )
            self._all[agent] = np.ones(space.n, np.uint8)
            self._first_only[agent] = (np.arange(space.n) == 0).astype(np.uint8)

    def observation_space(self, agent: str) -> Any:
        return self._env.observation_space(agent)

    def action_space(self, agent: str) -> Any:
        return self._env.action_space(agent)

    def reset(self, seed: int | None = None) -> tuple[dict[str, Any], dict[str, dict]]:
        self._env.reset(seed=seed)
        self.agents = list(self._env.agents)
        return self._seen()

    def step(self, actions: Mapping[str, Any]) -> tuple[dict, dict, dict, dict, dict]:
        """The action of the agent whose turn it is; the others' are not looked at."""
        env, players = self._env, self.agents
        env.step(actions[env.agent_selection])
        rewards = {agent: float(env.rewards.get(agent, 0.0)) for agent in players}
        terminated = {agent: bool(env.terminations.get(agent, True)) for agent in players}
        truncated = {agent: bool(env.truncations.get(agent, False)) for agent in players}
        (obs, infos), listed = self._seen(), len(env.agents)
        # takes out the dead, one after another: at once, or whenever it is their turn
        while env.agents and (env.terminations[env.agent_selection] or env.truncations[env.agent_selection]):
            env.step(None)
        self.agents = [agent for agent in players if not terminated[agent] and not truncated[agent]]
        if 0 < len(env.agents) < listed:  # it is another's turn now
            now = self._seen()
            obs, infos = obs | now[0], infos | now[1]
        return obs, rewards, terminated, truncated, infos

    def _seen(self) -> tuple[dict[str, Any], dict[str, dict]]:
        """What everybody sees and may do; once a game has ended, it is nobody's turn."""
        env = self._env
        obs, infos = {}, {}
        for agent in env.agents:
            seen, info = env.observe(agent), dict(env.infos.get(agent, {}))
            legal = self._first_only[agent]
            if agent == env.agent_selection and not (env.terminations[agent] or env.truncations[agent]):
                legal = self._legal_now(agent, seen, info)
            if isinstance(seen, Mapping) and MASK in seen:
                seen = {**seen, MASK: legal}
            obs[agent], infos[agent] = seen, {**info, MASK: legal}
        return obs, infos

    def _legal_now(self, agent: str, seen: Any, info: Mapping[str, Any]) -> Any:
        """The mask of the agent whose turn it is; all ones if the game offered none at first; None: it is missing."""
        legal = seen.get(MASK) if isinstance(seen, Mapping) else None
        if legal is None:
            legal = info.get(MASK) if self._offers is None else self._offers()
        if self._offered is None:
            self._offered = legal is not None
        return self._all[agent] if legal is None and not self._offered else legal

    def state(self) -> Any:
        return self._env.state()

    def render(self) -> Any:
        return self._env.render()

    def close(self) -> None:
        self._env.close()
