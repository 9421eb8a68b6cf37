"""The weights of a controller, and memory in which processes share them (POSIX's: other systems import this, too)."""

import contextlib
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import torch as th
import torch.nn as nn

from components.one_copy import moved
from controllers.teams import TeamControllers

if TYPE_CHECKING:
    from utils.processes.shared_memory import NamelessMemory

ALIGNED = 64
# of the memory: the version, int64
HEADER = ALIGNED


def weights_of(mac: Any) -> list[th.Tensor]:
    """All tensors that `load_state` would copy: parameters, and buffers such as running means."""
    if isinstance(mac, TeamControllers):
        return list(chain.from_iterable(weights_of(team.mac) for team in mac.teams.values()))
    networks = [value for value in vars(mac).values() if isinstance(value, nn.Module)]
    found = {id(weight): weight for weight in mac.parameters()}
    for network in networks:
        found |= {id(weight): weight for weight in (*network.parameters(), *network.buffers())}
    return [weight.detach() for weight in found.values()]


class SharedWeights:
    """One block with all weights of a controller, and their version, under a lock.

    One process publishes and others fetch. A lock ends with the process that holds it, however that ends.

    Args:
        mac: the controller that is published, or that fetches; of the same sizes in all processes.
        memory: of another process's `SharedWeights`; None: new memory.
    """

    def __init__(self, mac: Any, memory: "NamelessMemory | None" = None):
        self._tensors = weights_of(mac)
        self._device = self._tensors[0].device if self._tensors else "cpu"
        places, size = [], HEADER
        for tensor in self._tensors:
            places.append(size)
            size += -(-tensor.nbytes // ALIGNED) * ALIGNED
        if memory is None:
            from utils.processes.shared_memory import NamelessMemory

            memory = NamelessMemory("muster-weights")
            memory.grow(size)
        self.memory, self._buffer = memory, memory.map()
        self._version = np.frombuffer(self._buffer, dtype=np.int64, count=1)
        self._shared = [_view(self._buffer, place, tensor) for place, tensor in zip(places, self._tensors, strict=True)]
        # whether this process has published any; and the version that it has fetched
        self._published, self._fetched = False, -1
        # whether the next ones to be published are those that were published last, in a resumed run
        self._resumed = False

    @property
    def block(self) -> np.ndarray:
        """All of the memory, uint8 `[bytes]`: the version, and the weights."""
        return np.frombuffer(self._buffer, dtype=np.uint8)

    @property
    def version(self) -> int:
        """How often weights were published."""
        return int(self._version[0])

    @property
    def changed(self) -> bool:
        """Whether the controller has other weights than those that were published last."""
        return self._have_changed(moved(self._tensors, "cpu"))

    def _have_changed(self, weights: list[th.Tensor]) -> bool:
        if self._resumed or not self._published:
            return not self._resumed
        # not by torch's counts of changes, which its fused optimisers leave as they are
        return not all(th.equal(shared, weight) for shared, weight in zip(self._shared, weights, strict=True))

    def resume(self, version: int, changed: bool) -> None:
        """Publish next as after this version, of weights that have changed since, or have not."""
        self._version[0], self._resumed = version, not changed

    def publish(self) -> int:
        """Write the controller's weights into the block if they have changed. Returns their version."""
        weights = moved(self._tensors, "cpu")
        new = self._have_changed(weights)
        if new or self._resumed:
            self._published, self._resumed = True, False
            with self._locked(exclusively=True):
                _copy(weights, self._shared)
                self._version[0] += new
        return self.version

    def fetch(self) -> int:
        """Read the newest weights into the controller, if they are newer than those it has. Returns their version."""
        if self.version != self._fetched:
            with self._locked(exclusively=False):
                _copy(moved(self._shared, self._device), self._tensors)
                self._fetched = self.version
        return self._fetched

    @contextlib.contextmanager
    def _locked(self, exclusively: bool) -> Iterator[None]:
        import fcntl

        fcntl.lockf(self.memory.descriptor, fcntl.LOCK_EX if exclusively else fcntl.LOCK_SH)
        try:
            yield
        finally:
            fcntl.lockf(self.memory.descriptor, fcntl.LOCK_UN)


@th.no_grad()
def _copy(sources: list[th.Tensor], targets: list[th.Tensor]) -> None:
    for source, target in zip(sources, targets, strict=True):
        target.copy_(source)


def _view(buffer: Any, place: int, like: th.Tensor) -> th.Tensor:
    if not like.numel():
        return th.empty_like(like, device="cpu")
    return th.frombuffer(buffer, dtype=like.dtype, count=like.numel(), offset=place).view(like.shape)
