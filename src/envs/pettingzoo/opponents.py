"""An agent of the particle environments that is not one of the team: EPyMARL's `pretrained_wrapper`."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from envs.contract.optional import require
from envs.particles.options import opponent_of

WORD = "pretrained_wrapper"
SCENARIO = re.compile(r"(?:pz-mpe-|mpe2\.)(?P<game>[a-z_-]+)[_-]v\d+")
MOVES = 5


def taken(key: str, kwargs: dict[str, Any] | None) -> tuple[str | None, dict[str, Any]]:
    """The opponent that a game's arguments ask for, or None, and the other arguments. Raises ConfigError: see
    `opponent_of`."""
    rest = dict(kwargs or {})
    wrapper = rest.pop(WORD, None)
    if wrapper is None:
        return None, rest
    found = SCENARIO.fullmatch(key)
    return opponent_of(wrapper, found["game"].replace("-", "_") if found else ""), rest


class WithOpponent:
    """A `parallel_env` of the package mpe2 without the prey of simple_tag, its last agent, or the adversary of
    simple_adversary, its first one, which is played here.

    Args:
        opponent: see `envs.particles.state.OPPONENTS`.
    """

    def __init__(self, env: Any, opponent: str):
        self._env, self._opponent = env, opponent
        self.unwrapped, self.metadata = env.unwrapped, env.metadata
        names = list(env.possible_agents)
        self._flees = self.metadata["name"].startswith("simple_tag")
        self._own = names[-1 if self._flees else 0]
        self.possible_agents = [name for name in names if name != self._own]
        self.observation_space, self.action_space = env.observation_space, env.action_space
        self.render, self.close = env.render, env.close

    @property
    def agents(self) -> list[str]:
        return [name for name in self._env.agents if name != self._own]

    def reset(self, seed: int | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
        seen, infos = self._env.reset(seed=seed)
        return self._without(seen), self._without(infos)

    def step(self, actions: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
        return tuple(self._without(part) for part in self._env.step({**actions, self._own: self._action()}))

    def _without(self, part: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in part.items() if name != self._own}

    def _action(self) -> Any:
        move = self._move()
        if not self.unwrapped.continuous_actions:
            return move
        numbers = np.zeros(MOVES, np.float32)
        numbers[move] = 1.0
        return numbers

    def _move(self) -> int:
        if self._opponent == "frozen":
            return 0
        if self._opponent == "random":
            return int(self.unwrapped.np_random.integers(MOVES))
        require("numba", "env_args.pretrained_wrapper", "pip install -r requirements.txt")
        from envs.particles.kernel.opponents import evade, follow

        world = self.unwrapped.world
        positions = np.array([one.state.p_pos for one in world.entities])
        velocities = np.array([one.state.p_vel for one in world.agents])
        n, prey = len(world.agents), world.agents[-1]
        if not self._flees:
            return int(follow(positions, velocities, n))
        chasers = sum(one.adversary for one in world.agents)
        return int(evade(positions, velocities, n, chasers, prey.accel, prey.max_speed))
