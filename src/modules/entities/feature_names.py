"""Entity types and features by name: looking them up, and choosing those that a network knows."""

from collections.abc import Iterable, Mapping, Sequence

from utils.errors import ConfigError
from utils.nearest import suggestion


def known_type(where: str, name: str, space: Iterable[str]) -> str:
    """`name`, if there is such an entity type. Raises ConfigError: there is not; the message begins with `where`."""
    if name not in space:
        raise ConfigError(f"{where}={name}: no such entity type.{suggestion(name, space)}")
    return name


def feature_index(where: str, feature: str, name: str, features: Sequence[str]) -> int:
    """The position of a feature among those of entity type `name`.

    Raises:
        ConfigError: the type has no such feature; the message begins with `where`.
    """
    if feature not in features:
        raise ConfigError(f"{where}={feature}: {name!r} has no such feature.{suggestion(feature, features)}")
    return features.index(feature)


def columns(known: Mapping[str, Sequence[str]], received: Mapping[str, Sequence[str]]) -> dict[str, list[int]]:
    """Of each known type whose features come in another order, or with others among them, where they are.

    Raises:
        ConfigError: a type or one of its features does not come at all.
    """
    chosen = {}
    for name, features in known.items():
        known_type("The network knows an entity type that the environment lacks: type", name, received)
        if list(features) != list(received[name]):
            chosen[name] = [
                feature_index(
                    "The network knows a feature that the environment lacks: feature", feature, name, received[name]
                )
                for feature in features
            ]
    return chosen
