"""The processes that make an update together, and what they exchange (torch.distributed)."""

from collections.abc import Callable, Iterable
from typing import Any

import torch as th
import torch.distributed as dist

from utils.errors import MusterError


class LostRankError(MusterError):
    """Another process did not take part in an exchange: it has ended, or does not answer."""


class Ranks:
    """The processes that make an update together.

    Args:
        rank: this one, from 0.
        size: how many there are.
    """

    def __init__(self, rank: int, size: int):
        self.rank, self.size = rank, size

    def sizes(self, rows: int, together: int = 1) -> list[int]:
        """How many rows each process gets, as evenly as possible; empty if there are too few.

        Args:
            together: rows that are not parted, those of the agents of a step.
        """
        units = rows // together
        if units < self.size:
            return []
        least, more = divmod(units, self.size)
        return [(least + (rank < more)) * together for rank in range(self.size)]

    def gathered(self, own: th.Tensor, sizes: list[int]) -> th.Tensor:
        """The rows of all, in the order of the processes; `own`: those of this one, in axis 0."""
        most = max(sizes)
        padded = own if len(own) == most else th.cat([own, own.new_zeros(most - len(own), *own.shape[1:])])
        found = own.new_empty(self.size * most, *own.shape[1:])
        # bytes: gloo has no all-gather of some types
        parts = found.view(-1).view(th.uint8).chunk(self.size)
        _exchange(dist.all_gather, list(parts), padded.contiguous().view(-1).view(th.uint8))
        if most == min(sizes):
            return found
        return th.cat([part[:size] for part, size in zip(found.split(most), sizes, strict=True)])

    def average_(self, tensors: Iterable[th.Tensor]) -> None:
        """Make each tensor the mean of those of all processes, in place."""
        for group in _by_type(tensors):
            numbers = th.cat([tensor.reshape(-1) for tensor in group])
            _exchange(dist.all_reduce, numbers)
            _put(numbers / self.size, group)

    def hand_out(self, tensors: Iterable[th.Tensor]) -> None:
        """Give each tensor the numbers of the first process's, in place."""
        for group in _by_type(tensors):
            numbers = th.cat([tensor.reshape(-1).view(th.uint8) for tensor in group])
            _exchange(dist.broadcast, numbers, 0)
            if self.rank:
                _put(numbers, [tensor.view(-1).view(th.uint8) for tensor in group])

    def differing(self, tensors: Iterable[th.Tensor]) -> list[int]:
        """The processes in which these tensors are not, to the last bit, those of the first one."""
        sums = [tensor.detach().contiguous().view(-1).view(th.uint8).long() for tensor in tensors]
        weighed = [(part * (th.arange(len(part), device=part.device) % 8191 + 1)).sum() for part in sums]
        own = th.stack(weighed).unsqueeze(0)
        of_all = self.gathered(own, [1] * self.size)
        return [rank for rank in range(1, self.size) if not th.equal(of_all[rank], of_all[0])]


def _exchange(collective: Callable, *arguments: Any) -> None:
    """Raises: LostRankError: it failed."""
    try:
        collective(*arguments)
    except RuntimeError as error:
        raise LostRankError(str(error).strip().split("\n")[0]) from None


def _by_type(tensors: Iterable[th.Tensor]) -> Iterable[list[th.Tensor]]:
    """Those that have numbers, by type and device."""
    groups: dict[Any, list[th.Tensor]] = {}
    for tensor in tensors:
        if tensor.numel():
            groups.setdefault((tensor.dtype, tensor.device), []).append(tensor)
    return groups.values()


def _put(numbers: th.Tensor, tensors: list[th.Tensor]) -> None:
    """Write numbers that stand side by side into tensors."""
    parts = numbers.split([tensor.numel() for tensor in tensors])
    for part, tensor in zip(parts, tensors, strict=True):
        tensor.copy_(part.view_as(tensor))
