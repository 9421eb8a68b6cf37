"""Entities by number: what observations show and allow, checked.

Numbers count the entities that have features, type after type in the order of `ObsSpace.entities`, from 0 in each
environment. One order of actors holds from here to the actions that the environment gets (`envs.entities.acting`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from envs.entities import reading
from envs.entities.actions import MASK_OF, ActionSpace, GlobalCategoricalActionMask, SelectEntityActionSpace
from envs.entities.observation import Observation, ObsSpace
from envs.entities.roster import Roster
from utils.errors import MusterError
from utils.nearest import suggestion
from utils.plain_values import quoted
from utils.ragged.rows import ranges

NOBODY = np.zeros(0, np.int64)


class ObservationError(MusterError):
    """An observation is invalid; `row` is its place among those that were read together."""

    def __init__(self, text: str, row: int):
        super().__init__(text)
        self.row = row


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
class Offers:
    """The same of R observations, one after another: `actors` int64 `[A]`, of each observation `n_actors` int64 `[R]`.

    `legal`: bool `[A, most choices]`, False beyond the choices of an actor; `masked`: an observation has a mask.
    """

    actors: np.ndarray
    n_actors: np.ndarray
    actees: np.ndarray | None
    n_actees: np.ndarray
    legal: np.ndarray
    masked: bool


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


@dataclass(frozen=True)
class Frames:
    """R observations by number: `counts` int64 `[R, types]`; the rest as of `Seen`, one observation after another."""

    observations: Sequence[Observation]
    counts: np.ndarray
    features: Mapping[str, np.ndarray]
    global_features: np.ndarray
    visible: Mapping[str, np.ndarray]
    offers: Mapping[str, Offers]

    def seen(self, row: int) -> Seen:
        observation = self.observations[row]
        entities = dict(zip(self.features, map(slice, self._begins[row], self._begins[row + 1]), strict=True))
        return Seen(
            features={name: values[entities[name]] for name, values in self.features.items()},
            global_features=self.global_features[row],
            visible={name: flags[entities[name]] for name, flags in self.visible.items()},
            offers={name: _offer(offers, row) for name, offers in self.offers.items()},
            roster=self.roster(row),
            reward=float(observation.reward),
            done=bool(observation.done),
            truncated=bool(observation.truncated),
            metrics=observation.metrics,
        )

    def roster(self, row: int) -> Roster:
        """The entities of one of them. Raises MusterError: its ids do not fit."""
        if row not in self._rosters:
            counts = dict(zip(self.features, self.counts[row].tolist(), strict=True))
            self._rosters[row] = Roster(counts, self.observations[row])
        return self._rosters[row]

    @cached_property
    def _rosters(self) -> dict[int, Roster]:
        return {}

    @cached_property
    def _begins(self) -> np.ndarray:
        return np.concatenate([np.zeros_like(self.counts[:1]), self.counts.cumsum(0)])


class EntityNumbering:
    """Numbers the entities of the observations of one environment.

    Args:
        acts: whether there must be an action.

    Raises:
        MusterError: the spaces are invalid.
    """

    def __init__(self, obs_space: ObsSpace, action_space: Mapping[str, ActionSpace], acts: bool = True):
        reading.check_spaces(obs_space, action_space, acts)
        self._obs_space, self._action_space = obs_space, dict(action_space)
        self._place = {name: k for k, name in enumerate(obs_space.entities)}

    def seen(self, observation: Observation) -> Seen:
        return self.read([observation]).seen(0)

    def read(self, observations: Sequence[Observation], acting: bool = False) -> Frames:
        """Observations by number. Types that the space does not have are left out, as in entity-gym.

        Args:
            acting: an observation that ends its episode offers nothing; what it allows is not read.

        Raises:
            ObservationError: one does not fit the spaces, is ambiguous, or an actor has nothing to choose though the
                episode continues; the message names the entity type and the action.
        """
        try:
            return self._read(observations, acting)
        except MusterError:
            for row, one in enumerate(observations):  # its message is of one alone
                try:
                    self._read([one], acting)
                except MusterError as error:
                    raise ObservationError(str(error), row) from None
            raise

    def _read(self, observations: Sequence[Observation], acting: bool) -> Frames:
        ended = np.array([self._has_ended(one) for one in observations], bool)
        counts = np.zeros((len(observations), len(self._place)), np.int64)
        features: dict[str, np.ndarray] = {}
        for k, (name, entity) in enumerate(self._obs_space.entities.items()):
            parts = [one.features.get(name) for one in observations]
            features[name], counts[:, k] = reading.features(f"Entity type '{name}'", parts, entity.features)
        names = self._obs_space.global_features
        general = reading.global_features([one.global_features for one in observations], names)
        offers: dict[str, Offers] = {}
        visible = self._visible(observations, counts)
        frames = Frames(observations, counts, features, general, visible, offers)
        for row, one in enumerate(observations):
            if one.ids:
                frames.roster(row)
        for name in self._action_space:
            masks = [one.actions.get(name) for one in observations]
            if acting:
                masks = [None if end else mask for mask, end in zip(masks, ended.tolist(), strict=True)]
            offers[name] = self._offers(name, masks, frames, ended)
        return frames

    def _has_ended(self, observation: Any) -> bool:
        if not isinstance(observation, Observation):
            raise MusterError(f"The environment returned {quoted(observation)}, not an Observation.")
        reading.reward(observation.reward)
        done = reading.is_true("done", observation.done)
        truncated = reading.is_true("truncated", observation.truncated)
        if done and truncated:
            raise MusterError("An observation is done, or truncated, not both.")
        for name in observation.actions:
            if name not in self._action_space:
                raise MusterError(f"There is no action '{quoted(name)}'.{suggestion(name, self._action_space)}")
        return done or truncated

    def _visible(self, observations: Sequence[Observation], counts: np.ndarray) -> dict[str, np.ndarray]:
        """Of the types for which an observation says it, bool `[n]`."""
        visible: dict[str, np.ndarray] = {}
        said = {name for one in observations for name in one.visible}
        for name, k in self._place.items():
            if name not in said:
                continue
            where, sizes = f"Entity type '{name}', visible", counts[:, k].tolist()
            parts = [one.visible.get(name, [True] * size) for one, size in zip(observations, sizes, strict=True)]
            if {*map(type, parts)} == {list} and [len(part) for part in parts] == sizes:
                visible[name] = reading.booleans(where, [*chain.from_iterable(parts)], (sum(sizes),))
            else:
                both = zip(parts, sizes, strict=True)
                visible[name] = np.concatenate([reading.booleans(where, part, (size,)) for part, size in both])
        return visible

    def _offers(self, name: str, given: Sequence[Any], frames: Frames, ended: np.ndarray) -> Offers:
        """`given`: of each observation the action's mask, or None."""
        space, where = self._action_space[name], f"Action '{name}'"
        masks, expected = [mask for mask in given if mask is not None], MASK_OF[type(space)]
        for mask in masks:
            if not isinstance(mask, expected):
                raise MusterError(f"{where} has the mask {quoted(mask)}: expected a {expected.__name__}.")
        rows = np.array([row for row, mask in enumerate(given) if mask is not None], np.int64)
        if expected is GlobalCategoricalActionMask:
            actors, lengths = frames.counts[rows].sum(1), np.ones_like(rows)
        else:
            actors, lengths = self._numbers(where, "actor", masks, rows, frames)
        actees = None
        if isinstance(space, SelectEntityActionSpace):
            actees, choices = self._numbers(where, "actee", masks, rows, frames)
            some = lengths > 0  # without an actor nothing is to be selected from
            actees, choices = actees[np.repeat(some, choices)], choices * some
        else:
            choices = np.full_like(rows, len(space))
        legal = np.arange(choices.max(initial=0)) < np.repeat(choices, lengths)[:, None]
        masked = _restrict(where, legal, masks, lengths, choices)
        stuck = ~legal.any(1) & ~np.repeat(ended[rows], lengths)
        if stuck.any():
            row = np.repeat(rows, lengths)[stuck][0]
            raise MusterError(f"{where}: {frames.roster(int(row)).stuck(actors[stuck][0], actees is not None)}")
        n_actors, n_actees = np.zeros((2, len(given)), np.int64)
        n_actors[rows], n_actees[rows] = lengths, 0 if actees is None else choices
        return Offers(actors, n_actors, actees, n_actees, legal, masked)

    def _numbers(
        self, where: str, role: str, masks: Sequence[Any], rows: np.ndarray, frames: Frames
    ) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the actors or actees that masks name, one mask after another, and how many each names."""
        ids, types = ([getattr(mask, f"{role}_{by}") for mask in masks] for by in ("ids", "types"))
        # most name types, in which case no entity need be looked at
        by_type = all(one is None for one in ids) and all(
            frames.roster(row).distinct for row in rows.tolist() if frames.observations[row].ids
        )
        places = self._places(types) if by_type else None
        if places is None:
            named = zip(rows.tolist(), ids, types, strict=True)
            parts = [frames.roster(row).chosen(where, role, *by) for row, *by in named]
            return np.concatenate([NOBODY, *parts]), np.array([len(part) for part in parts], np.int64)
        counts = frames.counts[rows]
        lengths = np.where(places >= 0, np.take_along_axis(counts, places, 1), 0)
        begins = np.take_along_axis(counts.cumsum(1) - counts, places, 1)
        return ranges(begins.ravel(), lengths.ravel()), lengths.sum(1)

    def _places(self, lists: Sequence[Any]) -> np.ndarray | None:
        """Lists of different entity types as their places in the space, `[lists, types]`, and -1 beyond a list's end.

        None if one is no such list.
        """
        if not {*map(type, lists)} <= {list, tuple}:
            return None
        alike = all(one == lists[0] for one in lists)
        if {*map(type, chain.from_iterable(lists[:1] if alike else lists))} - {str}:
            return None
        different = {tuple(one) for one in (lists[:1] if alike else lists)}
        if any(len(self._place.keys() & one) < len(one) for one in different):
            return None
        width = max(map(len, different), default=0)
        found = {one: [self._place[name] for name in one] + [-1] * (width - len(one)) for one in different}
        if alike:
            return np.broadcast_to(np.array([*found.values()], np.int64).reshape(1, width), (len(lists), width))
        return np.array([found[tuple(one)] for one in lists], np.int64).reshape(len(lists), width)


def _restrict(where: str, legal: np.ndarray, masks: Sequence[Any], lengths: np.ndarray, choices: np.ndarray) -> bool:
    """Clear in `legal`, bool `[all actors, most choices]`, what masks forbid; whether there is a mask."""
    given = [mask.mask for mask in masks]
    if all(one is None for one in given):
        return False
    if isinstance(masks[0], GlobalCategoricalActionMask):
        given = [one if one is None or np.ndim(one) == 2 else [one] for one in given]
    sizes = lengths.tolist()
    if (
        all(type(one) is list for one in given)
        and [len(one) for one in given] == sizes
        and (choices == choices[0]).all()
    ):
        legal &= reading.mask(where, list(chain.from_iterable(given)), legal.shape)
        return True
    first = 0
    for one, size, number in zip(given, sizes, choices.tolist(), strict=True):
        if one is not None:
            legal[first : first + size, :number] &= reading.mask(where, one, (size, number))
        first += size
    return True


def _offer(offers: Offers, row: int) -> Offer:
    """What one of the observations allows."""
    actors = slice(first := offers.n_actors[:row].sum(), first + offers.n_actors[row])
    actees = slice(first := offers.n_actees[:row].sum(), first + offers.n_actees[row])
    numbers = None if offers.actees is None else offers.actees[actees]
    mask = offers.legal[actors, : None if numbers is None else len(numbers)] if offers.masked else None
    return Offer(offers.actors[actors], numbers, mask)
