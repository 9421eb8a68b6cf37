"""Soft resets: weights that move towards new random ones now and then (Linesight)."""

import copy
from typing import Any

import numpy as np
import torch as th


class SoftReset:
    """When a network is reset, and how.

    Args:
        flag: any number; when another one is seen, a reset is due.
    """

    def __init__(self, flag: int):
        # transitions learned from since the last reset
        self.used = 0
        self.flag = flag

    def due(self, used: int, interval: int, flag: int) -> bool:
        """If a reset follows an update from `used` transitions: every `interval` of them (0: never), or by flag."""
        self.used += used
        if flag == self.flag and not (interval and self.used >= interval):
            return False
        self.used, self.flag = 0, flag
        return True

    @staticmethod
    @th.no_grad()
    def mix(network: Any, share: float, last_share: float) -> None:
        """Move the weights of an agent by `share` towards new random ones, those of its last layers by `last_share`."""
        fresh = copy.deepcopy(network)
        # torch's global generator belongs to acting
        fresh.initialise(th.Generator().manual_seed(int(np.random.randint(2**31))))
        last = {id(weight) for weight in network.last_weights()}
        for weight, new in zip(network.parameters(), fresh.parameters(), strict=True):
            weight.lerp_(new, last_share if id(weight) in last else share)

    def state_dict(self) -> dict[str, int]:
        return {"used": self.used, "flag": self.flag}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.used, self.flag = int(state["used"]), int(state["flag"])
