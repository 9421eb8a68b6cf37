"""Whether all values of a batch are finite, in little time."""

from typing import Any

import numpy as np
import torch as th

# numbers for which NumPy takes less time than torch to find out that they are finite
FEW = 1000


def first_non_finite(batch: Any) -> str | None:
    """The place, in words, of the first value that is NaN, or infinite where the scheme does not allow it."""
    fields = (*batch.data.transition_data.items(), *batch.data.episode_data.items())
    floats = [(key, tensor) for key, tensor in fields if tensor.is_floating_point()]
    if str(batch.device) != "cpu" and floats:
        (finite,), _ = batch.brought_with_course([_sums_are_finite([tensor for _, tensor in floats])])
        if finite:
            return None
    for key, tensor in floats:
        if _surely_finite(tensor):
            continue
        allowed = batch.scheme.get(key, {}).get("infinite", False)
        places = (tensor.isnan() if allowed else ~tensor.isfinite()).nonzero()
        if len(places):
            row, *rest = places[0].tolist()
            value = tensor[tuple(places[0])].item()
            return f"{key}{rest} of episode {row} of the batch is {value} ({len(places)} such values)"
    return None


def _sums_are_finite(tensors: list[th.Tensor]) -> th.Tensor:
    """What `_surely_finite` finds of all of them, bool `[]` where they are."""
    return th.stack([tensor.sum().float() for tensor in tensors]).isfinite().all()


def _surely_finite(x: th.Tensor) -> bool:
    """False if a value is not finite, and perhaps if many are very large."""
    if x.numel() < FEW and x.device.type == "cpu" and x.dtype != th.bfloat16:
        return np.count_nonzero(np.isfinite(x.detach().numpy())) == x.numel()
    # a finite sum proves it in a fifth of the time that looking at each takes
    return bool(x.sum().isfinite())
