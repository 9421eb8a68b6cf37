"""Target networks: copies of networks and controllers that follow them, in jumps or slowly."""

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import torch as th
import torch.nn as nn

Pairs = Iterable[tuple[Any, Any]]


class TargetNetworks:
    """When and how the targets of a learner follow its networks.

    Args:
        pairs: returns the pairs to follow: a network or controller, and its target, of the same sizes.
    """

    def __init__(self, pairs: Callable[[], Pairs]):
        self._pairs = pairs
        # the count (episodes, updates, ...) at the last hard copy that was due
        self.last_update = 0
        # calls of `train`, where the targets follow by these
        self.updates = 0

    def due(self, interval: float, count: int) -> bool:
        """Whether `count` is at least `interval` further than when this was last true; then it starts from `count`."""
        if count - self.last_update < interval:
            return False
        self.last_update = count
        return True

    def due_after_update(self, interval_or_tau: float | None, every: int, interval: int, count: int) -> bool:
        """After an update: whether a hard copy is due; a soft update is made here.

        Args:
            interval_or_tau: above 1, the updates between hard copies; up to 1, the share of a soft update, instead of
                any copy (EPyMARL's `target_update_interval_or_tau`); None: a copy every `interval` of `count`.
            every: how many updates count as one (Digideep's `interval` of an `Averager`); the others move nothing.
        """
        if interval_or_tau is None:
            return self.due(interval, count)
        self.updates += 1
        if interval_or_tau > 1:
            return self.due(interval_or_tau, self.updates // every)
        if self.updates % every == 0:
            self.polyak(interval_or_tau)
        return False

    def copy(self) -> None:
        """Give the targets the weights and buffers of their networks (Mnih et al. 2015)."""
        for source, target in self._pairs():
            if isinstance(source, nn.Module):
                target.load_state_dict(source.state_dict())
            else:
                target.load_state(source)

    @th.no_grad()
    def polyak(self, tau: float) -> None:
        """Move the targets by the share `tau` towards their networks (Lillicrap et al. 2016, algorithm 1).

        target <- tau network + (1 - tau) target; buffers, such as running statistics, are copied.
        """
        for source, target in self._pairs():
            if followed := list(source.parameters()):
                th._foreach_lerp_(list(target.parameters()), followed, tau)
            for new, kept in zip(_buffers(source), _buffers(target), strict=True):
                kept.copy_(new)

    def state_dict(self) -> dict[str, int]:
        """The counts; the networks' owner saves them."""
        return {"last_update": self.last_update, "updates": self.updates}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.last_update, self.updates = state["last_update"], state["updates"]


def _buffers(part: Any) -> Iterable[th.Tensor]:
    """Buffers of a network, or of the networks that a controller has as attributes."""
    modules = [part] if isinstance(part, nn.Module) else [x for x in vars(part).values() if isinstance(x, nn.Module)]
    return itertools.chain.from_iterable(module.buffers() for module in modules)


def last_update() -> property:
    """PyMARL's attribute of a learner for the count at the last hard copy of its `targets`."""

    def write(learner: Any, count: int) -> None:
        learner.targets.last_update = count

    return property(lambda learner: learner.targets.last_update, write)
