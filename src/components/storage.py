"""Where the replay buffer keeps its fields, and in which smaller types."""

import contextlib
import math
import mmap
import tempfile
from collections.abc import Mapping, Sequence

import numpy as np
import torch as th

from utils.errors import MusterError
from utils.plain_values import quoted


def lazy_zeros(shape: Sequence[int], dtype: th.dtype, device: str | th.device) -> th.Tensor:
    """Zeros that take memory only where they are written.

    On the CPU `th.zeros` writes them all. The pages of a mapping are zeros until they are written; huge pages are
    turned off, because two megabytes would be taken for the first step of an episode.
    """
    count = math.prod(shape)
    if th.device(device).type != "cpu" or count == 0:
        return th.zeros(shape, dtype=dtype, device=device)
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    memory = mmap.mmap(-1, count * dtype.itemsize, **private)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        with contextlib.suppress(OSError):  # a kernel without huge pages
            memory.madvise(mmap.MADV_NOHUGEPAGE)
    return th.frombuffer(memory, dtype=dtype).view(tuple(shape))


def zeros_in(shape: Sequence[int], dtype: th.dtype, device: str | th.device, folder: str) -> th.Tensor:
    """`lazy_zeros`; with a folder, a mapped file in it, which has no name and vanishes with the process."""
    if not folder:
        return lazy_zeros(shape, dtype, device)
    size = math.prod(shape) * dtype.itemsize
    with tempfile.TemporaryFile(dir=folder) as file:
        file.truncate(max(1, size))
        return th.from_numpy(np.memmap(file, dtype=np.uint8, mode="r+", shape=(size,))).view(dtype).view(tuple(shape))


def smallest_integer(count: int) -> th.dtype:
    """The smallest integer type that holds 0 to `count` - 1."""
    return next((dtype for dtype in (th.uint8, th.int16, th.int32) if count - 1 <= th.iinfo(dtype).max), th.int64)


def storage_dtype(key: str, info: Mapping) -> th.dtype:
    """The type in which a buffer keeps `key`: "storage" in its entry in the scheme, else its own.

    Raises:
        ValueError: one of the two types is for whole numbers and the other is not, or only the first is not bool.
    """
    dtype = info.get("dtype", th.float32)
    storage = info.get("storage", dtype)
    if storage != dtype and (storage.is_floating_point != dtype.is_floating_point or storage == th.bool):
        raise ValueError(f"'{key}' is {dtype} and cannot be stored as {storage}.")
    return storage


def require_range(key: str, values: th.Tensor, dtype: th.dtype) -> None:
    """Refuse values that would become others, or infinite, in the smaller type `dtype`.

    Raises:
        MusterError: names the key, its values and the limits.
    """
    if values.dtype == dtype or dtype == th.bool or values.numel() == 0:
        return
    limits = th.finfo(dtype) if dtype.is_floating_point else th.iinfo(dtype)
    low, high = (extreme.item() for extreme in th.aminmax(values))
    if low < limits.min or high > limits.max:
        name = str(dtype).removeprefix("torch.")
        change = "use buffer_dtype=float32" if dtype.is_floating_point else "leave out its storage in the scheme"
        raise MusterError(
            f"'{key}' holds values from {low:g} to {high:g}. The replay buffer keeps it as {name}, "
            f"from {limits.min:g} to {limits.max:g}: scale the values, or {change}."
        )


def require_arrays(arrays: Mapping[str, np.ndarray], own: Mapping[str, tuple[th.dtype, tuple]]) -> None:
    """Refuse arrays of a checkpoint that are not those of a buffer.

    Args:
        own: type and shape of each.

    Raises:
        ValueError: other names, types or shapes.
    """
    found = {key: (_torchs(array.dtype), array.shape) for key, array in arrays.items()}
    if found != own:
        raise ValueError(f"it has {quoted(found, 300)} instead of {own}")


def _torchs(dtype: np.dtype) -> th.dtype | None:
    """The same type; None if torch has none."""
    try:
        return th.from_numpy(np.empty(0, dtype)).dtype
    except TypeError:
        return None


def narrowed(key: str, values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The values in the smaller type `dtype`, in less time than torch takes for a few.

    Raises:
        MusterError: see `require_range`.
    """
    with np.errstate(over="ignore"):
        kept = values.astype(dtype)
    exact = kept == values if dtype.kind in "iu" else np.isfinite(kept)
    if np.count_nonzero(exact) != exact.size:
        require_range(key, th.from_numpy(values), th.from_numpy(kept).dtype)
    return kept
