"""Checks of the fields that an environment declares, before anything is made from them."""

from math import prod
from typing import Any

import numpy as np

from envs.contract.fields import ENDS, KINDS, EnvSpec, FieldSpec
from utils.errors import MusterError
from utils.nearest import did_you_mean
from utils.plain_values import shown
from utils.processes.available_memory import available_memory, require_memory

# numbers of one entry of a field, members of a group, steps of an episode
LARGEST = 2**31 - 1
MOST_AXES = 8
RESERVED = (*ENDS, "filled", "playing")


def check_fields(spec: EnvSpec, environments: int = 1) -> None:
    """Refuse what an environment must not declare.

    Raises:
        MusterError: the field, what it has, and what is allowed; or one step of all environments does not fit.
    """
    for group, size in spec.groups.items():
        _require_size(f"The environment's groups['{shown(group)}']", size)
    _require_size("The environment's episode_limit", spec.episode_limit)
    for path, field in spec.fields.items():
        _check_field(f"The environment's fields()['{shown(path)}']", path, field, spec)
    if not spec.rewards():
        raise MusterError("The environment's fields() has no outcome named 'reward', or '<group>/reward'.")
    if not spec.of_kind("action"):
        raise MusterError("The environment's fields() has no action.")
    require_memory(
        f"One step of {environments} environment{'s' * (environments != 1)}",
        spec.nbytes(environments),
        available_memory(),
        "Its fields are those that the environment's fields() declares.",
    )


def _check_field(where: str, path: str, field: FieldSpec, spec: EnvSpec) -> None:
    if not isinstance(path, str) or not path or path in RESERVED:
        raise MusterError(f"{where}: the path must be a text other than {', '.join(RESERVED)}.")
    if field.kind not in KINDS:
        raise MusterError(f"{where} has the kind '{shown(field.kind)}'.{did_you_mean(str(field.kind), KINDS)}")
    if field.group is not None and field.group not in spec.groups:
        raise MusterError(f"{where} has the group '{shown(field.group)}'.{did_you_mean(str(field.group), spec.groups)}")
    if len(field.shape) > MOST_AXES or prod(field.entry_shape) > LARGEST:
        raise MusterError(
            f"{where} has the shape {shown(str(field.shape))}: at most {MOST_AXES} axes and {LARGEST} numbers."
        )
    for size in field.entry_shape:
        _require_size(f"{where}, its shape", size)
    try:
        kind = np.dtype(field.dtype).kind
    except TypeError:
        kind = ""
    if kind not in tuple("biuf"):
        raise MusterError(f"{where} has the dtype '{shown(str(field.dtype))}', which is not that of plain numbers.")
    for name, bound in (("low", field.low), ("high", field.high)):
        if isinstance(bound, tuple) and len(bound) != prod(field.shape):
            raise MusterError(
                f"{where} has {len(bound)} numbers as {name}: one, or one for each of {prod(field.shape)}."
            )
    if field.kind == "action":
        _check_action(where, field, kind)
    if field.of:
        _check_mask(where, field, spec)


def _check_action(where: str, field: FieldSpec, kind: str) -> None:
    if field.group is None:
        raise MusterError(f"{where}: an action belongs to the agents of a group.")
    if field.capacity is not None:
        raise MusterError(f"{where}: an action cannot be ragged.")
    if field.n is None:
        if kind != "f":
            raise MusterError(f"{where} is a continuous action of the dtype {field.dtype}; a categorical one has n.")
        return
    _require_size(f"{where}, its n", field.n)
    if field.shape or kind not in tuple("iu"):
        raise MusterError(f"{where} is a categorical action: a whole number for each agent, of the shape ().")


def _check_mask(where: str, field: FieldSpec, spec: EnvSpec) -> None:
    action = spec.fields.get(field.of)
    if action is None or not action.categorical:
        raise MusterError(f"{where} is of '{shown(field.of)}', which is not a categorical action.")
    if field.kind != "mask" or field.shape != (action.n,) or field.group != action.group:
        raise MusterError(
            f"{where}: the mask of '{field.of}' has the group '{action.group}' and the shape ({action.n},)."
        )


def _require_size(where: str, size: Any) -> None:
    whole = isinstance(size, int | np.integer) and not isinstance(size, bool)
    if not whole or not 1 <= size <= LARGEST:
        raise MusterError(f"{where} is {shown(repr(size))}: it must be a whole number from 1 to {LARGEST}.")
