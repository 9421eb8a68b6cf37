"""Settings without effect, or of unknown effect: each gets a warning, none is refused."""

from collections.abc import Mapping
from typing import Any

from checks.options import declared
from checks.parts import ChosenParts
from checks.registries import LOOKED_UP_BY, REGISTRIES
from utils.config.epymarl_keys import comes_from_epymarls
from utils.config.user_code import copies_of_shared
from utils.nearest import did_you_mean
from utils.plain_values import quoted

# names that `checks.pairings` refuses where parts do not go together
PAIRED = {"mixer", "critic", "agent", "action_selector", "intrinsic"}


def warnings_of(config: Mapping) -> list[str]:
    """Warnings, in sentences, of settings without effect in a checked config, by the keys that its parts declare."""
    parts = ChosenParts(config)
    inert = parts.inert_keys()
    keys = [key for key in config if key in inert]
    unread = [f"Nothing reads {', '.join(keys)}, as in PyMARL, where its files have them, too."] if keys else []
    copies = [
        f"{file} is not used: runs and parts share the classes of Muster's components/{file.name}."
        for plugin in config.get("plugins") or ()
        for file in copies_of_shared(plugin)
    ]
    return [*_unread_keys(parts), *unread, *_unknown_names(parts), *copies]


def _unread_keys(parts: ChosenParts) -> list[str]:
    """Keys that were set, that parts of a kind read, and that no chosen part does."""
    config, options, read = parts.config, declared(), parts.read_keys()
    # by kind, the keys that some part of it reads
    readable = {
        kind: {key for name in registry for key in registry.entry(name).reads or ()}
        for kind, registry in REGISTRIES.items()
    }
    # a part that is not known, or one that such a part uses, may read anything
    unknown = {key for kind, keys in readable.items() if parts.reads(kind) is None for key in keys}
    idle: dict[str, list[str]] = {}
    for kind, keys in readable.items():
        if parts.reads(kind) is None or not parts.is_looked_up(kind):
            continue
        for key in sorted(keys - PAIRED - read - unknown):
            if key not in config or comes_from_epymarls(key, config):
                continue
            if not (key in options and config[key] == options[key].default):
                idle.setdefault(key, []).append(f"{kind}={_shown(parts.name(kind))}")
    return [
        f"{key}={_shown(config[key])} has no effect: {' and '.join(kinds)} {'do' if len(kinds) > 1 else 'does'} not "
        "read it."
        for key, kinds in idle.items()
    ]


def _unknown_names(parts: ChosenParts) -> list[str]:
    """Names that only a part of the user's own may know."""
    return [
        f"{kind}={quoted(parts.name(kind))} is not registered; {user}={parts.name(user)} is not built in and may know "
        f"it.{did_you_mean(parts.name(kind), REGISTRIES[kind])}"
        for kind, user in LOOKED_UP_BY.items()
        if not parts.is_looked_up(kind) and parts.config.get(kind) is not None and parts.entry(kind) is None
    ]


def _shown(value: Any) -> str:
    return "null" if value is None else quoted(value)
