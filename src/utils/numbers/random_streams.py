"""Random numbers for tests that leave those of training alone."""

import contextlib
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch as th

from utils.tensors.devices import MPS, cards


def seed_everything(seed: int) -> None:
    """Seed Python's, NumPy's and torch's global generators."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    th.manual_seed(seed)


class RandomStream:
    """A second set of the global generators, with its own seed.

    Within `with stream.active():` everything that draws from the global generators (selectors, environments, code
    of users) draws from this set; afterwards training continues with its own random numbers.
    """

    def __init__(self, seed: int):
        training = global_generators()
        seed_everything(seed)
        self._state = global_generators()
        set_global_generators(training)

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        training = global_generators()
        set_global_generators(self._state)
        try:
            yield
        finally:
            self._state = global_generators()
            set_global_generators(training)

    def state_dict(self) -> dict[str, Any]:
        return self._state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._state = state


class GlobalGenerators:
    """The global generators, as a part of a run that has a state."""

    def state_dict(self) -> dict[str, Any]:
        return global_generators()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        set_global_generators(state)


def global_generators() -> dict[str, Any]:
    """The states of Python's, NumPy's and torch's global generators."""
    return {
        "python": random.getstate(),
        "numpy": np.random.get_state(),
        "torch": th.get_rng_state(),
        "cuda": th.cuda.get_rng_state_all() if th.cuda.is_available() and th.cuda.is_initialized() else [],
        **({MPS: th.mps.get_rng_state()} if th.backends.mps.is_available() else {}),
    }


def set_global_generators(state: dict[str, Any]) -> None:
    """Put the global generators into the states that `global_generators` returned; those of GPUs as far as there are.

    A card that had no state, since there were fewer, keeps its own.
    """
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    th.set_rng_state(state["torch"])
    if state["cuda"] and th.cuda.is_available():
        for card, of_card in zip(range(cards()), state["cuda"], strict=False):
            th.cuda.set_rng_state(of_card, card)
    if MPS in state and th.backends.mps.is_available():
        th.mps.set_rng_state(state[MPS])
