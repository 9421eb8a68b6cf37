"""Is every value of the type and in the range that its key declares?"""

import copy
import math
from typing import Any

from checks.options import declared
from utils.config.merging import flatten
from utils.errors import ConfigError
from utils.plain_values import shown

# of the arguments of environments, whose units are unknown
AT_MOST_ENV_ARGUMENT = 10**6
# the user's own text, which names nothing and is shown nowhere but in Sacred's record
ANY_TEXT = ("label", "message")


def normalised(config: dict) -> dict:
    """Return `config` with every declared key in its type: `2e6` for a whole number becomes 2000000.

    Raises:
        ConfigError: a value of another type, or outside its range.
    """
    config = copy.deepcopy(config)
    for key, option in declared(config).items():
        if key in config:
            config[key] = option.checked(key, config[key])
    if config["overlap"]:  # the older name of this choice
        config["acting"] = "ahead"
    for key, value in flatten(config).items():
        if isinstance(value, str) and not value.isprintable() and key not in ANY_TEXT:
            raise ConfigError(f"{key}={shown(value)}: it contains unprintable characters.")
    return config


def require_bounded(key: str, value: Any) -> None:
    """Refuse numbers in the arguments of an environment, nested ones too, that are beyond anything they could count.

    Raises:
        ConfigError: a number that is not finite, or a whole one larger in size than `AT_MOST_ENV_ARGUMENT`.
    """
    if isinstance(value, dict):
        for name, inner in value.items():
            require_bounded(f"{key}.{name}", inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            require_bounded(key, inner)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{key}={shown(value)}: it must be a finite number.")
    elif isinstance(value, int) and abs(value) > AT_MOST_ENV_ARGUMENT:
        raise ConfigError(f"{key}={shown(value)}: integers may be at most {AT_MOST_ENV_ARGUMENT}.")
