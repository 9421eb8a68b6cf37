"""The games of `envs.probes` for networks of entities: each agent is an entity that chooses."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from envs.entities.actions import ActionSpace, CategoricalActionMask, CategoricalActionSpace
from envs.entities.environment import Environment
from envs.entities.games import GAMES
from envs.entities.observation import Entity, Observation, ObsSpace
from envs.probes import ProbeGame

NAME, AGENT, CHOOSE = "Probe", "Agent", "Choose"


class ProbeOfEntities(Environment):
    """Entities have their sign and the step, one-hot, as features; all see each other, and each chooses 0 or 1.

    Args: those of `ProbeGame`.
    """

    def __init__(self, game: str = "constant", n_agents: int = 2):
        self._game = ProbeGame(game, n_agents=n_agents)
        self.n_agents, self.episode_limit = n_agents, self._game.episode_limit

    def seed(self, seed: int) -> None:
        self._game.seed(seed)

    def capacity(self) -> dict[str, int]:
        return {AGENT: self.n_agents}

    def max_actors(self) -> dict[str, int]:
        return {CHOOSE: self.n_agents}

    def obs_space(self) -> ObsSpace:
        return ObsSpace(entities={AGENT: Entity(["sign", "first", "second"])})

    def action_space(self) -> dict[str, ActionSpace]:
        return {CHOOSE: CategoricalActionSpace(["0", "1"])}

    def reset(self) -> Observation:
        self._game.reset()
        return self._observe(0.0, False)

    def act(self, actions: Mapping[str, Any]) -> Observation:
        reward, ended, _, _ = self._game.step({"actions": np.asarray(actions[CHOOSE].indices)})
        return self._observe(reward["reward"], ended)

    def _observe(self, reward: float, done: bool) -> Observation:
        return Observation(
            features={AGENT: self._game.observe()["obs"].tolist()},
            actions={CHOOSE: CategoricalActionMask(actor_types=[AGENT])},
            reward=reward,
            done=done,
        )


def register() -> None:
    """Make it known as a game of env=entities."""
    GAMES.declare(NAME, f"{__name__}:{ProbeOfEntities.__name__}", "six games of one answer each, for src/probe.py")
