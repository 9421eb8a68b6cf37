"""Is every key one that something reads?"""

from collections.abc import Mapping
from pathlib import Path

from checks.effects import inert_keys, own_keys_read
from checks.registries import has_foreign_part
from utils.config import default_config, flatten
from utils.errors import ConfigError
from utils.nearest import did_you_mean


def check_keys(config: dict, known: dict, own_keys: Mapping[str, Path]) -> None:
    """Refuse keys that nothing reads.

    All built-in keys stand in default.yaml. A config file may bring others only for parts that are not built in or
    that declare them, and the command line may only change keys that the files have. `env_args` is the environment's
    own matter.

    Raises:
        ConfigError: an unknown key, with the nearest known one.
    """
    documented = default_config()
    if not has_foreign_part(config):
        allowed = {*documented, "seed", *inert_keys(config), *own_keys_read(config)}
        for key in config:
            if key not in allowed:
                where = f"{own_keys[key]}: unknown" if key in own_keys else "Unknown"
                raise ConfigError(f"{where} key '{key}'.{_hint(key, documented)}")
    known_keys = set(flatten(known)) | {"seed"}
    for key in flatten(config):
        top = key.split(".")[0]
        if key not in known_keys and top != "env_args" and not isinstance(documented.get(top), dict):
            # a mapping in place of a plain value is a wrong type, which checks/values.py reports better
            if top in documented and not isinstance(config[top], dict):
                continue
            if top in documented:
                raise ConfigError(f"'{top}' is a single value and has no key '{key}'.")
            raise ConfigError(f"Unknown key '{key}'.{_hint(key, known_keys)}")


def _hint(key: str, known) -> str:
    return did_you_mean(key, known) + " config/default.yaml lists all keys."
