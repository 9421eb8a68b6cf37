"""Several arrays to a GPU, or tensors from it, in one copy: each copy costs as much as a small network."""

import threading
from collections.abc import Sequence
from functools import cache
from itertools import accumulate

import numpy as np
import torch as th

from utils.processes.cores import usable_cores
from utils.processes.thread_shares import ThreadShares
from utils.tensors.devices import same_device, to_device

# bytes between beginnings of arrays: more than any type needs
ALIGNMENT = 16
# bytes of a tensor that moves alone: packing it would take longer than the copy that this saves, some 10 microseconds
LARGE = 1 << 20
# bytes below which pinned memory is not faster: the driver copies so few before it returns
LEAST_PINNED = 1 << 16
# bytes of one pinned buffer: who sends more has memory of its own to fill anyway
MOST_PINNED = 1 << 28
# while the GPU fetches from one, the next is filled
BUFFERS = 2


class PinnedMemory(threading.local):
    """Pinned main memory, in buffers that are filled in turn; each thread has its own.

    A GPU fetches from it four times as fast as from other memory, and the program need not wait.
    """

    def __init__(self) -> None:
        self._buffers = [th.empty(0, dtype=th.uint8)] * BUFFERS
        self._fetched: list[th.cuda.Event | None] = [None] * BUFFERS
        self._turn, self._possible = 0, True

    def room(self, size: int, device: th.device) -> np.ndarray | None:
        """`size` bytes to fill, for the `fetch` that follows; None if they are few, too many, or cannot be pinned."""
        if device.type != "cuda" or not self._possible or not LEAST_PINNED <= size <= MOST_PINNED:
            return None
        self._turn = (self._turn + 1) % BUFFERS
        if (fetched := self._fetched[self._turn]) is not None:
            fetched.synchronize()
        buffer = self._buffers[self._turn]
        if len(buffer) < size:
            try:
                buffer = th.empty(1 << (size - 1).bit_length(), dtype=th.uint8, pin_memory=True)
            except RuntimeError:  # the system refuses it
                self._possible = False
                return None
            self._buffers[self._turn] = buffer
        return buffer.numpy()[:size]

    def fetch(self, size: int, device: th.device) -> th.Tensor:
        """What is in that room, uint8 `[size]` on the device, once it is asked for there."""
        there = self._buffers[self._turn][:size].to(device, non_blocking=True)
        event = self._fetched[self._turn] = th.cuda.Event()
        event.record(th.cuda.current_stream(device))
        return there


PINNED = PinnedMemory()


def sent(arrays: Sequence[np.ndarray], dtypes: Sequence[th.dtype], device: str | th.device) -> list[th.Tensor]:
    """The arrays as tensors of these types on the device."""
    if not arrays:
        return []
    device, types = th.device(device), [_type(dtype) for dtype in dtypes]
    sizes = [array.size * kind.itemsize for array, kind in zip(arrays, types, strict=True)]
    begins = list(accumulate((-(-size // ALIGNMENT) * ALIGNMENT for size in sizes), initial=0))
    pinned = PINNED.room(begins[-1], device)
    packed = np.empty(begins[-1], dtype=np.uint8) if pinned is None else pinned
    places = [
        packed[begin : begin + size].view(kind).reshape(array.shape)
        for array, kind, begin, size in zip(arrays, types, begins, sizes, strict=False)
    ]
    _fill(places, arrays)
    there = to_device(th.from_numpy(packed), device) if pinned is None else PINNED.fetch(len(packed), device)
    return [
        there[begin : begin + size].view(_type_there(kind)).view(array.shape).to(dtype)
        if size
        else th.empty(array.shape, dtype=dtype, device=device)
        for array, dtype, kind, begin, size in zip(arrays, dtypes, types, begins, sizes, strict=False)
    ]


def _fill(places: Sequence[np.ndarray], arrays: Sequence[np.ndarray]) -> None:
    """Copy each array to its place; large ones in threads, which have a share of the rows of each."""
    large = []
    for place, array in zip(places, arrays, strict=True):
        if place.nbytes < LARGE:
            place[...] = array
        else:
            large.append((place, array))
    if not large:
        return
    pieces = sum(place.nbytes for place, _ in large) // LARGE
    threads = min(usable_cores(), pieces, *(len(place) for place, _ in large))
    shares = [ThreadShares(len(place), threads).slices for place, _ in large]

    def fill(thread: int) -> None:
        for (place, array), rows in zip(large, shares, strict=True):
            place[rows[thread]] = array[rows[thread]]

    ThreadShares(threads, threads).do(fill, [(thread,) for thread in range(threads)])


def received(tensors: Sequence[th.Tensor]) -> list[np.ndarray]:
    """The tensors as arrays; those of the CPU on their memory."""
    away = [tensor.detach() for tensor in tensors if tensor.device.type != "cpu"]
    arrived = iter(_received(away) if away else [])
    return [x.detach().numpy() if x.device.type == "cpu" else next(arrived) for x in tensors]


def moved(tensors: Sequence[th.Tensor], device: str | th.device) -> list[th.Tensor]:
    """The tensors, all of which are on one device, on another: in one copy, but for large ones.

    Those that came in one copy share its memory, and are contiguous.
    """
    device, there = th.device(device), list(tensors)
    away = [i for i, tensor in enumerate(there) if not same_device(tensor.device, device)]
    small = [i for i in away if there[i].nbytes < LARGE]
    if len(small) < 2:
        return [to_device(tensor, device) for tensor in there]
    # each begins at a multiple of its numbers' size if those of larger numbers come first
    small.sort(key=lambda i: -there[i].element_size())
    sizes = [there[i].nbytes for i in small]
    packed = th.cat([there[i].contiguous().view(-1).view(th.uint8) for i in small])
    packed = to_device(packed, device)
    for i, piece in zip(small, packed.split(sizes), strict=True):
        there[i] = piece.view(there[i].dtype).view(there[i].shape)
    return [to_device(tensor, device) for tensor in there]


def _received(tensors: Sequence[th.Tensor]) -> list[np.ndarray]:
    tensors = [tensor.float() if tensor.dtype == th.bfloat16 else tensor for tensor in tensors]
    packed = th.cat([tensor.contiguous().view(-1).view(th.uint8) for tensor in tensors]).cpu().numpy()
    arrays, begin = [], 0
    for tensor in tensors:
        end = begin + tensor.numel() * tensor.element_size()
        # a copy, which is aligned as compiled code wants it
        arrays.append(packed[begin:end].copy().view(_type(tensor.dtype)).reshape(tuple(tensor.shape)))
        begin = end
    return arrays


@cache
def _type(dtype: th.dtype) -> np.dtype:
    """NumPy's type of the same values; of bfloat16, which it does not have, float32."""
    return np.dtype("float32") if dtype == th.bfloat16 else th.empty(0, dtype=dtype).numpy().dtype


@cache
def _type_there(kind: np.dtype) -> th.dtype:
    return th.from_numpy(np.empty(0, kind)).dtype
