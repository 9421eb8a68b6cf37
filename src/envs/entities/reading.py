"""Numbers, masks and ids of an observation as arrays, or a message that says whose they are."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from envs.contract.infos import MEANINGS
from utils.errors import MusterError
from utils.plain_values import shown

BOOLEANS = (bool, int, np.bool_, np.integer)
# what runners read in infos, and log of every episode
STATISTICS = ("return", "ep_length", "n_episodes", *MEANINGS)


def features(where: str, given: Any, names: Sequence[str]) -> np.ndarray:
    """Features of entities, float32 `[n, features]`.

    Raises:
        MusterError: they are no finite numbers, or not these.
    """
    values = _numbers(where, given)
    if values.shape == (0,):
        values = values.reshape(0, len(names))
    if values.ndim != 2 or values.shape[1] != len(names):
        raise MusterError(f"{where} has features of shape {values.shape}: expected [n, {len(names)}], {list(names)}.")
    return values


def global_features(given: Any, names: Sequence[str]) -> np.ndarray:
    """Global features, float32 `[features]`; the same errors."""
    values = _numbers("The observation's global features", given)
    if values.shape != (len(names),):
        raise MusterError(f"There are global features of shape {values.shape}: expected [{len(names)}], {list(names)}.")
    return values


def visible(where: str, given: Any, count: int) -> np.ndarray:
    """Whether each entity is visible, bool `[count]`; the same errors."""
    return _booleans(f"{where}, visible", given, (count,))


def mask(where: str, given: Any, shape: tuple[int, int]) -> np.ndarray | None:
    """What each actor can choose, bool of this shape; None: all; the same errors."""
    if given is None:
        return None
    if shape[0] == 0 and np.size(given) == 0:
        return np.zeros(shape, bool)
    return _booleans(f"{where}, mask", given, shape)


def sequence(where: str, given: Any, what: str) -> list[Any]:
    """A list of names or ids; of a text, which would be one of letters, the same errors."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise MusterError(f"{where} is {shown(given)}: expected a list of {what}.")
    return list(given)


def is_true(what: str, given: Any) -> bool:
    """An observation's `done` or `truncated`; the same errors."""
    if isinstance(given, BOOLEANS) and given in (0, 1):
        return bool(given)
    raise MusterError(f"{what} is {shown(repr(given))}: expected True or False.")


def metrics(given: Mapping[Any, Any]) -> dict[str, float]:
    """Numbers to log, by name; `metrics/<name>` if a run has a statistic of that name; the same errors."""
    found = {}
    for name, value in given.items():
        if not isinstance(name, str) or not name.isprintable():
            raise MusterError(f"The metric {shown(name)} has no name that can be logged.")
        if np.size(value) != 1 or np.asarray(value).dtype.kind not in "biuf":
            raise MusterError(f"The metric '{shown(name)}' is {shown(value)}: expected a number.")
        found[f"metrics/{name}" if name in STATISTICS else name] = np.asarray(value).item()
    return found


def _numbers(where: str, given: Any) -> np.ndarray:
    try:
        with np.errstate(over="ignore"):  # the message says that it is not finite
            values = np.asarray(given, np.float32)
    except (TypeError, ValueError) as error:
        raise MusterError(f"{where}: {shown(given)} is not an array of numbers: {error}") from None
    if not np.isfinite(values).all():
        raise MusterError(f"{where}: a feature is not finite: {values[~np.isfinite(values)][0]}.")
    return values


def _booleans(where: str, given: Any, shape: tuple[int, ...]) -> np.ndarray:
    try:
        values = np.asarray(given)
        fits = (values.dtype.kind in "biu" and ((values == 0) | (values == 1)).all()) or values.size == 0
    except ValueError:
        raise MusterError(f"{where}: rows of unequal length.") from None
    if not fits:
        raise MusterError(f"{where}: {shown(given)} are no booleans.")
    if values.shape != shape:
        raise MusterError(f"{where} has the shape {values.shape}: expected {shape}.")
    return values.astype(bool)
