"""Which episodes and steps of a batch an index selects, and the shapes of what is written there."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch as th


class MissingFieldError(ValueError):
    """A batch was asked for a field that it does not have."""


def is_index(item: Any) -> bool:
    """Whether an item is one whole number."""
    if isinstance(item, th.Tensor | np.ndarray):
        item = item.item() if item.ndim == 0 else None
    return isinstance(item, int | np.integer) and not isinstance(item, bool)


def num_items(item: slice | th.Tensor, size: int) -> int:
    """How many places of an axis of `size` an item selects."""
    return len(range(*item.indices(size))) if isinstance(item, slice) else len(item)


def select(tensor: th.Tensor, item: tuple[slice | th.Tensor, ...]) -> th.Tensor:
    """`tensor[item]` by the numbers of episodes, at least 0, or a slice; `index_select` copies whole rows at once."""
    episodes, *steps = item
    if isinstance(episodes, slice):
        return tensor[item]
    return (tensor[:, *steps] if steps else tensor).index_select(0, episodes)


def indexed_shape(target: th.Tensor, item: Any) -> th.Size:
    """The shape of `target[item]`."""
    items = item if isinstance(item, tuple) else (item,)
    sizes = [num_items(i, size) for i, size in zip(items, target.shape, strict=False)]
    return th.Size([*sizes, *target.shape[len(items) :]])


def check_safe_view(key: str, shape: Sequence[int], destination: Sequence[int]) -> None:
    """Refuse a reshape that would do more than add or drop axes of size 1.

    Raises:
        ValueError: names the field and both shapes.
    """
    if [size for size in shape if size != 1] != [size for size in destination if size != 1]:
        raise ValueError(f"Unsafe reshape of '{key}': {tuple(shape)} to {tuple(destination)}")
