"""What an environment of entities shows, in entity-gym's words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from envs.entities.actions import ActionMask, ActionName, EntityID, EntityName
from utils.plain_values import quoted


@dataclass
class Entity:
    """A type of entities: the names of their features, of which there may be none."""

    features: list[str]


@dataclass
class ObsSpace:
    """What can be seen; the order of the types gives entities their numbers.

    `ObsSpace({...})` has only entities, as in entity-gym before it had global features.
    """

    global_features: list[str] = field(default_factory=list)
    entities: dict[EntityName, Entity] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given: Any = self.global_features
        if isinstance(given, dict) and not self.entities:
            self.global_features, self.entities = [], given


@dataclass
class EntityObs:
    """Entities of a type in `Observation.from_entity_obs`."""

    features: Any
    ids: Sequence[EntityID] | None = None


@dataclass
class EpisodeStats:
    """What entity-gym before April 2022 reported of an episode at its end. Runs count length and return themselves."""

    length: int
    total_reward: float
    metrics: Mapping[str, float] | None = None


class Observation:
    """One step of an environment. Arrays are float32, or nested lists of numbers.

    Args:
        entities: of each type its features `[n, features]`, or a pair of these and n ids, or None if there is none.
        features, ids: the same in two parts, instead of `entities`.
        global_features: `[global features]`.
        actions: who can act and how; an action that is left out has no actor in this step.
        reward: for what led here.
        done: the episode ended because of what happened.
        truncated: the episode ended because time was up; entity-gym does not have it.
        visible: of a type, bool `[n]`: whether the policy sees each entity; the value function sees all.
        metrics: numbers to log.
        end_of_episode_info: its metrics are logged, too.

    Raises:
        ValueError: both forms of entities are given, or a tuple of them is no pair.
        TypeError: an argument that should be a dict is not one.
    """

    def __init__(
        self,
        *,
        done: bool,
        reward: float,
        visible: Mapping[EntityName, Any] | None = None,
        entities: Mapping[EntityName, Any] | None = None,
        features: Mapping[EntityName, Any] | None = None,
        ids: Mapping[EntityName, Sequence[EntityID]] | None = None,
        global_features: Any = None,
        actions: Mapping[ActionName, ActionMask] | None = None,
        metrics: Mapping[str, float] | None = None,
        truncated: bool = False,
        end_of_episode_info: EpisodeStats | None = None,
    ):
        if entities is None:
            self.features, self.ids = _named("features", features), _named("ids", ids)
        elif features is not None or ids is not None:
            raise ValueError("An observation has either entities, or features and ids.")
        else:
            self.features, self.ids = _in_two_parts(_named("entities", entities))
        self.global_features = [] if global_features is None else global_features
        self.actions, self.visible = _named("actions", actions), _named("visible", visible)
        self.metrics, self.end_of_episode_info = _named("metrics", metrics), end_of_episode_info
        if end_of_episode_info is not None:
            if not isinstance(end_of_episode_info, EpisodeStats):
                raise TypeError(f"end_of_episode_info is an EpisodeStats, not {quoted(end_of_episode_info)}.")
            self.metrics = {**_named("metrics", end_of_episode_info.metrics), **self.metrics}
        self.reward, self.done, self.truncated = reward, done, truncated

    @classmethod
    def empty(cls) -> "Observation":
        """Nothing to see and nobody to act."""
        return cls(done=False, reward=0.0)

    @classmethod
    def from_entity_obs(
        cls,
        entities: Mapping[EntityName, EntityObs | None],
        actions: Mapping[ActionName, ActionMask],
        done: bool,
        reward: float,
        end_of_episode_info: EpisodeStats | None = None,
    ) -> "Observation":
        """The same of an `EntityObs` for each type, as entity-gym had it until April 2022."""
        there = {name: entity for name, entity in entities.items() if entity is not None}
        return cls(
            features={name: entity.features for name, entity in there.items()},
            ids={name: entity.ids for name, entity in there.items() if entity.ids is not None},
            actions=actions,
            done=done,
            reward=reward,
            end_of_episode_info=end_of_episode_info,
        )

    def num_entities(self, entity: EntityName) -> int:
        """How many entities of a type there are."""
        return len(self.features[entity])

    def ids_of(self, entity: EntityName) -> Sequence[EntityID]:
        """The ids of the entities of a type; (type, position) where there are none."""
        given = self.ids.get(entity)
        if given is not None:
            return given
        features = self.features.get(entity)
        return _positions(entity, 0 if features is None else len(features))

    def index_to_id(self, obs_space: ObsSpace) -> list[EntityID]:
        """The id of each entity by its number."""
        return [identity for name in obs_space.entities for identity in self.ids_of(name)]

    def id_to_index(self, obs_space: ObsSpace) -> dict[EntityID, int]:
        """The number of each entity by its id."""
        return {identity: number for number, identity in enumerate(self.index_to_id(obs_space))}


@lru_cache(maxsize=1024)
def _positions(name: EntityName, count: int) -> tuple[EntityID, ...]:
    return tuple((name, k) for k in range(count))


def _named(what: str, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """A dict of what is given; empty for None."""
    if type(given) is dict:  # not copied: an environment makes many observations a second
        return given
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TypeError(f"Observation({what}=...) takes a dict by name, not {quoted(given)}.")
    return dict(given)


def _in_two_parts(entities: Mapping[EntityName, Any]) -> tuple[dict[EntityName, Any], dict[EntityName, Any]]:
    """Features and ids of the types that are there."""
    features, ids = {}, {}
    for name, part in entities.items():
        if isinstance(part, tuple):
            if len(part) != 2:
                raise ValueError(f"Entity type '{name}': a tuple is a pair (features, ids), not of {len(part)}.")
            features[name], ids[name] = part
        elif part is not None:
            features[name] = part
    return features, ids
