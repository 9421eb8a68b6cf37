"""What an environment declares, its fields or PyMARL's sizes, checked before anything is made of it."""

from dataclasses import replace
from math import prod
from numbers import Integral
from typing import Any

import numpy as np

from envs.contract.arguments import LARGEST
from envs.contract.fields import ENDS, KINDS, EnvSpec, FieldSpec, declared_spec, pymarl_spec
from utils.errors import MusterError
from utils.nearest import did_you_mean
from utils.plain_values import quoted
from utils.processes.available_memory import available_memory, require_memory

# axes of a field, and of PyMARL's obs_shape and state_shape
FIELD_AXES, SHAPE_AXES = 8, 16
RESERVED = (*ENDS, "filled", "playing")
COUNTS = ("n_agents", "n_actions", "episode_limit")
SHAPES = ("obs_shape", "state_shape")


def announced(env: Any) -> Any:
    """The unchecked declaration of an environment: its `fields()`, or PyMARL's `get_env_info()`; with its `meaning()`,
    if it has one, among its sizes."""
    said = declared_spec(env) if callable(getattr(env, "fields", None)) else env.get_env_info()
    meaning = env.meaning() if callable(getattr(env, "meaning", None)) else None
    if meaning is None:
        return said
    if isinstance(said, EnvSpec):
        return replace(said, env_info={**said.env_info, "meaning": meaning})
    return {**said, "meaning": meaning} if isinstance(said, dict) else said


def spec_of(env: Any, environments: int = 1) -> EnvSpec:
    return checked_spec(announced(env), environments)


def checked_spec(said: Any, environments: int = 1) -> EnvSpec:
    """The declaration that `announced` returned. Raises MusterError: it is invalid, or one step of all environments
    does not fit the available memory."""
    if isinstance(said, EnvSpec):
        check_fields(said, environments)
        return said
    check_sizes(said, environments)
    return pymarl_spec(said)


def check_fields(spec: EnvSpec, environments: int = 1) -> None:
    """Refuse what an environment must not declare. Raises MusterError: the field, what it has, and what is allowed; or
    one step of all environments does not fit."""
    for group, size in spec.groups.items():
        _require_size(f"The environment's groups['{quoted(group)}']", size)
    _require_size("The environment's episode_limit", spec.episode_limit)
    for path, field in spec.fields.items():
        _check_field(f"The environment's fields()['{quoted(path)}']", path, field, spec)
    if not spec.rewards():
        raise MusterError("The environment's fields() has no outcome named 'reward', or '<group>/reward'.")
    if not spec.of_kind("action"):
        raise MusterError("The environment's fields() has no action.")
    _require_memory(spec, environments, "", "Its fields are those that the environment's fields() declares.")


def _check_field(where: str, path: str, field: FieldSpec, spec: EnvSpec) -> None:
    if not isinstance(path, str) or not path or path in RESERVED:
        raise MusterError(f"{where}: the path must be a text other than {', '.join(RESERVED)}.")
    if field.kind not in KINDS:
        raise MusterError(f"{where} has the kind '{quoted(field.kind)}'.{did_you_mean(str(field.kind), KINDS)}")
    if field.group is not None and field.group not in spec.groups:
        raise MusterError(
            f"{where} has the group '{quoted(field.group)}'.{did_you_mean(str(field.group), spec.groups)}"
        )
    if len(field.shape) > FIELD_AXES or prod(field.entry_shape) > LARGEST:
        raise MusterError(
            f"{where} has the shape {quoted(str(field.shape))}: at most {FIELD_AXES} axes and {LARGEST} numbers."
        )
    for size in field.entry_shape:
        _require_size(f"{where}, its shape", size)
    try:
        kind: str = np.dtype(field.dtype).kind
    except TypeError:
        kind = ""
    if kind not in tuple("biuf"):
        raise MusterError(f"{where} has the dtype '{quoted(str(field.dtype))}', which is not that of plain numbers.")
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
        raise MusterError(f"{where} is of '{quoted(field.of)}', which is not a categorical action.")
    if field.kind != "mask" or field.shape != (action.n,) or field.group != action.group:
        raise MusterError(
            f"{where}: the mask of '{field.of}' has the group '{action.group}' and the shape ({action.n},)."
        )


def _require_size(where: str, size: Any) -> None:
    if not _is_size(size):
        raise MusterError(f"{where} is {quoted(repr(size))}: it must be a whole number from 1 to {LARGEST}.")


def check_sizes(env_info: Any, environments: int = 1) -> None:
    """Refuse invalid sizes.

    Args:
        env_info: as `get_env_info()` returned it.
        environments: the number of environments that step together.

    Raises:
        MusterError: a size is missing, is not a whole number from 1 to `LARGEST` (a shape may also be a tuple of up
            to `SHAPE_AXES` such), or one step of all environments does not fit the available memory.
    """
    if not isinstance(env_info, dict):
        raise MusterError(
            f"The environment's get_env_info() returned {quoted(repr(env_info))}: it must be a dictionary of sizes."
        )
    for key in (*COUNTS, *SHAPES):
        if key not in env_info:
            raise MusterError(
                f"The environment's get_env_info() has no '{key}'; it has "
                f"{quoted(', '.join(map(str, env_info)), 300) or 'nothing'}."
            )
        value = env_info[key]
        several = key in SHAPES and isinstance(value, tuple | list)
        sizes = value if several else [value]
        if not 1 <= len(sizes) <= SHAPE_AXES or not all(_is_size(size) for size in sizes):
            allowed = f"a whole number from 1 to {LARGEST}" + (", or a tuple of such" if key in SHAPES else "")
            raise MusterError(
                f"The environment's get_env_info()['{key}'] is {quoted(repr(value))}: it must be {allowed}."
            )
    sizes = ", ".join(f"{key}={quoted(repr(env_info[key]))}" for key in (*COUNTS, *SHAPES) if key != "episode_limit")
    _require_memory(
        pymarl_spec(env_info), environments, f" ({sizes})", "The environment's get_env_info() returned these sizes."
    )


def _require_memory(spec: EnvSpec, environments: int, sizes: str, source: str) -> None:
    step = f"One step of {environments} environment{'s' * (environments != 1)}{sizes}"
    require_memory(step, spec.nbytes(environments), available_memory(), source)


def _is_size(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and 1 <= int(value) <= LARGEST
