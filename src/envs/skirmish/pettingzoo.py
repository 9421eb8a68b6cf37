"""Skirmish as a PettingZoo environment (Terry et al. 2021), for people outside this runner."""

import functools
from typing import Any, ClassVar

import numpy as np

from envs.contract.optional import require
from envs.skirmish.batch import BatchedSkirmish
from envs.skirmish.environment import RENDER_SCALE
from envs.skirmish.replay import scene, snapshot
from envs.skirmish.unit_types import UNIT_TYPES
from replays.drawing import draw
from utils.errors import ConfigError

pettingzoo = require("pettingzoo", "envs.skirmish.pettingzoo")
spaces = require("gymnasium.spaces", "envs.skirmish.pettingzoo")

STOP = 1


class SkirmishParallelEnv(pettingzoo.ParallelEnv):  # type: ignore[name-defined] # a module that is there if installed
    """One battle as a `ParallelEnv`: all agents act at once and are all paid the team's reward.

    An observation is {"observation": float32 [obs_size], "action_mask": int8 [A]}. An agent whose unit dies is
    terminated and leaves; the others continue. When time is up, all remaining agents are truncated.

    Args:
        render_mode: None or "rgb_array".
        illegal_actions: what an illegal action of a living agent does: "stop" (the unit stops, as PettingZoo's own
            tests need it, which do not look at the mask) or "error".
        env_args: SMAC's, see `options.Options`.

    Raises:
        ConfigError: an argument that makes no sense.
    """

    metadata: ClassVar[dict] = {
        "name": "skirmish_v0",
        "render_modes": ["rgb_array"],
        "is_parallelizable": True,
        "render_fps": 4,
    }

    def __init__(self, render_mode: str | None = None, illegal_actions: str = "stop", **env_args: Any):
        if illegal_actions not in ("stop", "error"):
            raise ConfigError(f"illegal_actions is '{illegal_actions}'. Allowed: stop, error.")
        self.render_mode = render_mode
        self.illegal_actions = illegal_actions
        seed = env_args.pop("seed", None)
        self._first_seeds = None if seed is None else [seed]
        self._battles = BatchedSkirmish(batch_size=1, seed=self._first_seeds, **env_args)
        self.possible_agents = self._names()
        self.agents: list[str] = []
        limits = {"low": -np.inf, "high": np.inf, "dtype": np.float32}
        self._obs_box = spaces.Box(shape=(int(self._battles.scenario.obs_size),), **limits)
        self.state_space = spaces.Box(shape=(int(self._battles.scenario.state_size),), **limits)

    def _names(self) -> list[str]:
        """`<type>_<number>`; on SMACv2's maps, where types change from episode to episode, `agent_<number>`."""
        battles = self._battles
        if battles.options.smacv2:
            return [f"agent_{i}" for i in range(battles.n_agents)]
        battles.reset()
        battles.seed(self._first_seeds)
        kinds = battles.state.units["kind"][0, : battles.n_agents]
        return [f"{UNIT_TYPES[kind].name}_{(kinds[:i] == kind).sum()}" for i, kind in enumerate(kinds)]

    @functools.cache  # noqa: B019 - PettingZoo wants the same object at every call
    def observation_space(self, agent: str) -> Any:
        return spaces.Dict({"observation": self._obs_box, "action_mask": spaces.MultiBinary(self._battles.n_actions)})

    @functools.cache  # noqa: B019
    def action_space(self, agent: str) -> Any:
        return spaces.Discrete(self._battles.n_actions)

    def reset(self, seed: int | None = None, options: dict | None = None) -> tuple[dict, dict]:
        """Begin an episode; with a seed, the first one of that seed."""
        if seed is not None:
            self._battles.seed([seed])
        self._battles.reset()
        self.agents = list(self.possible_agents)
        return self._observations(), {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, int]) -> tuple[dict, dict, dict, dict, dict]:
        """All living agents act. Raises ValueError: a living agent without an action; with `illegal_actions="error"`,
        an illegal one."""
        missing = [agent for agent in self.agents if agent not in actions]
        if missing:
            raise ValueError(f"No action was given for {', '.join(missing)}.")
        row = [int(actions[agent]) if agent in self.agents else 0 for agent in self.possible_agents]
        if self.illegal_actions == "stop":
            legal = self._battles.outputs.avail_actions[0]
            row = [a if 0 <= a < len(legal[i]) and legal[i, a] else STOP for i, a in enumerate(row)]
        out = self._battles.step(np.array([row]))
        acted = self.agents
        alive = self._battles.state.units["health"][0] > 0
        ended, time_up = bool(out.terminated[0]), bool(out.truncated[0])
        terminations, truncations = {}, {}
        for i, agent in enumerate(self.possible_agents):
            if agent in acted:
                terminations[agent] = bool(not alive[i] or (ended and not time_up))
                truncations[agent] = time_up and not terminations[agent]
        info: dict[str, Any] = {"battle_won": bool(out.battle_won[0])}
        info |= {"dead_allies": int(out.dead_allies[0]), "dead_enemies": int(out.dead_enemies[0])}
        observations = self._observations()
        self.agents = [agent for agent in acted if not (terminations[agent] or truncations[agent])]
        rewards = dict.fromkeys(acted, float(out.reward[0]))
        return observations, rewards, terminations, truncations, {agent: dict(info) for agent in acted}

    def _observations(self) -> dict[str, dict[str, np.ndarray]]:
        out = self._battles.outputs
        return {
            agent: {"observation": out.obs[0, i].copy(), "action_mask": out.avail_actions[0, i].astype(np.int8)}
            for i, agent in enumerate(self.possible_agents)
            if agent in self.agents
        }

    def state(self) -> np.ndarray:
        """The global state, float32."""
        return self._battles.outputs.state[0].copy()

    def render(self) -> np.ndarray | None:
        """A picture, uint8 `[height, width, 3]`, if `render_mode` asks for it."""
        if self.render_mode != "rgb_array":
            return None
        return draw(scene(self._battles), snapshot(self._battles, self._battles.state.units[0]), RENDER_SCALE)

    def close(self) -> None:
        """There is nothing to free."""


def parallel_env(**arguments: Any) -> SkirmishParallelEnv:
    """PettingZoo's name for the constructor."""
    return SkirmishParallelEnv(**arguments)
