"""The batch fields that a learner needs beside those that every run has."""

from collections.abc import Mapping
from numbers import Integral
from types import SimpleNamespace
from typing import Any

import torch as th

from learners import REGISTRY
from utils.config.merging import with_defaults
from utils.config.registry import Registry
from utils.errors import ConfigError
from utils.nearest import did_you_mean
from utils.plain_values import quoted

ENTRIES = ("vshape", "group", "dtype")
# fields of the trait `needs_acting`, which controllers offer with their decisions (`controllers.decisions`)
ACTING = {
    "log_prob": {"vshape": 1},
    "value": {"vshape": 1},
    "entropy": {"vshape": 1},
    "greedy": {"vshape": 1, "dtype": "uint8"},
    "action_was_greedy": {"vshape": 1, "dtype": "uint8"},
    "probs": {"vshape": "n_actions"},
    "q_values": {"vshape": "n_actions"},
}
LARGEST_FIELD = 10**6  # numbers of one agent at one step


def batch_fields(learner: str, env_info: Mapping[str, Any], args: Any = None) -> dict[str, dict]:
    """Scheme entries of the fields that the learner declares, which come with the controller's decisions.

    It declares them as the trait `batch_fields` of its registry entry or as an attribute of its class: name ->
    `{"vshape": sizes, "dtype": name of a torch type (default float32), "group": "agents" (default) or None, for one
    value of the team}`, where a size is a number or the name of one in `env_info`, such as "n_actions". The trait or
    attribute `needs_acting` names some of those in `ACTING`. Either may be a function of the config `args` that returns
    it. Runners fill them all from the controller's decisions.

    Raises:
        ConfigError: a declaration that cannot be one of a field.
    """
    entry = Registry.of("learner", REGISTRY).entry(learner)
    part = REGISTRY[learner]

    def of(trait: str, otherwise: Any) -> Any:
        found = entry.traits.get(trait) or getattr(part, trait, otherwise)
        given = SimpleNamespace() if args is None else args
        return found(with_defaults(given, REGISTRY.defaults_of(part))) if callable(found) else found

    declared, needed = of("batch_fields", {}), of("needs_acting", ())
    where = f"learner={learner}: batch_fields"
    for name in needed:
        if name not in ACTING:
            raise ConfigError(
                f"learner={learner}: needs_acting names '{quoted(name)}'.{did_you_mean(name, ACTING)} "
                f"It knows {', '.join(ACTING)}; batch_fields declares others."
            )
        declared = {name: ACTING[name], **declared}
    return {name: scheme_entry(f"{where}[{quoted(name)}]", info, env_info) for name, info in declared.items()}


def scheme_entry(where: str, info: Any, env_info: Mapping[str, Any]) -> dict:
    """Of a field of decisions that is declared as `batch_fields` says; `where` is for the messages of ConfigErrors."""
    if not isinstance(info, Mapping) or "vshape" not in info:
        raise ConfigError(f"{where} is {quoted(info)}: it must be a mapping with a 'vshape'.")
    for key in info:
        if key not in ENTRIES:
            raise ConfigError(f"{where} has an entry '{quoted(key)}'.{did_you_mean(key, ENTRIES)}")
    group = info.get("group", "agents")
    if group not in ("agents", None):
        raise ConfigError(f"{where}: the group is 'agents' or None, not '{quoted(group)}'.")
    sizes = info["vshape"] if isinstance(info["vshape"], tuple | list) else (info["vshape"],)
    shape = tuple(_size(where, size, env_info) for size in sizes)
    if th.Size(shape).numel() > LARGEST_FIELD:
        raise ConfigError(f"{where} has {th.Size(shape).numel()} numbers for an agent, more than {LARGEST_FIELD}.")
    dtype = info.get("dtype", "float32")
    dtype = dtype if isinstance(dtype, th.dtype) else getattr(th, str(dtype), None)
    if not isinstance(dtype, th.dtype):
        raise ConfigError(f"{where}: there is no type '{quoted(info['dtype'])}' in torch.")
    entry = {"vshape": shape, "dtype": dtype, "decision": True}
    return entry if group is None else {**entry, "group": group}


def _size(where: str, size: Any, env_info: Mapping[str, Any]) -> int:
    value = env_info.get(size) if isinstance(size, str) else size
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        names = [name for name, number in env_info.items() if isinstance(number, Integral)]
        hint = did_you_mean(size, names) if isinstance(size, str) else ""
        raise ConfigError(
            f"{where}: {quoted(size)} is not a size: a positive integer, or one of {', '.join(names)}.{hint}"
        )
    return int(value)
