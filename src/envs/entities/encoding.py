"""Observations of many environments as arrays, all in one pass."""

from collections.abc import Sequence
from itertools import chain
from math import isfinite
from typing import Any

import numpy as np

from envs.contract.fields import EnvSpec, count_of
from envs.entities.actions import (
    MASK_OF,
    GlobalCategoricalActionMask,
    SelectEntityActionMask,
)
from envs.entities.layout import Layout
from envs.entities.numbering import EntityNumbering, Offer, Seen
from envs.entities.observation import Observation
from envs.entities.reading import BOOLEANS
from utils.errors import MusterError

NUMBERS = (int, float, np.integer, np.floating)
# an observation by number, that of an ended episode without actors; None where the plain way is exact
Numbered = Seen | None


class NotPlainError(Exception):
    """An observation is not of the usual form; `EntityNumbering` says what it means, or what is wrong with it."""


class Encoder:
    """Writes observations into the arrays of B environments.

    Usual observations take the plain way: features are lists or arrays, actors and actees are named by their types.
    It is a short cut of `EntityNumbering.seen`, which takes any other one, and which has the messages.

    Args:
        spec: the environments' fields.
        layout: where everything is.
        size: B.
    """

    def __init__(self, spec: EnvSpec, layout: Layout, size: int):
        self._layout, self._numbering = layout, EntityNumbering(layout.obs_space, layout.action_space)
        self.arrays = {
            path: np.zeros(shape, dtype)
            for path, (shape, dtype) in spec.layout(size).items()
            if path in spec.of_kind("observation", "mask")
        }
        self._types = list(layout.obs_space.entities)
        self._counts = [self.arrays[count_of(f"entities/{name}")] for name in self._types]
        self._place = {name: k for k, name in enumerate(self._types)}
        self.numbered: list[Numbered] = [None] * size

    def write(self, rows: Sequence[int], observations: Sequence[Observation]) -> None:
        """Write the observations of these environments.

        Raises:
            MusterError: one of them is invalid, as `EntityNumbering.seen` says, or has more than the capacities.
        """
        if not len(rows):
            return
        index = np.asarray(rows)
        try:
            self._write(index, [_Plain(observation) for observation in observations])
            for row in rows:
                self.numbered[row] = None
            return
        except (NotPlainError, ValueError, TypeError, AttributeError):
            seen = [self._numbering.seen(observation) for observation in observations]
        self._write(index, [_Numbered(one) for one in seen])
        for row, one in zip(rows, seen, strict=True):
            self.numbered[row] = one

    def _write(self, rows: np.ndarray, given: Sequence["_Plain | _Numbered"]) -> None:
        for one in given:
            one.check(self._layout)
        for array in self.arrays.values():
            array[rows] = 0
        self.arrays["actors"][rows] = -1
        counts = np.zeros((len(rows), len(self._types)), np.int64)
        for k, (name, entity) in enumerate(self._layout.obs_space.entities.items()):
            parts = [_or_nothing(one.features.get(name)) for one in given]
            counts[:, k] = [len(part) for part in parts]
            self._require_capacity(name, "entities", "max_entities", counts[:, k], self._layout.entities[name])
            self._counts[k][rows] = counts[:, k]
            if entity.features:
                values = _joined(parts, counts[:, k], len(entity.features))
                self.arrays[f"entities/{name}"][np.repeat(rows, counts[:, k]), _within(counts[:, k])] = values
            if any(one.visible for one in given):
                self._hide(name, rows, counts[:, k], given)
        self._write_global(rows, given)
        first = np.cumsum(counts, axis=1) - counts
        total = counts.sum(axis=1)
        for name in self._layout.action_space:
            self._write_action(name, rows, given, first, counts, total)
        # a slot without an actor has one legal action, to do nothing
        idle = self.arrays["acts"][rows] == 0
        legal = self.arrays["avail_actions"][rows]
        legal[..., 0] |= idle
        self.arrays["avail_actions"][rows] = legal

    def _hide(self, name: str, rows: np.ndarray, counts: np.ndarray, given: Sequence[Any]) -> None:
        for row, count, one in zip(rows.tolist(), counts.tolist(), given, strict=True):
            if name in one.visible:
                visible = np.asarray(one.visible[name])
                if visible.dtype.kind != "b" or visible.shape != (count,):
                    raise NotPlainError
                self.arrays[f"entities/{name}/hidden"][row, :count] = ~visible

    def _write_global(self, rows: np.ndarray, given: Sequence[Any]) -> None:
        names = self._layout.obs_space.global_features
        values = np.array([one.global_features for one in given], np.float32)
        if values.shape != (len(rows), len(names)) or not np.isfinite(values).all():
            raise NotPlainError
        if names:
            self.arrays["global_features"][rows] = values

    def _write_action(
        self,
        name: str,
        rows: np.ndarray,
        given: Sequence[Any],
        first: np.ndarray,
        counts: np.ndarray,
        total: np.ndarray,
    ) -> None:
        """`first`, `counts`: of each type, its first number and how many there are, `[rows, types]`; `total` of all."""
        offers = [one.offer(name) for one in given]
        acting = [k for k, offer in enumerate(offers) if offer is not None]
        if not acting:
            return
        offers, places = [offers[k] for k in acting], np.array(acting)
        of_rows = rows[places]
        kind = MASK_OF[type(self._layout.action_space[name])]
        if any(type(offer) not in (kind, Offer) for offer in offers):
            raise NotPlainError
        by_row = first[places], counts[places], total[places]
        actors, n_actors = self._numbers(offers, "actor", *by_row)
        choices = np.full(len(offers), self._layout.choices[name])
        if kind is SelectEntityActionMask:
            actees, choices = self._numbers(offers, "actee", *by_row)
            kept = n_actors > 0  # without an actor nothing is to be selected from
            actees, choices = actees[np.repeat(kept, choices)], np.where(kept, choices, 0)
            path = f"actees/{name}"
            self.arrays[path][np.repeat(of_rows, choices), _within(choices)] = actees
            self.arrays[count_of(path)][of_rows] = choices
        slots = self._layout.slots[name]
        if kind is not GlobalCategoricalActionMask:
            self._require_capacity(name, "actors", "max_actors", n_actors, slots.stop - slots.start)
        at = np.repeat(of_rows, n_actors), slots.start + _within(n_actors)
        self.arrays["actors"][at] = actors
        self.arrays["acts"][at] = 1
        legal = np.arange(self._layout.n_choices) < np.repeat(choices, n_actors)[:, None]
        self._apply_masks(legal, [offer.mask for offer in offers], n_actors, choices, kind)
        if not legal.any(axis=1).all():
            raise NotPlainError
        self.arrays["avail_actions"][at] = legal

    def _numbers(
        self, offers: Sequence[Any], role: str, first: np.ndarray, counts: np.ndarray, total: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the actors or actees of all offers, one after another, and how many each has."""
        if isinstance(offers[0], Offer):
            parts = [offer.actors if role == "actor" else offer.actees for offer in offers]
            return np.concatenate(parts), np.array([len(part) for part in parts])
        if isinstance(offers[0], GlobalCategoricalActionMask):
            return total, np.ones(len(offers), np.int64)
        types = [getattr(offer, f"{role}_types") for offer in offers]
        if any(getattr(offer, f"{role}_ids") is not None for offer in offers) or None in types:
            raise NotPlainError
        if all(one == types[0] for one in types):
            columns = np.broadcast_to(self._columns(types[0]), (len(offers), len(types[0])))
        else:  # -1 stands for no type
            most = max(len(one) for one in types)
            columns = np.array([[*self._columns(one), *[-1] * (most - len(one))] for one in types], np.int64)
        if columns.size == 0:
            return np.zeros(0, np.int64), np.zeros(len(offers), np.int64)
        of_offer = np.arange(len(offers))[:, None]
        lengths = np.where(columns >= 0, counts[of_offer, columns], 0)
        begins = first[of_offer, columns].reshape(-1)
        flat = lengths.reshape(-1)
        return np.repeat(begins, flat) + _within(flat), lengths.sum(axis=1)

    def _columns(self, types: Sequence[str]) -> list[int]:
        columns = [self._place[name] for name in types if name in self._place]
        if len(set(columns)) < len(types):
            raise NotPlainError
        return columns

    def _apply_masks(
        self, legal: np.ndarray, masks: Sequence[Any], n_actors: np.ndarray, choices: np.ndarray, kind: type
    ) -> None:
        """Clear what masks forbid in `legal`, bool `[all actors, choices]`."""
        if all(mask is None for mask in masks):
            return
        if kind is GlobalCategoricalActionMask:
            masks = [mask if mask is None or np.ndim(mask) == 2 else [mask] for mask in masks]
        if kind is not SelectEntityActionMask and all(type(mask) is list for mask in masks):
            values = np.array(list(chain.from_iterable(masks)))
            if len(values) == 0 and not n_actors.any():
                return
            sizes = [len(mask) for mask in masks]
            if values.dtype.kind != "b" or values.shape != (len(legal), choices[0]) or sizes != n_actors.tolist():
                raise NotPlainError
            legal[:, : choices[0]] &= values
            return
        first = 0
        for mask, actors, number in zip(masks, n_actors.tolist(), choices.tolist(), strict=True):
            if mask is not None and (actors or np.size(mask)):
                values = np.asarray(mask)
                if values.dtype.kind != "b" or values.shape != (actors, number):
                    raise NotPlainError
                legal[first : first + actors, :number] &= values
            first += actors

    def _require_capacity(self, name: str, what: str, key: str, counts: np.ndarray, capacity: int) -> None:
        if len(counts) and (most := int(counts.max())) > capacity:
            owner = "Entity type" if what == "entities" else "Action"
            raise MusterError(
                f"{owner} '{name}' has {most} {what}, more than its capacity of {capacity}. Set env_args.{key}, "
                f"for all or as {{'{name}': {most}}}."
            )


class _Plain:
    """An observation as it is."""

    def __init__(self, observation: Observation):
        self.features, self.visible = observation.features, observation.visible
        self.global_features = observation.global_features
        self._observation = observation
        # what is left to do after the end is nobody's
        self._ended = bool(observation.done or observation.truncated)

    def check(self, layout: Layout) -> None:
        observation = self._observation
        if not (isinstance(observation.done, BOOLEANS) and isinstance(observation.truncated, BOOLEANS)):
            raise NotPlainError
        if (observation.done and observation.truncated) or max(observation.done, observation.truncated) > 1:
            raise NotPlainError
        if not isinstance(observation.reward, NUMBERS) or not isfinite(observation.reward):
            raise NotPlainError
        for name in observation.actions:
            if name not in layout.action_space:
                raise NotPlainError
        for name, ids in observation.ids.items():
            if name in layout.obs_space.entities and (
                isinstance(ids, str) or len(ids) != len(_or_nothing(observation.features.get(name)))
            ):
                raise NotPlainError
        if len(observation.ids) and len(set(chain.from_iterable(observation.ids.values()))) < sum(
            map(len, observation.ids.values())
        ):
            raise NotPlainError

    def offer(self, name: str) -> Any:
        return None if self._ended else self._observation.actions.get(name)


class _Numbered:
    """An observation by number."""

    def __init__(self, seen: Seen):
        self.features, self.visible, self.global_features = seen.features, seen.visible, seen.global_features
        self._offers, self._ended = seen.offers, seen.done or seen.truncated

    def check(self, layout: Layout) -> None:
        """It is valid."""

    def offer(self, name: str) -> Offer | None:
        return None if self._ended else self._offers[name]


def _or_nothing(given: Any) -> Any:
    return () if given is None else given


def _joined(parts: Sequence[Any], counts: np.ndarray, width: int) -> np.ndarray:
    """Features of all observations one after another, float32 `[counts.sum(), width]`."""
    if all(type(part) in (list, tuple) for part in parts):
        values = np.array(list(chain.from_iterable(parts)), np.float32)
    else:
        values = np.concatenate([np.asarray(part, np.float32) for part in parts if len(part)] or [np.zeros(0)])
    if values.shape == (0,):
        values = values.reshape(0, width)
    if values.shape != (counts.sum(), width) or not np.isfinite(values).all():
        raise NotPlainError
    return values


def _within(counts: np.ndarray) -> np.ndarray:
    """0 .. counts[0] - 1, 0 .. counts[1] - 1, ... as one array."""
    ends = counts.cumsum()
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - counts, counts)
