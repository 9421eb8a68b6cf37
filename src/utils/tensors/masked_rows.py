"""Means of some rows of a tensor in shapes that no value decides: to choose rows, a program would wait for a GPU."""

import torch as th


def mean_where(counted: th.Tensor, rows: th.Tensor) -> th.Tensor:
    """The mean of the rows `[N, ...]` where `counted`, bool `[N]`: `[...]`, zeros if no row counts."""
    counted = counted.view(-1, *[1] * (rows.dim() - 1))
    return th.where(counted, rows, 0.0).sum(dim=0) / counted.sum().clamp(min=1)
