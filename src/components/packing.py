"""The filled steps of a batch without its padding."""

from dataclasses import dataclass

import torch as th


@dataclass
class PackedSteps:
    """Where the filled steps of B episodes of T columns are, time first: step 0 of all, step 1 of those that have it...

    Within a step the episodes stand from the longest to the shortest, so that those that go on are the first ones
    (the order of `torch.nn.utils.rnn.PackedSequence`).

    `rows`: int64 `[P]`, b * T + t of each of the P filled steps; `sizes`: at each step, how many episodes have it.
    """

    rows: th.Tensor
    sizes: list[int]
    batch_size: int
    length: int

    @classmethod
    def of(cls, filled: th.Tensor) -> "PackedSteps | None":
        """From the field "filled" `[B, T, 1]`; None if some episode is not filled from its first step on."""
        batch_size, length = filled.shape[:2]
        filled = filled.squeeze(2).cpu() > 0
        lengths = filled.sum(1)
        has_step = th.arange(length).unsqueeze(0) < lengths.unsqueeze(1)
        if not th.equal(filled, has_step) or not lengths.max():
            return None
        order = lengths.argsort(descending=True, stable=True)
        steps, places = has_step[order].t().nonzero(as_tuple=True)
        sizes = [size for size in has_step.sum(0).tolist() if size]
        return cls(order[places] * length + steps, sizes, batch_size, length)

    def to(self, device: str | th.device) -> "PackedSteps":
        return PackedSteps(self.rows.to(device), self.sizes, self.batch_size, self.length)

    def take(self, x: th.Tensor) -> th.Tensor:
        """`[B, T, *shape]` -> `[P, *shape]`."""
        return x.reshape(self.batch_size * self.length, *x.shape[2:]).index_select(0, self.rows)

    def spread(self, x: th.Tensor) -> th.Tensor:
        """`[P, *shape]` -> `[B, T, *shape]`, with zeros where nothing is filled."""
        spread = x.new_zeros(self.batch_size * self.length, *x.shape[1:]).index_copy(0, self.rows, x)
        return spread.view(self.batch_size, self.length, *x.shape[1:])


class AllSteps:
    """Every step of a batch where it is, padding included."""

    def take(self, x: th.Tensor) -> th.Tensor:
        return x

    def spread(self, x: th.Tensor) -> th.Tensor:
        return x
