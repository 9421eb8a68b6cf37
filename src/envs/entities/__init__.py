"""Environments whose observations are lists of entities, in the words of `entity_gym.env`."""

from envs.entities.actions import (
    Action,
    ActionMask,
    ActionName,
    ActionSpace,
    CategoricalAction,
    CategoricalActionMask,
    CategoricalActionSpace,
    EntityID,
    EntityName,
    GlobalCategoricalAction,
    GlobalCategoricalActionMask,
    GlobalCategoricalActionSpace,
    SelectEntityAction,
    SelectEntityActionMask,
    SelectEntityActionSpace,
)
from envs.entities.environment import Environment
from envs.entities.observation import Entity, Observation, ObsSpace

__all__ = [
    "Action",
    "ActionMask",
    "ActionName",
    "ActionSpace",
    "CategoricalAction",
    "CategoricalActionMask",
    "CategoricalActionSpace",
    "Entity",
    "EntityID",
    "EntityName",
    "Environment",
    "GlobalCategoricalAction",
    "GlobalCategoricalActionMask",
    "GlobalCategoricalActionSpace",
    "ObsSpace",
    "Observation",
    "SelectEntityAction",
    "SelectEntityActionMask",
    "SelectEntityActionSpace",
]
