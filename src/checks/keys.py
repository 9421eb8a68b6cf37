"""Is every key one that something reads?"""

from collections.abc import Mapping
from pathlib import Path

from checks.options import declared
from checks.parts import ChosenParts
from utils.config.enn_trainer_keys import counterpart
from utils.config.epymarl_keys import without
from utils.config.merging import flatten
from utils.config.renamed_keys import REMOVED, nearest_key
from utils.errors import ConfigError


def check_keys(config: dict, known: dict, own_keys: Mapping[str, Path]) -> None:
    """Refuse keys that nothing reads.

    A config file may bring keys that no part declares only for parts that are not built in, and the command line may
    change only those of them that a file has. `env_args` is the environment's own matter.

    Raises:
        ConfigError: an unknown key, with the nearest known one.
    """
    options, parts = declared(config), ChosenParts(config)
    if not parts.has_foreign:
        allowed = {*options, *parts.inert_keys(), *parts.read_keys(), *REMOVED}
        for key in config:
            if key not in allowed:
                where = f"{own_keys[key]}: unknown" if key in own_keys else "Unknown"
                theirs = next((below for below in flatten({key: config[key]}) if counterpart(below)), key)
                raise ConfigError(f"{where} key '{theirs}'.{_hint(theirs, options)}")
    known_keys = {*flatten(known), *options, *REMOVED}
    for key in flatten(config):
        top = key.split(".")[0]
        if key in known_keys or (top in options and dict in (type(options[top].default), options[top].kind)):
            continue
        if top in options:
            raise ConfigError(f"'{top}' is a single value and has no key '{key}'.{counterpart(key)}")
        raise ConfigError(f"Unknown key '{key}'.{_hint(key, known_keys)}")


def _hint(key: str, known) -> str:
    return counterpart(key) or without(key) or nearest_key(key, known) + " docs/reference.md lists all keys."
