"""The contract of environments of entities: entity-gym's, with seeds."""

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from envs.entities.actions import ActionName, ActionSpace
from envs.entities.observation import Observation, ObsSpace
from utils.errors import MusterError
from utils.nearest import suggestion


class Environment(ABC):
    """An environment whose observations are lists of entities of several types."""

    @abstractmethod
    def obs_space(self) -> ObsSpace:
        """What can be seen."""

    @abstractmethod
    def action_space(self) -> dict[ActionName, ActionSpace]:
        """What can be done."""

    @abstractmethod
    def reset(self) -> Observation:
        """Begin an episode."""

    @abstractmethod
    def act(self, actions: Mapping[ActionName, Any]) -> Observation:
        """Do what was chosen: of each action of the space an `Action`, of a global one only if it was offered."""

    # the most steps of an episode, if it ends by itself by then
    episode_limit: int | None = None

    def capacity(self) -> Mapping[str, int] | None:
        """Of entity types, the most entities at a time; of others it is measured (`envs.entities.sizes`)."""
        return None

    def max_actors(self) -> Mapping[str, int] | None:
        """Of actions that are not global, the most actors at a time; of others it is measured."""
        return None

    def scene(self) -> dict[str, Any]:
        """What replays draw round the entities, such as `bounds` and `grid` (docs/replays.md)."""
        return {}

    def seed(self, seed: int) -> None:
        """Seed all that is drawn from; here Python's and NumPy's global generators, which entity-gym's files use."""
        random.seed(seed)
        np.random.seed(seed % 2**32)

    def reset_filter(self, obs_filter: ObsSpace) -> Observation:
        """`reset`, and of what is seen only the types and features of `obs_filter`, in its order."""
        return self._filtered(self.reset(), obs_filter)

    def act_filter(self, actions: Mapping[ActionName, Any], obs_filter: ObsSpace) -> Observation:
        """`act`, and of what is seen only the types and features of `obs_filter`, in its order."""
        return self._filtered(self.act(actions), obs_filter)

    def render(self, **kwargs: Any) -> np.ndarray:
        """A picture, uint8 `[height, width, 3]`."""
        raise NotImplementedError

    def close(self) -> None:  # noqa: B027 (most have nothing to free)
        """Free what the environment holds."""

    def _filtered(self, observation: Observation, wanted: ObsSpace) -> Observation:
        space = self.obs_space()
        features = {}
        for name, entity in wanted.entities.items():
            if name not in space.entities:
                raise MusterError(f"There is no entity type '{name}' to see.{suggestion(name, space.entities)}")
            if name in observation.features:
                there, values = space.entities[name].features, observation.features[name]
                columns = _columns(f"Entity type '{name}'", there, entity.features)
                features[name] = np.asarray(values, np.float32).reshape(len(values), len(there))[:, columns]
        columns = _columns("The global features", space.global_features, wanted.global_features)
        filtered = Observation(
            features=features,
            ids={name: ids for name, ids in observation.ids.items() if name in features},
            visible={name: seen for name, seen in observation.visible.items() if name in features},
            global_features=np.asarray(observation.global_features, np.float32)[columns],
            actions=observation.actions,
            reward=observation.reward,
            done=observation.done,
            truncated=observation.truncated,
            metrics=observation.metrics,
        )
        filtered.end_of_episode_info = observation.end_of_episode_info
        return filtered


def _columns(where: str, there: Sequence[str], wanted: Sequence[str]) -> list[int]:
    for feature in wanted:
        if feature not in there:
            raise MusterError(f"{where}: there is no feature '{feature}'.{suggestion(feature, there)}")
    return [there.index(feature) for feature in wanted]
