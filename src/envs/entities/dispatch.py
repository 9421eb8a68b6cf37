"""Chosen numbers as the actions that an environment gets."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from envs.entities.actions import (
    Action,
    ActionSpace,
    CategoricalAction,
    CategoricalActionSpace,
    GlobalCategoricalAction,
    SelectEntityAction,
)
from envs.entities.numbering import Offer, Seen
from utils.errors import MusterError


def actions_for(
    seen: Seen,
    action_space: Mapping[str, ActionSpace],
    chosen: Mapping[str, Any],
    probs: Mapping[str, np.ndarray] | None = None,
    masked: bool = True,
) -> dict[str, Action]:
    """What `Environment.act` gets: every action of the space, a global one only if it was offered.

    Args:
        seen: the observation that was acted on.
        chosen: of each action whole numbers `[actors]`, in the order of the offer's actors: the choice, or the position
            among the offer's actees.
        probs: of some actions float32 `[actors, choices]`.
        masked: refuse what a mask forbids; entity-gym passes it on.

    Raises:
        MusterError: a number for each actor is missing, or is not among what was offered.
    """
    probs = probs or {}
    actions: dict[str, Action] = {}
    for name, space in action_space.items():
        offer, of_each = seen.offers[name], probs.get(name)
        numbers = _numbers(name, space, offer, chosen.get(name, ()), masked)
        if isinstance(space, CategoricalActionSpace):
            actors = [seen.roster.ids[actor] for actor in offer.actors]
            actions[name] = CategoricalAction(actors, numbers, space.index_to_label, of_each)
        elif offer.actees is not None:
            ids = seen.roster.ids
            actees = [ids[actee] for actee in offer.actees[numbers]]
            actions[name] = SelectEntityAction([ids[actor] for actor in offer.actors], actees, of_each)
        elif len(numbers):
            index = int(numbers[0])
            row = None if of_each is None else of_each[0]
            actions[name] = GlobalCategoricalAction(index, space.index_to_label[index], row)
    return actions


def _numbers(name: str, space: ActionSpace, offer: Offer, chosen: Any, masked: bool) -> np.ndarray:
    numbers = np.asarray(chosen, np.int64).reshape(-1)
    if len(numbers) != len(offer.actors):
        raise MusterError(f"Action '{name}': {len(numbers)} choices for {len(offer.actors)} actors.")
    choices = len(space) if offer.actees is None else len(offer.actees)
    allowed = (numbers >= 0) & (numbers < choices)
    if allowed.all() and masked and offer.mask is not None:
        allowed = offer.mask[np.arange(len(numbers)), numbers]
    if not allowed.all():
        raise MusterError(f"Action '{name}': {numbers[~allowed][0]} is not among what its actor was offered.")
    return numbers
