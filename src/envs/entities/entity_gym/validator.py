"""An environment whose observations are checked: `entity_gym.env.validator`. Runs check those of all."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from envs.entities import ActionName, ActionSpace, Environment, Observation, ObsSpace
from envs.entities.numbering import EntityNumbering
from utils.errors import MusterError


class InvalidObservationError(MusterError, AssertionError):
    """An observation does not fit the spaces; an AssertionError, as entity-gym's."""


class ValidatingEnv(Environment):
    """`env`, with each observation checked by `envs.entities.numbering`; everything else is that of `env`.

    Raises:
        InvalidObservationError: `reset` and `act`; the message names the entity type or the action.
    """

    def __init__(self, env: Environment):
        self.env = env
        self._obs_space, self._action_space = env.obs_space(), env.action_space()
        self._numbering = EntityNumbering(self._obs_space, self._action_space)
        self.episode_limit = env.episode_limit

    def obs_space(self) -> ObsSpace:
        return self._obs_space

    def action_space(self) -> dict[ActionName, ActionSpace]:
        return self._action_space

    def reset(self) -> Observation:
        return self._checked(self.env.reset())

    def act(self, actions: Mapping[ActionName, Any]) -> Observation:
        return self._checked(self.env.act(actions))

    def render(self, **kwargs: Any) -> np.ndarray:
        return self.env.render(**kwargs)

    def seed(self, seed: int) -> None:
        self.env.seed(seed)

    def capacity(self) -> Mapping[str, int] | None:
        return self.env.capacity()

    def max_actors(self) -> Mapping[str, int] | None:
        return self.env.max_actors()

    def scene(self) -> dict[str, Any]:
        return self.env.scene()

    def close(self) -> None:
        self.env.close()

    def _checked(self, observation: Observation) -> Observation:
        try:
            self._numbering.seen(observation)
        except MusterError as error:
            raise InvalidObservationError(f"{type(self.env).__name__}: {error}") from None
        return observation
