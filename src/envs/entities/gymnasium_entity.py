"""An environment of Gymnasium with discrete actions as an environment of one entity."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from envs.entities.actions import ActionSpace, CategoricalActionMask, CategoricalActionSpace
from envs.entities.environment import Environment
from envs.entities.observation import Entity, Observation, ObsSpace
from envs.gymnasium.environment import GymnasiumEnv
from utils.errors import ConfigError

PREFIX = "gymnasium:"
AGENT = "Agent"


class GymnasiumEntity(Environment):
    """The agent is the entity, and the entries of its observation are the features `obs0`, `obs1`, ...

    A discrete observation is one-hot. The action is `action`, with the numbers of its choices as labels; each branch
    of a MultiDiscrete or MultiBinary is one: `action/0`, `action/1`, ... Their masks are those of `GymnasiumEnv`.

    Args:
        key: gymnasium's id.
        time_limit: steps of an episode, after which it is truncated; None: those that the id is registered with.
        kwargs: of gymnasium's environment.

    Raises:
        ConfigError: an unknown id, arguments that do not fit, observations that are not one vector, continuous actions.
    """

    def __init__(self, key: str, time_limit: int | None = None, **kwargs: Any):
        where = f"env_args.environment={PREFIX}{key}"
        try:
            GymnasiumEnv.check_args(key=key, time_limit=time_limit)
            self._env = GymnasiumEnv(key, kwargs, time_limit=time_limit)
        except ConfigError as error:
            raise ConfigError(f"{where}: {error}") from None
        fields = self._env.fields()
        seen = [path for path, field in fields.items() if field.kind == "observation" and field.group is not None]
        if seen != ["obs"] or len(fields["obs"].shape) != 1:
            raise ConfigError(f"{where}: its observations are not one vector, which the features of an entity are.")
        actions = {path: field.n for path, field in fields.items() if field.kind == "action"}
        self._actions = {path: n for path, n in actions.items() if n is not None}
        if len(self._actions) < len(actions):
            raise ConfigError(f"{where}: it has continuous actions; entities have discrete ones.")
        self._size = fields["obs"].shape[0]
        self._masks = {field.of: path for path, field in fields.items() if field.of}
        self.episode_limit = self._env.episode_limit

    def capacity(self) -> dict[str, int]:
        return {AGENT: 1}

    def max_actors(self) -> dict[str, int]:
        return dict.fromkeys(self.action_space(), 1)

    def obs_space(self) -> ObsSpace:
        return ObsSpace(entities={AGENT: Entity([f"obs{i}" for i in range(self._size)])})

    def action_space(self) -> dict[str, ActionSpace]:
        return {
            _name(path): CategoricalActionSpace([str(choice) for choice in range(n)])
            for path, n in self._actions.items()
        }

    def seed(self, seed: int) -> None:
        """Seed the episodes from the next one on."""
        self._env.seed(seed)

    def reset(self) -> Observation:
        self._env.reset()
        return self._observation(0.0, False, False)

    def act(self, actions: Mapping[str, Any]) -> Observation:
        chosen = {path: np.asarray(actions[_name(path)].indices) for path in self._actions}
        outcome, terminated, truncated, _ = self._env.step(chosen)
        return self._observation(outcome["reward"], terminated, truncated)

    def state_dict(self) -> dict[str, Any]:
        """At any time, of environments that can be saved (`envs.gymnasium.states`)."""
        return self._env.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._env.load_state_dict(state)

    def close(self) -> None:
        self._env.close()

    def _observation(self, reward: float, terminated: bool, truncated: bool) -> Observation:
        seen = self._env.observe()
        masks = {path: seen[mask].astype(bool) for path, mask in self._masks.items()}
        return Observation(
            features={AGENT: np.array(seen["obs"], np.float32)},
            actions={
                _name(path): CategoricalActionMask(actor_types=[AGENT], mask=masks.get(path)) for path in self._actions
            },
            reward=reward,
            done=terminated,
            truncated=truncated,
        )


def _name(path: str) -> str:
    return path.replace("actions", "action", 1)
