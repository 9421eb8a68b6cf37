"""Global random generators that an environment has for itself while it plays."""

import random
from typing import Any

import numpy as np


class OwnRandom:
    """`random` and `numpy.random` as one environment's own, inside `with`: entity-gym's files draw from these.

    So it plays the same whichever environments share its process.
    """

    def __init__(self, seed: int):
        self._python = random.Random(seed).getstate()
        self._numpy = np.random.MT19937(np.random.SeedSequence(seed))
        self._others: Any = None

    def __enter__(self) -> None:
        self._others = random.getstate(), np.random.get_bit_generator()
        random.setstate(self._python)
        np.random.set_bit_generator(self._numpy)

    def __exit__(self, *exc: Any) -> None:
        self._python = random.getstate()
        python, numpy = self._others
        random.setstate(python)
        np.random.set_bit_generator(numpy)

    def state_dict(self) -> dict[str, Any]:
        version, numbers, gauss = self._python
        return {"python": [version, np.array(numbers, np.uint32), gauss], "numpy": self._numpy.state}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        version, numbers, gauss = state["python"]
        self._python = version, tuple(np.asarray(numbers).tolist()), gauss
        self._numpy.state = state["numpy"]
