"""Rows of arrays, divided among threads of this process."""

import os
import threading
from collections.abc import Callable, Sequence
from itertools import pairwise
from queue import SimpleQueue
from typing import Any

# of the threads there are, what each does next; they serve every environment of the process, and end with it. Futures
# would take ten times as long as these queues to hand over work.
_TASKS: list[SimpleQueue] = []
_STARTING = threading.Lock()
if hasattr(os, "register_at_fork"):  # a forked child has none of its parent's threads
    os.register_at_fork(after_in_child=_TASKS.clear)


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
        ended: SimpleQueue = SimpleQueue()
        for k, tasks in enumerate(_threads(len(arguments) - 1), start=1):
            tasks.put((work, arguments[k], k, ended))
        try:
            work(*arguments[0])
        finally:  # nobody writes into the arrays any more
            errors = dict(ended.get() for _ in arguments[1:])
        for _, error in sorted(errors.items()):
            if error is not None:
                raise error


def _threads(count: int) -> list[SimpleQueue]:
    if len(_TASKS) < count:
        with _STARTING:
            while len(_TASKS) < count:
                tasks: SimpleQueue = SimpleQueue()
                threading.Thread(target=_serve, args=(tasks,), name=f"copies_{len(_TASKS)}", daemon=True).start()
                _TASKS.append(tasks)
    return _TASKS[:count]


def _serve(tasks: SimpleQueue) -> None:
    while True:
        work, arguments, k, ended = tasks.get()
        error = None
        try:
            work(*arguments)
        except BaseException as raised:
            error = raised
        # an array that is kept here would live until the next task
        work = arguments = None
        ended.put((k, error))
        error = ended = None
