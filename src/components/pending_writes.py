"""Writes into tensors of a GPU that wait for one another, so that one copy brings all of their values."""

from collections.abc import Callable, Sequence

import numpy as np
import torch as th

from components.one_copy import sent

Write = Callable[[list[th.Tensor]], None]


class PendingWrites:
    """The writes since the last `send`, in the order in which they were added; on the CPU none waits.

    Whoever reads what they write calls `send` before. An array that several of them take is copied once.

    Args:
        device: of the tensors.
    """

    def __init__(self, device: str | th.device):
        self._device = th.device(device)
        self.wait = self._device.type != "cpu"
        self._arrays: list[np.ndarray] = []
        self._dtypes: list[th.dtype] = []
        self._places: dict[tuple, int] = {}  # of arrays, by what their values are
        self._writes: list[tuple[Write, list[int]]] = []

    def add(self, write: Write, arrays: Sequence[np.ndarray] = (), dtypes: Sequence[th.dtype] = ()) -> None:
        """Call `write` with the arrays as tensors of these types; the arrays must not change until `send`."""
        if not self.wait:
            write([th.as_tensor(array).to(dtype) for array, dtype in zip(arrays, dtypes, strict=True)])
            return
        self._writes.append((write, [self._place(*one) for one in zip(arrays, dtypes, strict=True)]))

    def send(self) -> None:
        """Carry out the writes."""
        if not self._writes:
            return
        tensors, writes = sent(self._arrays, self._dtypes, self._device), self._writes
        self._arrays, self._dtypes, self._places, self._writes = [], [], {}, []
        for write, places in writes:
            write([tensors[place] for place in places])

    def _place(self, array: np.ndarray, dtype: th.dtype) -> int:
        # arrays that are kept share no memory unless they are views of one
        key = (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str, dtype)
        if key not in self._places:
            self._places[key] = len(self._arrays)
            self._arrays.append(array)
            self._dtypes.append(dtype)
        return self._places[key]
