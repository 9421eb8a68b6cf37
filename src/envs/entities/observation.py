"""What an environment of entities shows, in entity-gym's words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from envs.entities.actions import ActionMask, ActionName, EntityID, EntityName
from utils.plain_values import shown


@dataclass
class Entity:
    """A type of entities: the names of their features, of which there may be none."""

    features: list[str]


@dataclass
class ObsSpace:
    """What can be seen; the order of the types gives entities their numbers."""

    global_features: list[str] = field(default_factory=list)
    entities: dict[EntityName, Entity] = field(default_factory=dict)


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
    ):
        if entities is None:
            self.features, self.ids = _named("features", features), _named("ids", ids)
        elif features is not None or ids is not None:
            raise ValueError("An observation has either entities, or features and ids.")
        else:
            self.features, self.ids = _in_two_parts(_named("entities", entities))
        self.global_features = [] if global_features is None else global_features
        self.actions, self.visible = _named("actions", actions), _named("visible", visible)
        self.metrics = _named("metrics", metrics)
        self.reward, self.done, self.truncated = reward, done, truncated

    @classmethod
    def empty(cls) -> "Observation":
        """Nothing to see and nobody to act."""
        return cls(done=False, reward=0.0)


def _named(what: str, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """A dict of what is given; empty for None."""
    if type(given) is dict:  # not copied: an environment makes many observations a second
        return given
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TypeError(f"Observation({what}=...) takes a dict by name, not {shown(given)}.")
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
