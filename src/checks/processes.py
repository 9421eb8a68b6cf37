"""How many processes share a run's updates, and do they suit it?"""

from collections.abc import Mapping
from typing import Any

from utils.errors import ConfigError
from utils.plain_values import quoted
from utils.processes.launched_ranks import launched_ranks
from utils.tensors.devices import CUDA, cards, kind_of, learner_device

KEY, AUTO = "data_parallel", "auto"
# processes of one run; more than any machine has cards, or a cluster would be worth
MOST = 1024


def check_processes(config: Mapping[str, Any]) -> None:
    """Refuse a `data_parallel` that is no number of processes, that has no cards, or that does not suit the run.

    Raises:
        ConfigError: names what is allowed.
    """
    value = config[KEY]
    if value != AUTO and not (value.isdecimal() and value.isascii() and int(value) <= MOST):
        raise ConfigError(
            f"{KEY}={quoted(value)}: no such choice. Allowed: a number of processes up to {MOST}, auto (one for each "
            "GPU), or 0."
        )
    if processes_of(config) < 2 or config["evaluate"]:
        return
    if config["collection"] == "async" or config["overlap"]:
        raise ConfigError(
            f"{KEY}={value} does not go with collection=async, which draws random numbers while processes update with "
            "the same ones. Use collection=sync or collection=collectors."
        )


def is_helper(value: Any) -> bool:
    """Whether this process was launched to compute for the run of another one, by the value of `data_parallel`."""
    launched = launched_ranks()
    return launched is not None and launched[0] > 0 and str(value) not in ("0", "1", "False")


def processes_of(config: Mapping[str, Any]) -> int:
    """The processes that share the updates, 1 if it is one.

    Raises:
        ConfigError: another number than was launched, or than this machine has cards.
    """
    value, launched = config[KEY], launched_ranks()
    if value != AUTO and int(value) < 2:
        return 1
    if launched is not None:
        if value != AUTO and int(value) != launched[1]:
            raise ConfigError(
                f"{KEY}={value}: {launched[1]} processes were launched together (WORLD_SIZE). Use {KEY}={launched[1]} "
                "or auto."
            )
        return launched[1]
    on_cards = kind_of(learner_device(config)) == CUDA
    if value == AUTO:
        return cards() if on_cards else 1
    if on_cards and int(value) > cards():
        raise ConfigError(f"{KEY}={value}: this machine has {cards()} GPUs, and each process computes on one.")
    return int(value)
