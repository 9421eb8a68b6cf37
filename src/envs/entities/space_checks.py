"""Checks of the spaces that an environment of entities declares."""

from collections.abc import Iterable, Mapping
from typing import Any

from envs.entities.actions import (
    MASK_OF,
    CategoricalActionSpace,
    GlobalCategoricalActionSpace,
    SelectEntityActionSpace,
)
from envs.entities.observation import Entity, ObsSpace
from utils.errors import MusterError
from utils.plain_values import shown

GLOBAL = "__global__"  # the entity that takes global actions, in networks


def check_spaces(obs_space: Any, action_space: Any, acts: bool = True) -> None:
    """Refuse what an environment must not declare.

    Args:
        acts: whether there must be an action.

    Raises:
        MusterError: the type or action, and what is wrong with it.
    """
    if not isinstance(obs_space, ObsSpace):
        raise MusterError(f"obs_space() returns {shown(obs_space)}, not an ObsSpace.")
    _check_names("ObsSpace.global_features", obs_space.global_features)
    if not isinstance(obs_space.entities, Mapping):
        raise MusterError(f"ObsSpace.entities is {shown(obs_space.entities)}, not a dict of entity types.")
    _check_names("ObsSpace.entities", list(obs_space.entities))
    for name, entity in obs_space.entities.items():
        if name == GLOBAL:
            raise MusterError(f"An entity type cannot be named '{GLOBAL}': that is who takes global actions.")
        if not isinstance(entity, Entity):
            raise MusterError(f"Entity type '{name}' is {shown(entity)}, not an Entity.")
        _check_names(f"The features of entity type '{name}'", entity.features)
    if not isinstance(action_space, Mapping) or (acts and not action_space):
        raise MusterError(f"action_space() returns {shown(action_space)}, not a dict with at least one action.")
    _check_names("action_space()", list(action_space))
    for name, space in action_space.items():
        if type(space) not in MASK_OF:
            kinds = ", ".join(kind.__name__ for kind in MASK_OF)
            raise MusterError(f"Action '{name}' is {shown(space)}. Allowed: {kinds}.")
        if isinstance(space, CategoricalActionSpace | GlobalCategoricalActionSpace):
            if len(space) == 0:
                raise MusterError(f"Action '{name}' has no choices.")
            _check_names(f"The choices of action '{name}'", space.index_to_label)
        needs_entities = isinstance(space, CategoricalActionSpace | SelectEntityActionSpace)
        if needs_entities and not obs_space.entities:
            raise MusterError(f"Action '{name}' needs an actor, but ObsSpace.entities is empty.")


def _check_names(where: str, names: Iterable[Any]) -> None:
    if isinstance(names, str) or not isinstance(names, list | tuple):
        raise MusterError(f"{where}: expected a list of names, not {shown(names)}.")
    for i, name in enumerate(names):
        if not isinstance(name, str) or not name or not name.isprintable():
            raise MusterError(f"{where}: {shown(repr(name))} is not a name.")
        if name in names[:i]:
            raise MusterError(f"{where}: '{name}' is there twice.")
