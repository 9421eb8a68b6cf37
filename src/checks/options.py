"""All options: those of the experiment and its records, those of every part of a kind, and those of single parts."""

import copy
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from checks.epymarl_keys import OPTIONS as OF_EPYMARL
from checks.experiment_options import OPTIONS as OF_EXPERIMENTS
from checks.parts import ChosenParts
from checks.registries import REGISTRIES
from records.options import OPTIONS as OF_RECORDS
from utils.config.merging import shared_defaults
from utils.config.options import SHAPES, SHARED, WIDTH, Option
from utils.errors import ConfigError

ROOMS = {"experiment": OF_EXPERIMENTS, "records": OF_RECORDS, "EPyMARL": OF_EPYMARL}
_ADDED = Option(SHARED, "")  # a user may have added lines to config/default.yaml
_with_defaults: dict[str, tuple[Option, Option]] = {}  # of each key: as its part declares it, and with its default


def readings() -> Iterator[tuple[str, str, str, Option | None]]:
    """Who reads which key.

    Yields:
        room or kind of part, name of the part ("": every part of the kind), key, and the option, None if it is declared
        elsewhere.
    """
    for room, options in ROOMS.items():
        yield from ((room, "", key, option) for key, option in options.items())
    for kind, registry in REGISTRIES.items():
        yield from ((kind, "", key, option) for key, option in registry.options.items())
        for name in registry:
            entry = registry.entry(name)
            yield from ((kind, name, key, option) for key, option in (entry.options or {}).items())
            yield from ((kind, name, key, None) for key in entry.traits.get("reads", ()))


def declared(config: Mapping[str, Any] | None = None) -> dict[str, Option]:
    """Every key with its option and default, those of config/default.yaml first.

    Args:
        config: where several parts declare a key, the part that it chooses decides; else the first.

    Raises:
        ConfigError: two chosen parts declare a key differently, or a shared key has no default.
    """
    shared = shared_defaults()
    options = dict.fromkeys(shared, _ADDED)
    first: dict[str, Option] = {}
    for _, _, key, option in readings():
        if option is not None:
            first.setdefault(key, option)
    options |= first | _of_chosen_parts(config or {})
    if missing := [key for key, option in options.items() if option.default is SHARED and key not in shared]:
        raise ConfigError(f"The key '{missing[0]}' is declared as shared, and config/default.yaml does not have it.")
    return {
        key: _with_default(key, option, shared[key]) if option.default is SHARED else option
        for key, option in options.items()
    }


def options_of_keys() -> dict[str, list[Option]]:
    """Every key with all of its declarations, which have its default: several parts may declare one."""
    shared = shared_defaults()
    found: dict[str, list[Option]] = {}
    for _, _, key, option in readings():
        if option is not None:
            default = shared.get(key) if option.default is SHARED else option.default
            found.setdefault(key, []).append(
                option if default is option.default else _with_default(key, option, default)
            )
    return found


def _with_default(key: str, option: Option, default: Any) -> Option:
    """`option` with its shared default, made once: every command composes several configs."""
    known = _with_defaults.get(key)
    if known is None or known[0] is not option or known[1].default != default:
        known = _with_defaults[key] = option, replace(option, default=default)
    return known[1]


def completed(config: Mapping[str, Any]) -> dict[str, Any]:
    """`config` with the default of every missing key that its chosen parts read.

    An undeclared part may read any key, and gets all of them.

    Raises:
        ConfigError: two chosen parts declare a key differently.
    """
    options = {}
    if ChosenParts(config).has_foreign:
        options = {key: option for key, option in declared().items() if key not in (*OF_EXPERIMENTS, *OF_EPYMARL)}
    options |= _of_chosen_parts(config)
    missing = [key for key, option in options.items() if key not in config and option.default is not SHARED]
    return {**config, **{key: copy.deepcopy(options[key].default) for key in missing}}


def layer_widths(config: Mapping[str, Any]) -> list[str]:
    """The keys for the widths of the chosen networks' layers."""
    options = _of_chosen_parts(config)
    return sorted(key for key, option in options.items() if option.at_most == WIDTH and option.resume == SHAPES)


def _of_chosen_parts(config: Mapping[str, Any]) -> dict[str, Option]:
    """Raises: ConfigError: two of them declare a key differently."""
    options: dict[str, Option] = {}
    declared_by: dict[str, str] = {}
    for kind in REGISTRIES:
        # a default of a part may choose a part of a later kind
        parts = ChosenParts({**{key: option.default for key, option in options.items()}, **config})
        # config/default.yaml names a critic for every learner
        if kind == "critic" and parts.is_looked_up(kind) and not parts.is_used(kind):
            continue
        entry = parts.entry(kind)
        reader = f"{kind}={config.get(kind)}"
        for key, option in (entry.options or {} if entry is not None else {}).items():
            if options.setdefault(key, option) != option:
                raise ConfigError(
                    f"{declared_by[key]} and {reader} declare the key '{key}' differently: they do not go together."
                )
            declared_by.setdefault(key, reader)
    return options
