"""Rows of a network's inputs, shared by processes: each computes some, and all get the outputs of all.

Everything else of an update, from targets to losses, each process computes of the whole batch, so that a learner is the
same with one process and with several. Gradients of a loss by the outputs of all rows reach a process's own weights by
its own rows only; N times as large as they are, so that their mean over N processes (`averaged`) is the gradient,
whether a network's rows were shared or computed whole by each.

Rows are shared within `sharing` only: while learners compute, not while somebody acts. Networks ask for it here
(`shared`, `shared_slices`, `shared_sequences`).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import accumulate
from typing import Any
from weakref import WeakSet

import torch as th
import torch.nn as nn
from torch.nn.modules.batchnorm import _BatchNorm

from utils.tensors.ranks import Ranks
from utils.tensors.tensor_trees import Tree, is_tree, leaves, map_tree

# the processes of the update that is under way, and whether networks share their rows now
_ranks: ContextVar[Ranks | None] = ContextVar("ranks", default=None)
_sharing: ContextVar[bool] = ContextVar("sharing", default=False)


@contextmanager
def updating(ranks: Ranks | None) -> Iterator[None]:
    """Gradients in this block are averaged over these processes, which all compute the same."""
    token = _ranks.set(ranks)
    try:
        yield
    finally:
        _ranks.reset(token)


@contextmanager
def sharing() -> Iterator[None]:
    """Networks share their rows in this block, if it is one of `updating`."""
    token = _sharing.set(_ranks.get() is not None)
    try:
        yield
    finally:
        _sharing.reset(token)


def is_sharing() -> bool:
    """Whether rows are shared now."""
    return _sharing.get()


def average_gradients(parameters: Iterable[th.Tensor]) -> None:
    """Make the gradients of these parameters the mean of those of all processes that share the update."""
    if (ranks := _ranks.get()) is not None:
        ranks.average_([parameter.grad for parameter in parameters if parameter.grad is not None])


def averaged(gradient: th.Tensor) -> th.Tensor:
    """The mean of a gradient over all processes that share the update, with gradients of its own."""
    ranks = _ranks.get()
    return gradient if ranks is None else _Mean.apply(gradient, ranks)


def shared(network: Any, *inputs: Any, axis: int = 0, out_axis: int = 0, together: int = 1, owner: Any = None) -> Any:
    """`network(*inputs)`, whose rows are independent.

    Args:
        inputs: tensors, or trees of them, with the rows in `axis`, or in it and the next one; others, such as slices,
            go to every process as they are. The first one decides: anything but a tensor is not shared.
        out_axis: the rows in the output, a tensor or a tree of tensors.
        together: as for `Ranks.sizes`.
        owner: the network that `network` is a part of, if it is none itself.
    """
    owner, rows = owner or network, inputs[0].size(axis) if isinstance(inputs[0], th.Tensor) else 0
    ranks, sizes = _shares(rows, together, owner)
    if ranks is None:
        return network(*inputs)
    own = [_own_rows(value, axis, rows, ranks, sizes) for value in inputs]
    outputs = _computed(owner, network, *own)
    return network(*inputs) if outputs is _DREW else _of_all(outputs, out_axis, ranks, sizes)


def shared_network(network: Any, *inputs: Any) -> Any:
    """`shared` along the first axis or, where that has one row, along the second; of a batch, along its episodes.

    What is no network of such is called as it is: it may share rows of parts of its own.
    """
    if isinstance(network, nn.Module) and inputs and hasattr(inputs[0], "max_seq_length"):
        batch, *others = inputs
        first = [x.size(0) for value in others if is_tree(value) for _, x in leaves(value)]
        return network(*inputs) if {*first} - {batch.batch_size} else _of_batch(network, batch, others)
    if isinstance(network, nn.Module) and inputs and all(isinstance(x, th.Tensor) and x.dim() for x in inputs):
        axis = 1 if all(x.dim() > 1 and x.size(0) == 1 for x in inputs) else 0
        if len({x.size(axis) for x in inputs}) == 1:
            return shared(network, *inputs, axis=axis, out_axis=axis)
    return network(*inputs)


def _of_batch(network: nn.Module, batch: Any, others: list) -> Tree:
    """`shared` of a batch and other inputs, whose tensors have a row for each episode."""
    episodes = th.arange(batch.batch_size)

    def of_rows(rows: th.Tensor, *own: Any) -> Tree:
        return network(batch[int(rows[0]) : int(rows[-1]) + 1], *own)

    return shared(of_rows, episodes, *others, owner=network)


def shared_slices(compute: Callable[[slice], Tree], rows: int, owner: nn.Module) -> Tree:
    """`compute` of all rows of something that has no gradients, such as a batch; outputs have as many in axis 0.

    `owner`: the network that computes.
    """
    ranks, sizes = _shares(rows, 1, owner)
    if ranks is None:
        return compute(slice(0, rows))
    first = sum(sizes[: ranks.rank])
    outputs = _computed(owner, compute, slice(first, first + sizes[ranks.rank]))
    return compute(slice(0, rows)) if outputs is _DREW else _of_all(outputs, 0, ranks, sizes)


def shared_sequences(
    sequence: Callable[..., Tree], encoded: th.Tensor, sizes: list[int], hidden: Tree, together: int = 1
) -> Tree:
    """`sequence(encoded, sizes, hidden)` of sequences, each computed by one process.

    Args:
        sequence: as `modules.agents.agent` says; all that it returns has a row for each step.
        hidden: leaves `[N, ...]`, or `[N / n, n, ...]` of n agents.
        together: sequences that are not parted.
    """
    owner = getattr(sequence, "__self__", None)
    ranks, shares = _shares(sizes[0], together, owner)
    if ranks is None:
        return sequence(encoded, sizes, hidden)
    begins, places, of_steps = [0, *accumulate(sizes)], [], []
    for stop, share in zip(accumulate(shares), shares, strict=True):
        first = stop - share
        kept = [min(size, stop) - first for size in sizes if size > first]
        steps = [th.arange(begin + first, begin + first + k) for begin, k in zip(begins, kept, strict=False)]
        places.append(th.cat(steps))
        of_steps.append(kept)
    order, counts = th.cat(places), [len(part) for part in places]
    back = order.argsort().to(encoded.device)
    own = _Own.apply(encoded[order.to(encoded.device)], 0, ranks, counts)
    outputs = _computed(owner, sequence, own, of_steps[ranks.rank], _own_rows(hidden, 0, sizes[0], ranks, shares))
    if outputs is _DREW:
        return sequence(encoded, sizes, hidden)
    return map_tree(lambda x: _Gathered.apply(x, 0, ranks, counts)[back], outputs)


# what `_computed` returns of a network that has drawn random numbers
_DREW = object()
# networks whose rows are not independent, as was found: they draw random numbers, or look at all rows of a batch
_whole: WeakSet[nn.Module] = WeakSet()
_looked_at: WeakSet[nn.Module] = WeakSet()


def _shares(rows: int, together: int, owner: Any) -> tuple[Ranks | None, list[int]]:
    """The processes and how many rows each gets; None: these rows are not shared."""
    ranks = _ranks.get() if _sharing.get() else None
    if ranks is None or _is_whole(owner):
        return None, []
    sizes = ranks.sizes(rows, together)
    return (ranks, sizes) if sizes else (None, [])


def _is_whole(network: Any) -> bool:
    """Whether it is known that the rows of a network are not independent."""
    if not isinstance(network, nn.Module):
        return False
    if network not in _looked_at:
        _looked_at.add(network)
        if any(isinstance(part, _BatchNorm) for part in network.modules()):
            _whole.add(network)
    return network in _whole


def _computed(owner: Any, network: Callable[..., Tree], *own: Any) -> Tree:
    """The outputs of this process's rows, which are not shared once more.

    `_DREW` if random numbers were drawn, as by dropout, which are others with fewer rows: then the generators are as
    before, and the network of which that is known is computed whole by all processes from now on.
    """
    before, token = _generators(), _sharing.set(False)
    try:
        outputs = network(*own)
    finally:
        _sharing.reset(token)
    if all(map(th.equal, before, _generators())):
        return outputs
    th.set_rng_state(before[0])
    if len(before) > 1:
        th.cuda.set_rng_state(before[1])
    if isinstance(owner, nn.Module):
        _whole.add(owner)
    return _DREW


def _generators() -> list[th.Tensor]:
    """The states of torch's generators, of the CPU and of the card that this process computes on."""
    return [th.get_rng_state(), *([th.cuda.get_rng_state()] if th.cuda.is_initialized() else [])]


def _of_all(outputs: Tree, axis: int, ranks: Ranks, sizes: list[int]) -> Tree:
    """Outputs of the rows of all processes; each row may have become several, side by side."""

    def gathered(x: th.Tensor) -> th.Tensor:
        times = x.size(axis) // sizes[ranks.rank]
        return _Gathered.apply(x, axis, ranks, [times * size for size in sizes])

    return map_tree(gathered, outputs)


def _own_rows(value: Any, axis: int, rows: int, ranks: Ranks, sizes: list[int]) -> Any:
    """The rows of tensors that are this process's, all rows in one axis; anything else as it is."""
    if not is_tree(value):
        return value

    def own(x: th.Tensor) -> th.Tensor:
        flat = x if x.size(axis) == rows else x.flatten(axis, axis + 1)
        return _Own.apply(flat, axis, ranks, sizes)

    return map_tree(own, value)


class _Own(th.autograd.Function):
    """The rows of this process; the gradient is that by the rows of all."""

    @staticmethod
    def forward(ctx: Any, x: th.Tensor, axis: int, ranks: Ranks, sizes: Sequence[int]) -> th.Tensor:
        ctx.found = axis, ranks, sizes
        first = sum(sizes[: ranks.rank])
        return x.narrow(axis, first, sizes[ranks.rank]).clone(memory_format=th.contiguous_format)

    @staticmethod
    def backward(ctx: Any, gradient: th.Tensor) -> tuple:  # type: ignore[override]
        axis, ranks, sizes = ctx.found
        return _Gathered.apply(gradient, axis, ranks, sizes) / ranks.size, None, None, None


class _Gathered(th.autograd.Function):
    """The rows of all processes; the gradient is that by this one's, times their number."""

    @staticmethod
    def forward(ctx: Any, own: th.Tensor, axis: int, ranks: Ranks, sizes: Sequence[int]) -> th.Tensor:
        ctx.found = axis, ranks, sizes
        return ranks.gathered(own.movedim(axis, 0).contiguous(), list(sizes)).movedim(0, axis)

    @staticmethod
    def backward(ctx: Any, gradient: th.Tensor) -> tuple:  # type: ignore[override]
        axis, ranks, sizes = ctx.found
        return _Own.apply(gradient, axis, ranks, sizes) * ranks.size, None, None, None


class _Mean(th.autograd.Function):
    """The mean over processes, of which each has one N times as large as its share."""

    @staticmethod
    def forward(ctx: Any, x: th.Tensor, ranks: Ranks) -> th.Tensor:
        mean = x.detach().clone()
        ranks.average_([mean])
        return mean

    @staticmethod
    def backward(ctx: Any, gradient: th.Tensor) -> tuple:  # type: ignore[override]
        return gradient, None
