"""From the choices of slots to the actions that an environment gets, with ids of entities."""

from collections.abc import Hashable, Sequence
from enum import Enum
from functools import lru_cache

import numpy as np

from envs.contract.attribute_states import Encoder
from envs.entities.actions import (
    Action,
    CategoricalAction,
    CategoricalActionSpace,
    GlobalCategoricalAction,
    GlobalCategoricalActionSpace,
    SelectEntityAction,
)
from envs.entities.layout import Layout
from envs.entities.numbering import Seen
from envs.entities.observation import Observation

# of an action: the ids of its actors and, of select-entity, those of the entities to select from
Offered = dict[str, tuple[Sequence[Hashable], Sequence[Hashable]]]
NOBODY: tuple[Sequence[Hashable], Sequence[Hashable]] = ((), ())
# of a global action
SOMEBODY: tuple[Sequence[Hashable], Sequence[Hashable]] = ((None,), ())


def offered_in(layout: Layout, observation: Observation, seen: Seen | None) -> Offered:
    """Who can act in an observation, in the order of slots.

    Args:
        seen: the same by number; None: actors and actees are named by their types.
    """
    return {name: _offered(name, layout, observation, seen) for name in layout.action_space}


def actions_of(layout: Layout, offered: Offered, chosen: np.ndarray) -> dict[str, Action]:
    """What `Environment.act` gets: every action of the space, a global one only if it was offered.

    Args:
        chosen: of each slot, int64 `[n]`.
    """
    actions: dict[str, Action] = {}
    for name, space in layout.action_space.items():
        actors, actees = offered[name]
        first = layout.slots[name].start
        numbers = chosen[first : first + len(actors)]
        if isinstance(space, CategoricalActionSpace):
            actions[name] = CategoricalAction(list(actors), numbers.copy(), space.index_to_label)
        elif not isinstance(space, GlobalCategoricalActionSpace):
            actions[name] = SelectEntityAction(list(actors), [actees[k] for k in numbers.tolist()])
        elif actors:
            index = int(numbers[0])
            actions[name] = GlobalCategoricalAction(index, space.index_to_label[index])
    return actions


def saved(offered: Offered | None, module: str) -> list | None:
    """What a checkpoint keeps of it.

    Args:
        module: name of that of the environment, whose classes ids may have.

    Raises:
        NotImplementedError: an id cannot be kept.
    """
    if offered is None:
        return None
    # an id may be in several lists: each gets an encoder of its own, which refuses what it has seen before
    return [[name, *(_saved_ids(ids, module) for ids in both)] for name, both in offered.items()]


def restored(kept: list | None, module: str) -> Offered | None:
    """The inverse of `saved`."""
    if kept is None:
        return None
    return {name: (_restored_ids(actors, module), _restored_ids(actees, module)) for name, actors, actees in kept}


def _saved_ids(ids: Sequence[Hashable], module: str) -> list:
    for identity in ids:
        if type(identity).__eq__ is object.__eq__ and identity is not None and not isinstance(identity, Enum):
            raise NotImplementedError(
                f"an entity's id is a {type(identity).__name__}, whose copy would be another one, so the environment "
                "cannot be saved"
            )
    return [Encoder(module).encoded(identity, "an entity's id") for identity in ids]


def _restored_ids(kept: list, module: str) -> tuple[Hashable, ...]:
    return tuple(Encoder(module).decoded(identity) for identity in kept)


def _offered(
    name: str, layout: Layout, observation: Observation, seen: Seen | None
) -> tuple[Sequence[Hashable], Sequence[Hashable]]:
    mask, space = observation.actions.get(name), layout.action_space[name]
    if mask is None:
        return NOBODY
    if isinstance(space, GlobalCategoricalActionSpace):
        return SOMEBODY
    if seen is None:
        actors = _of_types(observation, mask.actor_types)
        return actors, _of_types(observation, mask.actee_types) if name in layout.selecting else ()
    offer, ids = seen.offers[name], seen.roster.ids
    return [ids[k] for k in offer.actors], () if offer.actees is None else [ids[k] for k in offer.actees]


def _of_types(observation: Observation, types: Sequence[str]) -> Sequence[Hashable]:
    if len(types) == 1:
        return _of_type(observation, types[0])
    return [identity for name in types for identity in _of_type(observation, name)]


def _of_type(observation: Observation, name: str) -> Sequence[Hashable]:
    """The ids of a type's entities; (type, position) where the environment gives none, as in `Roster`."""
    given = observation.ids.get(name)
    if given is not None:
        return given
    shown = observation.features.get(name)
    return _positions(name, 0 if shown is None else len(shown))


@lru_cache(maxsize=1024)
def _positions(name: str, count: int) -> tuple[tuple[str, int], ...]:
    return tuple((name, k) for k in range(count))
