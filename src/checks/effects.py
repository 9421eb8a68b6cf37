"""Settings without effect, or of unknown effect: each gets a warning, none is refused."""

from collections.abc import Mapping

from checks.options import declared
from checks.registries import LOOKED_UP_BY, REGISTRIES, chosen, chosen_entry, chosen_name, looked_up, reads
from utils.nearest import did_you_mean
from utils.plain_values import shown

# names that `checks.pairings` refuses where parts do not go together
PAIRED = {"mixer", "critic", "agent", "action_selector"}


def warnings_of(config: Mapping) -> list[str]:
    """Warnings, in sentences, of settings without effect in a checked config, by the keys that its parts declare."""
    return [*_unread_keys(config), *_inert_keys(config), *_unknown_names(config)]


def inert_keys(config: Mapping) -> set[str]:
    """Keys that a chosen part takes from PyMARL's files although nothing reads them, there or here."""
    return {key for _, entry in chosen(config) if entry is not None for key in entry.traits.get("inert", ())}


def own_keys_read(config: Mapping) -> set[str]:
    """All keys that the chosen parts declare to read, those that only they have included."""
    return {key for part in REGISTRIES for key in reads(config, part) or ()}


def _unread_keys(config: Mapping) -> list[str]:
    """Keys that were set, that parts of a kind read, and that no chosen part does."""
    options, read = declared(), own_keys_read(config)
    idle: dict[str, list[str]] = {}
    for kind, registry in REGISTRIES.items():
        if reads(config, kind) is None or not looked_up(config, kind):  # it, or a part that uses it, may read anything
            continue
        for key in sorted({key for name in registry for key in registry.entry(name).reads or () if key in config}):
            if key in PAIRED or key in read or (key in options and config[key] == options[key].default):
                continue
            if not any(reads(config, other) is None and _governs(other, key) for other in REGISTRIES):
                idle.setdefault(key, []).append(f"{kind}={_shown(chosen_name(config, kind))}")
    return [
        f"{key}={_shown(config[key])} has no effect: {' and '.join(parts)} {'do' if len(parts) > 1 else 'does'} not "
        "read it."
        for key, parts in idle.items()
    ]


def _governs(kind: str, key: str) -> bool:
    """Whether parts of this kind read `key`."""
    registry = REGISTRIES[kind]
    return any(key in (registry.entry(name).reads or ()) for name in registry)


def _inert_keys(config: Mapping) -> list[str]:
    inert = inert_keys(config)
    keys = [key for key in config if key in inert]
    return [f"Nothing reads {', '.join(keys)}, as in PyMARL, where its files have them, too."] if keys else []


def _unknown_names(config: Mapping) -> list[str]:
    """Names that only a part of the user's own may know."""
    sentences = []
    for key, user in LOOKED_UP_BY.items():
        name, registry = config.get(key), REGISTRIES[key]
        if name is None or looked_up(config, key) or chosen_entry(config, key) is not None:
            continue
        sentences.append(
            f"{key}={shown(name)} is not registered; {user}={config[user]} is not built in and may know it."
            f"{did_you_mean(name, registry)}"
        )
    return sentences


def _shown(value) -> str:
    return "null" if value is None else shown(value)
