"""Former names of config keys and of their values, and former keys: the tables, and both directions.

Whatever comes from outside (the command line, files, dicts, records of earlier runs) passes `with_new_names` once;
everything behind it knows the new names only. `with_former_names` is for what was computed from the first ones, such as
the ids of a suite's runs.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from utils.config.epymarl_keys import with_ours
from utils.errors import ConfigError
from utils.nearest import nearest
from utils.plain_values import quoted

# former key -> key
KEYS = {
    "replay_ratio": "samples_per_insert",
    "normalise_minibatches": "normalise_advantages_per_minibatch",
    "estimate_each_epoch": "recompute_advantages",
    "values_from_acting": "use_rollout_values",
    "recompute_log_prob": "use_rollout_log_probs",
    "choices_only": "mask_forced_actions",
    "policy_mean": "loss_reduction",
    "store_units": "store_transforms",
    "sample_units": "sample_transforms",
    "debug_units": "debug_transforms",
    "acting": "collection",
}
# former keys that say the opposite of the present one
OPPOSITES = ("recompute_log_prob",)
# key, under its present name -> former value -> value
VALUES: dict[str, dict[str, str]] = {
    "collection": {"in_turn": "sync", "ahead": "async"},
    "vector_env": {"native": "batched"},
    "opponents": {"newest": "latest"},
}
# keys that were True or False -> what these mean, now that there are more values
WERE_SWITCHES = {"data_parallel": {True: "auto", False: "0"}}
# former key, which nothing reads any more -> the value with which it had no effect, and what is in its place. Other
# values stay in configs: the ids of a suite's runs are computed from them, too.
REMOVED: dict[str, tuple[Any, str]] = {
    "native_processes": (1, "threads step the copies of a batch (env_threads), where its environment takes threads"),
}

# key of `env_args` -> environment, and what its runs had before they named it
FIRST_ARGUMENTS: dict[str, tuple[str, Any]] = {"rules": ("skirmish", 1)}

# the former names that a user wrote since the last note, and the present ones
_written: dict[str, str] = {}
# the former keys, likewise
_without_effect: dict[str, Any] = {}


def with_new_names(
    config: Mapping[str, Any], recorded: bool = False, defaults: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, Any]:
    """A config under the present names of its keys and values, its teams included; `config` is not changed.

    Former keys that never had an effect in it are left out. Keys of EPyMARL's stay, and have what they stand for
    beside them.

    Args:
        recorded: it is a record of an earlier run, which `note_of_former_names` need not tell of, and which may not
            name arguments of its environment that came later.
        defaults: values that keys of EPyMARL's go before.

    Raises:
        ConfigError: it has a key under both names, with different values; in a record, the present name counts.
    """
    found: dict[str, Any] = {}
    for key, value in config.items():
        if key in REMOVED:
            if value == REMOVED[key][0]:
                continue
            if not recorded:
                _without_effect[key] = value
        name, new = _new(key, value)
        if name != key and name in config:
            if not recorded:
                require_one_value(key, value, name, config[name])
            continue
        found[name] = new
        if not recorded and (name != key or new is not value):
            _written[key if new is value else f"{key}={value}"] = name if new is value else f"{name}={new}"
    if recorded:
        _add_first_arguments(found)
    return _with_teams(with_ours(found, defaults), lambda own: with_new_names(own, recorded))


def _add_first_arguments(config: dict[str, Any]) -> None:
    arguments = config.get("env_args")
    if isinstance(arguments, Mapping):
        missing = {key: value for key, (env, value) in FIRST_ARGUMENTS.items() if config.get("env") == env}
        config["env_args"] = {**missing, **arguments}


def require_one_value(key: str, value: Any, name: str, other: Any) -> None:
    """Refuse different values under two names of one key.

    Raises:
        ConfigError: names both.
    """
    if _new(key, value)[1] != _new(name, other)[1]:
        former, present = (key, name) if key in KEYS else (name, key)
        raise ConfigError(
            f"{key}={quoted(str(value))} and {name}={quoted(str(other))}: {former} is the former name of {present}. "
            "Leave one of them out."
        )


def with_former_names(config: Mapping[str, Any]) -> dict[str, Any]:
    """A config, its teams included, under the names that keys and values had first."""
    keys = {name: key for key, name in KEYS.items()}
    found = {}
    for name, value in config.items():
        key = keys.get(name, name)
        if key in OPPOSITES and isinstance(value, bool):
            value = not value
        found[key] = next((former for former, new in VALUES.get(name, {}).items() if new == value), value)
    return _with_teams(found, with_former_names)


def note_of_former_names() -> str:
    """Sentences on the former names, and former keys, that a user wrote since the last call; empty without any."""
    renamed = ", ".join(f"{former} is now {name}" for former, name in _written.items())
    notes = [f"Former names, which still work: {renamed}."] if renamed else []
    notes += [f"{key}={value} has no effect any more: {REMOVED[key][1]}." for key, value in _without_effect.items()]
    _written.clear()
    _without_effect.clear()
    return " ".join(notes)


def nearest_key(key: str, known: Mapping | set) -> str:
    """ " Did you mean '...'?": the key most like `key` by its present or its former name; empty if none is."""
    best = nearest(key, [*known, *(former for former, name in KEYS.items() if name in known)])
    return f" Did you mean '{KEYS.get(best, best)}'?" if best else ""


def _new(key: str, value: Any) -> tuple[str, Any]:
    name = KEYS.get(key, key)
    if key in OPPOSITES and isinstance(value, bool):
        return name, not value
    if name in WERE_SWITCHES and isinstance(value, bool):
        return name, WERE_SWITCHES[name][value]
    return name, VALUES.get(name, {}).get(value, value) if isinstance(value, str) else value


def _with_teams(config: dict[str, Any], named: Callable[[Mapping[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    teams = config.get("teams")
    if isinstance(teams, Mapping):
        config["teams"] = {team: named(own) if isinstance(own, Mapping) else own for team, own in teams.items()}
    return config
