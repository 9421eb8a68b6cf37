"""Checks of what an environment of entities declares and shows, and its values as arrays.

Every function raises `MusterError` with a message that names the entity type or the action.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from math import isfinite
from typing import Any, SupportsFloat

import numpy as np

from envs.contract.infos import MEANINGS
from envs.entities.actions import MASK_OF, CategoricalActionSpace, GlobalCategoricalActionSpace, SelectEntityActionSpace
from envs.entities.observation import Entity, ObsSpace
from utils.errors import MusterError
from utils.plain_values import quoted

GLOBAL = "__global__"  # the entity that takes global actions, in networks
BOOLEANS = (bool, int, np.bool_, np.integer)
NUMBERS = (int, float, np.integer, np.floating)
# what runners read in infos, and log of every episode
STATISTICS = ("return", "ep_length", "n_episodes", *MEANINGS)


def check_spaces(obs_space: Any, action_space: Any, acts: bool = True) -> None:
    """Refuse spaces that an environment must not declare; `acts`: there must be an action."""
    if not isinstance(obs_space, ObsSpace):
        raise MusterError(f"obs_space() returns {quoted(obs_space)}, not an ObsSpace.")
    _check_names("ObsSpace.global_features", obs_space.global_features)
    if not isinstance(obs_space.entities, Mapping):
        raise MusterError(f"ObsSpace.entities is {quoted(obs_space.entities)}, not a dict of entity types.")
    _check_names("ObsSpace.entities", list(obs_space.entities))
    for name, entity in obs_space.entities.items():
        if name == GLOBAL:
            raise MusterError(f"An entity type cannot be named '{GLOBAL}': that is who takes global actions.")
        if not isinstance(entity, Entity):
            raise MusterError(f"Entity type '{name}' is {quoted(entity)}, not an Entity.")
        _check_names(f"The features of entity type '{name}'", entity.features)
    if not isinstance(action_space, Mapping) or (acts and not action_space):
        raise MusterError(f"action_space() returns {quoted(action_space)}, not a dict with at least one action.")
    _check_names("action_space()", list(action_space))
    for name, space in action_space.items():
        if type(space) not in MASK_OF:
            kinds = ", ".join(kind.__name__ for kind in MASK_OF)
            raise MusterError(f"Action '{name}' is {quoted(space)}. Allowed: {kinds}.")
        if isinstance(space, CategoricalActionSpace | GlobalCategoricalActionSpace):
            if len(space) == 0:
                raise MusterError(f"Action '{name}' has no choices.")
            _check_names(f"The choices of action '{name}'", space.index_to_label)
        needs_entities = isinstance(space, CategoricalActionSpace | SelectEntityActionSpace)
        if needs_entities and not obs_space.entities:
            raise MusterError(f"Action '{name}' needs an actor, but ObsSpace.entities is empty.")


def _check_names(where: str, names: Any) -> None:
    if not isinstance(names, list | tuple):
        raise MusterError(f"{where}: expected a list of names, not {quoted(names)}.")
    for i, name in enumerate(names):
        if not isinstance(name, str) or not name or not name.isprintable():
            raise MusterError(f"{where}: {quoted(repr(name))} is not a name.")
        if name in names[:i]:
            raise MusterError(f"{where}: '{name}' is there twice.")


def features(where: str, parts: Sequence[Any], names: Sequence[str]) -> tuple[np.ndarray, list[int]]:
    """Features of the entities of R observations, one after another, float32 `[n, features]`, and their counts.

    Args:
        parts: of each observation, rows of finite numbers; None: there is no entity.
    """
    parts = [() if part is None else part for part in parts]
    for part in parts:
        if not hasattr(part, "__len__"):
            raise MusterError(f"{where}: {quoted(part)} is not a list of entities.")
    counts = [len(part) for part in parts]
    if all(type(part) in (list, tuple) for part in parts):
        values = _finite(where, list(chain.from_iterable(parts)))
    else:
        arrays = [_finite(where, part) for part, count in zip(parts, counts, strict=True) if count]
        if len({array.shape[1:] for array in arrays}) > 1:
            raise MusterError(f"{where} has features of different shapes.")
        values = np.concatenate(arrays) if arrays else np.zeros(0, np.float32)
    if values.shape == (0,):
        values = values.reshape(0, len(names))
    if values.ndim != 2 or values.shape[1] != len(names):
        raise MusterError(f"{where} has features of shape {values.shape}: expected [n, {len(names)}], {list(names)}.")
    return values, counts


def global_features(given: Sequence[Any], names: Sequence[str]) -> np.ndarray:
    """Global features of R observations, float32 `[R, features]`."""
    values = _finite("The observation's global features", given)
    if values.shape == (0,):
        values = values.reshape(0, len(names))
    if values.shape != (len(given), len(names)):
        raise MusterError(
            f"There are global features of shape {values.shape[1:]}: expected [{len(names)}], {list(names)}."
        )
    return values


def mask(where: str, given: Any, shape: tuple[int, int]) -> np.ndarray:
    """The choices that each actor has, bool of this shape."""
    if shape[0] == 0 and np.size(given) == 0:
        return np.zeros(shape, bool)
    return booleans(f"{where}, mask", given, shape)


def booleans(where: str, given: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Booleans, or 0 and 1, as bool of this shape."""
    try:
        values = np.asarray(given)
        kind = values.dtype.kind
        fits = kind == "b" or values.size == 0 or (kind in "iu" and ((values == 0) | (values == 1)).all())
    except ValueError:
        raise MusterError(f"{where}: rows of unequal length.") from None
    if not fits:
        raise MusterError(f"{where}: {quoted(given)} are no booleans.")
    if values.shape != shape:
        raise MusterError(f"{where} has the shape {values.shape}: expected {shape}.")
    return values if kind == "b" else values.astype(bool)


def sequence(where: str, given: Any, what: str) -> list[Any]:
    """A list of names or ids; a text, which would be a list of letters, is refused."""
    if isinstance(given, str | bytes) or not isinstance(given, Collection):
        raise MusterError(f"{where} is {quoted(given)}: expected a list of {what}.")
    return list(given)


def check_ids(where: str, given: Any, count: int) -> None:
    """Refuse other things than an id for each of the entities of a type."""
    found = sequence(f"{where}: its list of ids", given, "ids")
    try:
        hash(tuple(found))
    except TypeError:
        raise MusterError(f"{where} has the ids {quoted(found)}, of which one is not hashable.") from None
    if len(found) != count:
        raise MusterError(f"{where} has {count} entities, and {len(found)} ids.")


def is_true(what: str, given: Any) -> bool:
    """An observation's `done` or `truncated`."""
    if given is True or given is False:
        return given
    if isinstance(given, BOOLEANS) and given in (0, 1):
        return bool(given)
    raise MusterError(f"{what} is {quoted(repr(given))}: expected True or False.")


def reward(given: Any) -> float:
    """One finite number, also of an array without axes."""
    if isinstance(given, NUMBERS) or (isinstance(given, SupportsFloat) and not getattr(given, "ndim", 0)):
        number = float(given)
        if isfinite(number):
            return number
    raise MusterError(f"The reward is {quoted(repr(given))}: expected a finite number.")


def metrics(given: Mapping[Any, Any]) -> dict[str, float]:
    """Numbers to log, by name; `metrics/<name>` if a run has a statistic of that name."""
    found = {}
    for name, value in given.items():
        if not isinstance(name, str) or not name.isprintable():
            raise MusterError(f"The metric {quoted(name)} has no name that can be logged.")
        if np.size(value) != 1 or np.asarray(value).dtype.kind not in "biuf":
            raise MusterError(f"The metric '{quoted(name)}' is {quoted(value)}: expected a number.")
        found[f"metrics/{name}" if name in STATISTICS else name] = np.asarray(value).item()
    return found


def _finite(where: str, given: Any) -> np.ndarray:
    try:
        with np.errstate(over="ignore"):  # the message says that it is not finite
            values = np.asarray(given, np.float32)
    except (TypeError, ValueError) as error:
        raise MusterError(f"{where}: {quoted(given)} is not an array of numbers: {error}") from None
    if not np.isfinite(values).all():
        raise MusterError(f"{where}: a feature is not finite: {values[~np.isfinite(values)][0]}.")
    return values
