"""Which settings do not go with parts that draw torch's random numbers when they learn."""

from collections.abc import Mapping
from typing import Any

from utils.errors import ConfigError


def refuse_beside_acting(config: Mapping[str, Any], kind: str) -> None:
    """Refuse learning beside acting with such a part of this kind: acting draws of the same numbers.

    Raises:
        ConfigError: says what to use.
    """
    if config["collection"] == "async" or config["overlap"]:
        raise ConfigError(
            f"collection=async does not go with {kind}={config[kind]}, which draws random numbers while the next "
            "rollout is played: runs would not be repeatable. Use collection=sync and overlap=False."
        )
