"""Rows of arrays, divided among threads of this process."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

# by their number of threads; a process has one of each, whatever it has of environments
_POOLS: dict[int, ThreadPoolExecutor] = {}
if hasattr(os, "register_at_fork"):  # a forked child has none of its parent's threads
    os.register_at_fork(after_in_child=_POOLS.clear)


class ThreadShares:
    """Rows in contiguous shares, of which the calling thread takes the first and other threads one each.

    Args:
        rows: how many there are.
        threads: how many share them, at most one a row; 1: the calling one alone.
    """

    def __init__(self, rows: int, threads: int):
        threads = max(1, min(threads, rows))
        bounds = [rows * thread // threads for thread in range(threads + 1)]
        self.slices = [slice(*pair) for pair in pairwise(bounds)]

    def __len__(self) -> int:
        return len(self.slices)

    def cut(self, arrays: tuple) -> list[Any]:
        """The rows of each thread, of a named tuple of arrays."""
        return [type(arrays)(*(array[rows] for array in arrays)) for rows in self.slices]

    def do(self, work: Callable[..., Any], arguments: Sequence[tuple]) -> None:
        """Call `work(*arguments[k])` in thread k, and return when all have ended.

        It pays for work that releases Python's lock, as compiled kernels do. The first error is raised.
        """
        others = [_pool(len(self) - 1).submit(work, *one) for one in arguments[1:]]
        try:
            work(*arguments[0])
        finally:  # nobody writes into the arrays any more
            errors = [other.exception() for other in others]
        for error in errors:
            if error is not None:
                raise error


def _pool(threads: int) -> ThreadPoolExecutor:
    if threads not in _POOLS:
        _POOLS[threads] = ThreadPoolExecutor(threads, "copies")
    return _POOLS[threads]
