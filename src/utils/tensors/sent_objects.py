"""Objects as bytes and the tensors in them, which travel on their own: from one card to another, say."""

import io
import pickle
from typing import Any

import torch as th

# how a tensor stands in the bytes: its place among the tensors, type, shape and device
Description = tuple[int, th.dtype, th.Size, str]


def taken_apart(value: Any) -> tuple[bytes, list[th.Tensor]]:
    """Any object as bytes, and its tensors, each contiguous, without gradients."""
    import cloudpickle  # what trains in one process does without

    tensors: list[th.Tensor] = []

    class Pickler(cloudpickle.Pickler):
        def persistent_id(self, part: Any) -> Description | None:
            if not isinstance(part, th.Tensor):
                return None
            tensors.append(part.detach().contiguous())
            return len(tensors) - 1, part.dtype, part.shape, str(part.device)

    file = io.BytesIO()
    Pickler(file, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    return file.getvalue(), tensors


def put_together(content: bytes) -> tuple[Any, list[th.Tensor]]:
    """The object again, and its tensors, whose numbers are not set yet, in the same order.

    The bytes come from another process of the same run: pickle runs what they say.
    """
    tensors: dict[int, th.Tensor] = {}

    class Unpickler(pickle.Unpickler):
        def persistent_load(self, found: Description) -> th.Tensor:
            place, dtype, shape, device = found
            if place not in tensors:
                tensors[place] = th.empty(shape, dtype=dtype, device=device)
            return tensors[place]

    value = Unpickler(io.BytesIO(content)).load()
    return value, [tensors[place] for place in range(len(tensors))]
