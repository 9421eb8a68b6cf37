"""Entity types as dataclasses, as `entity_gym.dataclass_utils` has them: a field is a feature."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from envs.entities.observation import Entity, ObsSpace
from utils.errors import MusterError
from utils.nearest import suggestion
from utils.plain_values import quoted


def obs_space_from_dataclasses(*classes: type) -> ObsSpace:
    """A space with a type of entities for each class, which has its name; fields that begin with "_" are no features.
    Raises MusterError: a class is no dataclass."""
    for cls in classes:
        if not isinstance(cls, type) or not is_dataclass(cls):
            raise MusterError(f"obs_space_from_dataclasses: {quoted(cls)} is no dataclass.")
    return ObsSpace(
        entities={
            cls.__name__: Entity([field.name for field in fields(cls) if not field.name.startswith("_")])
            for cls in classes
        }
    )


def extract_features(entities: Mapping[str, Sequence[Any]], obs_filter: ObsSpace) -> dict[str, np.ndarray]:
    """Of each type of the filter the features that it names, float32 `[n, features]`.

    Args:
        entities: of each type, objects with these attributes.

    Raises:
        MusterError: a type is missing, or an object has no such attribute.
    """
    features = {}
    for name, entity in obs_filter.entities.items():
        if name not in entities:
            raise MusterError(f"extract_features: entity type '{name}' is missing.{suggestion(name, entities)}")
        try:
            rows = [[getattr(one, feature) for feature in entity.features] for one in entities[name]]
        except AttributeError as error:
            raise MusterError(f"extract_features: entity type '{name}': {error}.") from None
        features[name] = np.array(rows, np.float32).reshape(len(rows), len(entity.features))
    return features
