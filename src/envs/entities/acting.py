"""From chosen numbers to the actions that an environment gets, with ids of entities."""

from collections.abc import Hashable, Mapping, Sequence
from enum import Enum
from typing import Any

import numpy as np

from envs.contract.saving import StateEncoder
from envs.entities.actions import (
    Action,
    ActionSpace,
    CategoricalAction,
    CategoricalActionSpace,
    GlobalCategoricalAction,
    GlobalCategoricalActionSpace,
    SelectEntityAction,
    SelectEntityActionSpace,
)
from envs.entities.numbering import Offer, Seen
from envs.entities.observation import Observation, ObsSpace
from utils.errors import MusterError

# of an action: the ids of its actors and, of select-entity, those of the entities to select from
Offered = dict[str, tuple[Sequence[Hashable], Sequence[Hashable]]]


def offered_in(observation: Observation, obs_space: ObsSpace, action_space: Mapping[str, ActionSpace]) -> Offered:
    """Who can act in an observation, which was read before, in the order of their numbers."""
    offered: Offered = {}
    for name, space in action_space.items():
        mask = observation.actions.get(name)
        if mask is None:
            offered[name] = (), ()
        elif isinstance(space, GlobalCategoricalActionSpace):
            offered[name] = (None,), ()
        else:
            actors = _named(observation, obs_space, mask.actor_ids, mask.actor_types)
            selects = isinstance(space, SelectEntityActionSpace)
            offered[name] = (
                actors,
                _named(observation, obs_space, mask.actee_ids, mask.actee_types) if selects else (),
            )
    return offered


def actions_of(
    action_space: Mapping[str, ActionSpace],
    offered: Offered,
    chosen: Mapping[str, np.ndarray],
    probs: Mapping[str, np.ndarray] | None = None,
) -> dict[str, Action]:
    """What `Environment.act` gets: every action of the space, a global one only if it was offered.

    Args:
        chosen: of each action int64 `[actors]`: the choice, or the position among the entities to select from.
        probs: of some actions float32 `[actors, choices]`.
    """
    actions: dict[str, Action] = {}
    for name, space in action_space.items():
        (actors, actees), numbers = offered[name], chosen[name]
        of_each = None if probs is None else probs.get(name)
        if isinstance(space, CategoricalActionSpace):
            actions[name] = CategoricalAction(list(actors), numbers.copy(), space.index_to_label, of_each)
        elif isinstance(space, SelectEntityActionSpace):
            actions[name] = SelectEntityAction(list(actors), [actees[k] for k in numbers.tolist()], of_each)
        elif len(actors):
            index = int(numbers[0])
            row = None if of_each is None else of_each[0]
            actions[name] = GlobalCategoricalAction(index, space.index_to_label[index], row)
    return actions


def actions_for(
    seen: Seen,
    action_space: Mapping[str, ActionSpace],
    chosen: Mapping[str, Any],
    probs: Mapping[str, np.ndarray] | None = None,
    masked: bool = True,
) -> dict[str, Action]:
    """`actions_of` for choices that may be wrong.

    Args:
        seen: the observation that was acted on.
        chosen: of each action whole numbers `[actors]`; an action without an actor may be missing.
        masked: refuse what a mask forbids; entity-gym passes it on.

    Raises:
        MusterError: a number for each actor is missing, or is not among what was offered.
    """
    numbers: dict[str, np.ndarray] = {}
    offered: Offered = {}
    for name, space in action_space.items():
        offer, ids = seen.offers[name], seen.roster.ids
        numbers[name] = _checked(name, space, offer, chosen.get(name, ()), masked)
        if isinstance(space, GlobalCategoricalActionSpace):
            offered[name] = (None,) * len(offer.actors), ()
        else:
            actees = () if offer.actees is None else offer.actees
            offered[name] = [ids[actor] for actor in offer.actors], [ids[actee] for actee in actees]
    return actions_of(action_space, offered, numbers, probs)


def saved(offered: Offered, module: str) -> list:
    """What a checkpoint keeps of it.

    Args:
        module: name of that of the environment, whose classes ids may have.

    Raises:
        NotImplementedError: an id cannot be kept.
    """
    # an id may be in several lists: each gets an encoder of its own, which refuses what it has seen before
    return [[name, *(_saved_ids(ids, module) for ids in both)] for name, both in offered.items()]


def restored(kept: list, module: str) -> Offered:
    return {name: (_restored_ids(actors, module), _restored_ids(actees, module)) for name, actors, actees in kept}


def _named(observation: Observation, obs_space: ObsSpace, ids: Any, types: Any) -> Sequence[Hashable]:
    if ids is not None:
        return list(ids)
    types = list(obs_space.entities) if types is None else types
    if len(types) == 1:
        return observation.ids_of(types[0])
    return [identity for name in types for identity in observation.ids_of(name)]


def _checked(name: str, space: ActionSpace, offer: Offer, chosen: Any, masked: bool) -> np.ndarray:
    numbers = np.asarray(chosen, np.int64).reshape(-1)
    if len(numbers) != len(offer.actors):
        raise MusterError(f"Action '{name}': {len(numbers)} choices for {len(offer.actors)} actors.")
    if isinstance(space, SelectEntityActionSpace):
        choices = 0 if offer.actees is None else len(offer.actees)
    else:
        choices = len(space)
    allowed = (numbers >= 0) & (numbers < choices)
    if allowed.all() and masked and offer.mask is not None:
        allowed = offer.mask[np.arange(len(numbers)), numbers]
    if not allowed.all():
        raise MusterError(f"Action '{name}': {numbers[~allowed][0]} is not among what its actor was offered.")
    return numbers


def _saved_ids(ids: Sequence[Hashable], module: str) -> list:
    for identity in ids:
        if type(identity).__eq__ is object.__eq__ and identity is not None and not isinstance(identity, Enum):
            raise NotImplementedError(
                f"an entity's id is a {type(identity).__name__}, whose copy would be another one, so the environment "
                "cannot be saved"
            )
    return [StateEncoder(module).encoded(identity, "an entity's id") for identity in ids]


def _restored_ids(kept: list, module: str) -> tuple[Hashable, ...]:
    return tuple(StateEncoder(module).decoded(identity) for identity in kept)
