"""Entities by number: what an observation shows and allows, checked.

Numbers count the entities that have features, type after type in the order of `ObsSpace.entities`, from 0 in each
environment. One order of actors holds from here to the actions that the environment gets (`envs.entities.dispatch`).
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, SupportsFloat

import numpy as np

from envs.entities import reading
from envs.entities.actions import (
    MASK_OF,
    ActionSpace,
    GlobalCategoricalActionMask,
    SelectEntityActionSpace,
)
from envs.entities.observation import Observation, ObsSpace
from envs.entities.roster import Roster
from envs.entities.space_checks import check_spaces
from utils.errors import MusterError
from utils.nearest import suggestion
from utils.plain_values import shown


@dataclass(frozen=True)
class Offer:
    """What one observation allows of one action.

    `actors`: numbers of entities, int64 `[n]`; of a global action the number after the last entity, if it is offered.
    `actees`: of select-entity, numbers of the entities to select from, int64 `[m]`; none if there is no actor.
    `mask`: bool `[n, choices]` or `[n, m]`; None: all.
    """

    actors: np.ndarray
    actees: np.ndarray | None = None
    mask: np.ndarray | None = None


@dataclass(frozen=True)
class Seen:
    """An observation by number.

    `features`: of each type float32 `[n, features]`, in the order of the space; `global_features`: float32 `[g]`.
    `visible`: of the types that have it, bool `[n]`. `offers`: of every action. `roster`: ids by number.
    """

    features: Mapping[str, np.ndarray]
    global_features: np.ndarray
    visible: Mapping[str, np.ndarray]
    offers: Mapping[str, Offer]
    roster: Roster
    reward: float
    done: bool
    truncated: bool
    metrics: Mapping[str, float]


class EntityNumbering:
    """Numbers the entities of the observations of one environment.

    Args:
        acts: whether there must be an action.

    Raises:
        MusterError: the spaces are invalid.
    """

    def __init__(self, obs_space: ObsSpace, action_space: Mapping[str, ActionSpace], acts: bool = True):
        check_spaces(obs_space, action_space, acts)
        self._obs_space, self._action_space = obs_space, dict(action_space)

    def seen(self, observation: Observation) -> Seen:
        """An observation by number. Types that the space does not have are left out, as in entity-gym.

        Raises:
            MusterError: it does not fit the spaces, is ambiguous, or an actor has nothing to choose though the
                episode continues; the message names the entity type and the action.
        """
        if not isinstance(observation, Observation):
            raise MusterError(f"The environment returned {shown(observation)}, not an Observation.")
        features = {
            name: reading.features(
                f"Entity type '{name}'", _or_nothing(observation.features.get(name)), entity.features
            )
            for name, entity in self._obs_space.entities.items()
        }
        reward = observation.reward
        if np.ndim(reward) or not isinstance(reward, SupportsFloat) or not np.isfinite(float(reward)):
            raise MusterError(f"The reward is {shown(repr(reward))}: expected a finite number.")
        done = reading.is_true("done", observation.done)
        truncated = reading.is_true("truncated", observation.truncated)
        if done and truncated:
            raise MusterError("An observation is done, or truncated, not both.")
        for name in observation.actions:
            if name not in self._action_space:
                raise MusterError(f"There is no action '{shown(name)}'.{suggestion(name, self._action_space)}")
        roster, ended = _roster(features, observation), done or truncated
        offers = {name: self._offer(name, observation.actions.get(name), roster, ended) for name in self._action_space}
        return Seen(
            features=features,
            global_features=reading.global_features(observation.global_features, self._obs_space.global_features),
            visible={
                name: reading.visible(f"Entity type '{name}'", observation.visible[name], len(rows))
                for name, rows in features.items()
                if name in observation.visible
            },
            offers=offers,
            roster=roster,
            reward=float(reward),
            done=done,
            truncated=truncated,
            metrics=observation.metrics,
        )

    def _offer(self, name: str, mask: Any, roster: Roster, ended: bool) -> Offer:
        space, where = self._action_space[name], f"Action '{name}'"
        selects, expected = isinstance(space, SelectEntityActionSpace), MASK_OF[type(space)]
        if mask is None:
            return Offer(np.zeros(0, np.int64), np.zeros(0, np.int64) if selects else None)
        if not isinstance(mask, expected):
            raise MusterError(f"{where} has the mask {shown(mask)}: expected a {expected.__name__}.")
        if isinstance(mask, GlobalCategoricalActionMask):
            row = mask.mask if mask.mask is None or np.ndim(mask.mask) == 2 else [mask.mask]
            allowed = reading.mask(where, row, (1, len(space)))
            if allowed is not None and not allowed.any() and not ended:
                raise MusterError(f"{where}: there is nothing to choose.")
            return Offer(np.array([roster.count]), mask=allowed)
        actors, actees = roster.chosen(where, "actor", mask.actor_ids, mask.actor_types), None
        if selects:
            actees = roster.chosen(where, "actee", mask.actee_ids, mask.actee_types)
            if len(actors) == 0:
                return Offer(actors, actors)
        choices = len(space) if actees is None else len(actees)
        allowed = reading.mask(where, mask.mask, (len(actors), choices))
        some = np.full(len(actors), choices > 0) if allowed is None else allowed.any(1)
        if not some.all() and not ended:
            raise MusterError(
                f"{where}: an actor of entity type '{roster.types[actors[~some][0]]}' has nothing to "
                f"{'select' if selects else 'choose'}."
            )
        return Offer(actors, actees, allowed)


def _or_nothing(given: Any) -> Any:
    return [] if given is None else given


def _roster(features: Mapping[str, np.ndarray], observation: Observation) -> Roster:
    ids = {
        name: reading.sequence(f"Entity type '{name}': its list of ids", observation.ids[name], "ids")
        for name in features
        if name in observation.ids
    }
    for name, given in ids.items():
        for identity in given:
            if not isinstance(identity, Hashable):
                raise MusterError(f"Entity type '{name}' has the id {shown(identity)}, which is not hashable.")
        if len(given) != len(features[name]):
            raise MusterError(f"Entity type '{name}' has {len(features[name])} entities, and {len(given)} ids.")
    return Roster({name: len(rows) for name, rows in features.items()}, ids)
