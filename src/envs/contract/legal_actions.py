"""Masks of legal actions as environments of Gymnasium and PettingZoo give them, as values of declared fields."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from envs.contract.fields import FieldSpec
from envs.contract.optional import require
from envs.contract.validation import NUMBERS, InvalidEnvironmentError
from utils.plain_values import quoted

# its key in observations and infos
MASK = "action_mask"
ALWAYS = "an environment that marks what is legal does so after reset() and after every step"


class LegalActions:
    """The legal choices of one agent.

    A choice `<path>` is masked by the field `<prefix>avail_actions`, the branch `<path>/<k>` by `<prefix>avail/<k>`. A
    mask of them is, as in `gymnasium.Space.sample`, an array of 0 and 1 for a Discrete space; one for each branch of a
    MultiDiscrete; 0, 1 or 2 (both) for each entry of a MultiBinary; and for Tuple and Dict a tuple or dictionary of
    these, with None where all is legal. For MultiDiscrete and MultiBinary it may also be one array with the choices of
    all branches one after another, as in sb3-contrib. Continuous actions have none.

    An environment marks them always or never: `offered` is what its first observation did, None before.

    Args:
        path: of the actions.
        space: of the actions.
        actions: the fields that `envs.contract.spaces.acted` makes of it.
    """

    def __init__(self, path: str, space: Any, actions: Mapping[str, FieldSpec]):
        self._path, self._space = path, space
        self.choices = {name: field.n for name, field in actions.items() if field.n is not None}
        self.masks = {name: self._mask_of(name) for name in self.choices}
        self.offered: bool | None = None
        # every choice is legal
        self._all = {mask: np.ones(self.choices[action], np.uint8) for action, mask in self.masks.items()}
        for array in self._all.values():
            array.flags.writeable = False

    def _mask_of(self, action: str) -> str:
        prefix, branch = self._path.removesuffix("actions"), action.removeprefix(self._path)
        return f"{prefix}avail{branch}" if branch else f"{prefix}avail_actions"

    def fields(self) -> dict[str, FieldSpec]:
        return {
            mask: FieldSpec("mask", (self.choices[action],), "uint8", of=action) for action, mask in self.masks.items()
        }

    def first_only(self) -> dict[str, np.ndarray]:
        """Nothing but the first choice of each branch is legal."""
        return {mask: (np.arange(self.choices[action]) == 0).astype(np.uint8) for action, mask in self.masks.items()}

    def read(self, given: Any, source: str, over: bool = False) -> dict[str, np.ndarray]:
        """A mask as values of `fields`, uint8, which are not to be changed.

        Args:
            given: the mask; None: there is none.
            source: where it is or should be, for messages.
            over: the agent has terminated. It needs no action, so there need not be a legal one, nor a mask.

        Raises:
            InvalidEnvironmentError: it has another shape, other values than 0 and 1, or marks no choice as legal; or it
                is missing although the first observation had one, or the other way round.
        """
        if not self._all:
            return {}
        if self.offered is None:
            self.offered = given is not None
        if given is None:
            if self.offered and not over:
                raise InvalidEnvironmentError(f"{source} is missing; {ALWAYS}")
            return self._all
        if not self.offered:
            raise InvalidEnvironmentError(f"{source} appears, which the first observation lacked; {ALWAYS}")
        legal = dict(self._all)
        for action, part, where in self._parts(self._path, self._space, given, source):
            if part is not None:
                legal[self.masks[action]] = _checked(part, self.choices[action], where, over)
        return legal

    def _parts(self, path: str, space: Any, given: Any, where: str) -> Iterator[tuple[str, Any, str]]:
        """Each choice with its part of a mask, and where that was."""
        spaces = require("gymnasium.spaces", "Gymnasium's spaces")
        if given is None:
            return
        if isinstance(space, spaces.Discrete):
            yield path, given, where
        elif isinstance(space, spaces.MultiDiscrete):
            sizes = space.nvec.reshape(-1).tolist()
            for k, part in enumerate(_of_branches(given, space.nvec.shape, sizes, where)):
                yield f"{path}/{k}", part, f"{where}, branch {k}"
        elif isinstance(space, spaces.MultiBinary):
            for k, part in enumerate(_of_switches(given, space.shape, where)):
                yield f"{path}/{k}", part, f"{where}, branch {k}"
        elif isinstance(space, spaces.Dict):
            if not isinstance(given, Mapping) or {*given} != {*space.spaces}:
                raise InvalidEnvironmentError(f"{where} is {quoted(given)}; it must have {', '.join(space.spaces)}")
            for key, inner in space.spaces.items():
                yield from self._parts(f"{path}/{key}", inner, given[key], f"{where}['{key}']")
        elif isinstance(space, spaces.Tuple):
            if not isinstance(given, tuple | list) or len(given) != len(space.spaces):
                raise InvalidEnvironmentError(
                    f"{where} is {quoted(given)}; it must be a tuple of {len(space.spaces)} masks"
                )
            for k, inner in enumerate(space.spaces):
                yield from self._parts(f"{path}/{k}", inner, given[k], f"{where}[{k}]")


def _of_branches(given: Any, shape: tuple[int, ...], sizes: list[int], where: str) -> list[Any]:
    """Masks of the branches of a MultiDiscrete of this shape, in C order."""
    flat = _as_array(given)
    if flat is not None and flat.shape == (sum(sizes),):
        return np.split(flat, np.cumsum(sizes)[:-1])
    parts = [given]
    for size in shape:
        if any(not isinstance(part, tuple | list | np.ndarray) or len(part) != size for part in parts):
            raise InvalidEnvironmentError(
                f"{where} is {_found(given)}; it must be a tuple of a mask for each of {len(sizes)} branches, or one "
                f"array of {sum(sizes)} entries"
            )
        parts = [inner for part in parts for inner in part]
    return parts


def _of_switches(given: Any, shape: tuple[int, ...], where: str) -> list[Any]:
    mask, count = _as_array(given), int(np.prod(shape))
    if mask is not None and mask.shape == (2 * count,):
        return list(mask.reshape(count, 2))
    if mask is None or mask.shape != shape:
        raise InvalidEnvironmentError(
            f"{where} is {_found(given)}; it must be an array of the shape {shape} with 0, 1 or 2 (both are legal) for "
            f"each entry, or of {2 * count} entries of 0 and 1"
        )
    if wrong := mask[~np.isin(mask, (0, 1, 2))].tolist():
        raise InvalidEnvironmentError(f"{where} has the value {wrong[0]}; each entry must be 0, 1 or 2 (both)")
    return [np.array([value != 1, value != 0]) for value in mask.reshape(-1)]


def _checked(part: Any, n: int, where: str, over: bool) -> np.ndarray:
    mask = _as_array(part)
    if mask is None or mask.shape != (n,):
        raise InvalidEnvironmentError(f"{where} is {_found(part)}; of {n} choices it must be an array of {n} entries")
    if wrong := mask[(mask != 0) & (mask != 1)].tolist():
        raise InvalidEnvironmentError(f"{where} has the value {wrong[0]}; each entry must be 0 or 1")
    if mask.any():
        return mask.astype(np.uint8)
    if over:
        return np.ones(n, np.uint8)
    raise InvalidEnvironmentError(f"{where} marks no action as legal; at least one entry must be 1")


def _as_array(given: Any) -> np.ndarray | None:
    """An array of plain numbers, or None."""
    try:
        array = np.asarray(given)
    except ValueError:  # parts of unequal lengths
        return None
    return array if array.dtype.kind in NUMBERS else None


def _found(given: Any) -> str:
    array = _as_array(given)
    return quoted(given) if array is None else f"an array of the shape {array.shape}"


def without_mask(space: Any) -> tuple[Any, bool]:
    """An observation space without the mask in it, and whether there was one; `observation_without_mask` for values.

    A part that is alone then stands for the whole, as `{"observation": ..., "action_mask": ...}` of PettingZoo and
    `{"observations": ..., "action_mask": ...}` of RLlib have one.
    """
    spaces = require("gymnasium.spaces", "Gymnasium's spaces")
    if not isinstance(space, spaces.Dict) or MASK not in space.spaces:
        return space, False
    # one that is all that an agent sees stays
    rest = {key: part for key, part in space.spaces.items() if key != MASK} or space.spaces
    return (next(iter(rest.values())) if len(rest) == 1 else spaces.Dict(rest)), True


def observation_without_mask(seen: Mapping[str, Any]) -> Any:
    """The same of an observation of such a space."""
    rest = {key: part for key, part in seen.items() if key != MASK} or seen
    return next(iter(rest.values())) if len(rest) == 1 else rest
