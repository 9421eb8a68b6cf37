"""The transforms before and behind a buffer, as a config lists them."""

from collections.abc import Mapping
from typing import Any

from components.buffers import REGISTRY
from components.sampling.listed import Listed, listed_transforms

# the forms that may be stored, and those that learners can be given
STORED, SAMPLED = ("columns",), ("columns", "steps", "parts")


def transforms_of(config: Mapping[str, Any]) -> tuple[list[Listed], list[Listed]]:
    """The transforms of `store_transforms` and `sample_transforms` in a config, whose `buffer` is not "auto".

    Raises:
        ConfigError: see `components.sampling.listed`.
    """
    buffer = config["buffer"]
    traits = REGISTRY.entry(buffer).traits if buffer in REGISTRY else {}
    drawn = traits.get("gives", "columns")
    sampled = config["sample_transforms"]
    # without transforms, a sample is what the buffer makes of them
    last = SAMPLED if sampled else (*SAMPLED, drawn)
    return (
        listed_transforms("store_transforms", config["store_transforms"], "columns", STORED),
        listed_transforms("sample_transforms", sampled, drawn, last),
    )
