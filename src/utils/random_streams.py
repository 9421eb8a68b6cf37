"""Random numbers for tests that leave those of training alone."""

import contextlib
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch as th


def seed_everything(seed: int) -> None:
    """Seed Python's, NumPy's and torch's global generators."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    th.manual_seed(seed)


class RandomStream:
    """A second set of the global generators, with a seed of its own.

    Within `with stream.active():` everything that draws from the global generators (selectors, environments, code
    of users) draws from this set; afterwards training goes on as if nothing had been drawn.
    """

    def __init__(self, seed: int):
        training = _global_state()
        seed_everything(seed)
        self._state = _global_state()
        _set_global_state(training)

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        training = _global_state()
        _set_global_state(self._state)
        try:
            yield
        finally:
            self._state = _global_state()
            _set_global_state(training)

    def state_dict(self) -> dict[str, Any]:
        return self._state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._state = state


def _global_state() -> dict[str, Any]:
    return {
        "python": random.getstate(),
        "numpy": np.random.get_state(),
        "torch": th.get_rng_state(),
        "cuda": th.cuda.get_rng_state_all() if th.cuda.is_available() and th.cuda.is_initialized() else [],
    }


def _set_global_state(state: dict[str, Any]) -> None:
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    th.set_rng_state(state["torch"])
    if state["cuda"]:
        th.cuda.set_rng_state_all(state["cuda"])
