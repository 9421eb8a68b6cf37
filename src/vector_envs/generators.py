"""The global random generators of an environment process, from which some environments draw."""

import random
from typing import Any

import numpy as np


def seed_generators(entropy: list[int]) -> None:
    """Seed `random` and `numpy.random`.

    Args:
        entropy: the run's seed, the first environment of the process, and how often the process was restarted.
    """
    words = np.random.SeedSequence(entropy).generate_state(8)
    random.seed(words[:4].tobytes())
    np.random.seed(words[4:])


def generators_state() -> dict[str, Any]:
    """Their states."""
    return {"python": random.getstate(), "numpy": np.random.get_state()}


def load_generators_state(state: dict[str, Any]) -> None:
    """Resume from where `generators_state` was taken; tuples may have become lists meanwhile."""
    version, numbers, gauss = state["python"]
    random.setstate((version, tuple(numbers), gauss))
    np.random.set_state(tuple(state["numpy"]))
