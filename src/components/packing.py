"""The filled steps of a batch as sequences, without its padding."""

from dataclasses import dataclass
from typing import Any

import torch as th

from components.one_copy import moved


@dataclass
class PackedSteps:
    """Where the filled steps of B episodes of T steps are, time first: step 0 of all, step 1 of those that have it...

    Within a step the episodes stand from the longest to the shortest: those that continue come first (the order of
    `torch.nn.utils.rnn.PackedSequence`).

    In an entry of a rollout, a new sequence starts with each episode.

    `places`: int64 `[P]`, b * T + t of each of the P filled steps; `sizes`: at each step, how many sequences have it.
    `continued`: in a rollout, int64 `[S]`, the entry b whose first step is the sequence's, or -1.
    `in_place`: the filled steps are all of the batch's, in its order.
    """

    places: th.Tensor
    sizes: list[int]
    batch_size: int
    length: int
    continued: th.Tensor | None = None
    in_place: bool = False
    # where memories start within a sequence: nowhere
    starts = None
    # those of steps that `take` leaves
    axes = 1

    @classmethod
    def of(cls, filled: th.Tensor) -> "PackedSteps | None":
        """From the field "filled" `[B, T, 1]`, in main memory.

        None if some episode is not filled from its first step on.
        """
        batch_size, length = filled.shape[:2]
        filled = filled.squeeze(2) > 0
        lengths = filled.sum(1)
        has_step = th.arange(length).unsqueeze(0) < lengths.unsqueeze(1)
        if not th.equal(filled, has_step) or not lengths.max():
            return None
        places, sizes, _ = _pack(th.arange(batch_size) * length, lengths)
        return cls(places, sizes, batch_size, length)

    @classmethod
    def of_rollout(cls, filled: th.Tensor, starts: th.Tensor) -> "PackedSteps | None":
        """From "filled" `[B, T, 1]` and starts of episodes within entries, bool `[B, T]`, both in main memory.

        None if steps are missing.
        """
        batch_size, length = starts.shape
        if not filled.all():
            return None
        if length == 1:
            every = th.arange(batch_size)
            return cls(every, [batch_size], batch_size, length, every, in_place=True)
        begins = starts.clone()
        begins[:, 0] = True
        entry, t = begins.nonzero(as_tuple=True)
        first = entry * length + t
        lengths = th.diff(first, append=th.tensor([batch_size * length]))
        places, sizes, order = _pack(first, lengths)
        continued = th.where(t == 0, entry, -1)[order]
        return cls(places, sizes, batch_size, length, continued)

    def to(self, device: str | th.device) -> "PackedSteps":
        there = moved([self.places] if self.continued is None else [self.places, self.continued], device)
        continued = None if self.continued is None else there[1]
        return PackedSteps(there[0], self.sizes, self.batch_size, self.length, continued, self.in_place)

    def at_start(self, of_entries: Any, otherwise: th.Tensor) -> th.Tensor:
        """Of each sequence that continues its entry's value, `of_entries` `[B, ...]`, else `otherwise` `[S, ...]`."""
        if self.continued is None:
            return otherwise
        goes_on = (self.continued >= 0).view(-1, *[1] * (otherwise.dim() - 1))
        return th.where(goes_on, of_entries[self.continued], otherwise)

    def take(self, x: th.Tensor) -> th.Tensor:
        """`[B, T, *shape]` -> `[P, *shape]`."""
        if self.in_place:
            return x.flatten(0, 1)
        return x.reshape(self.batch_size * self.length, *x.shape[2:]).index_select(0, self.places)

    def spread(self, x: th.Tensor) -> th.Tensor:
        """`[P, *shape]` -> `[B, T, *shape]`, with zeros where nothing is filled."""
        if self.in_place:
            return x.unflatten(0, (self.batch_size, self.length))
        spread = x.new_zeros(self.batch_size * self.length, *x.shape[1:]).index_copy(0, self.places, x)
        return spread.view(self.batch_size, self.length, *x.shape[1:])


@dataclass
class RolloutSteps:
    """Every step of B entries, time first: all in shapes that no value decides, as graphs of a GPU need them.

    An entry is a sequence, in which memories start where `starts` is true, bool `[B, T]` or by agent `[B, T, n]`.
    """

    starts: th.Tensor
    batch_size: int
    length: int
    axes = 1

    @property
    def sizes(self) -> list[int]:
        return [self.batch_size] * self.length

    def at_start(self, of_entries: th.Tensor, otherwise: th.Tensor) -> th.Tensor:
        """For every sequence, the value of its entry, `of_entries` `[B, ...]`."""
        return of_entries

    def take(self, x: th.Tensor) -> th.Tensor:
        """`[B, T, *shape]` -> `[T * B, *shape]`."""
        return x.transpose(0, 1).flatten(0, 1)

    def spread(self, x: th.Tensor) -> th.Tensor:
        """`[T * B, *shape]` -> `[B, T, *shape]`."""
        return x.unflatten(0, (self.length, self.batch_size)).transpose(0, 1)


def _pack(first: th.Tensor, lengths: th.Tensor) -> tuple[th.Tensor, list[int], th.Tensor]:
    """Of sequences with first steps `first` `[S]`: the places of all steps `[P]`, their number at each step, their
    order."""
    order = lengths.argsort(descending=True, stable=True)
    # at step t are those that are longer than t
    sizes = (len(lengths) - lengths.bincount().cumsum(0)[:-1]).tolist()
    first = first[order]
    return th.cat([first[:size] + t for t, size in enumerate(sizes)]), sizes, order


class AllSteps:
    """Every step of a batch where it is, padding included."""

    axes = 2

    def take(self, x: th.Tensor) -> th.Tensor:
        return x

    def spread(self, x: th.Tensor) -> th.Tensor:
        return x
