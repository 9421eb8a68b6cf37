"""What a run sets for the whole process, put back after it."""

import contextlib
import multiprocessing
import os
import threading
from collections.abc import Iterator

import torch as th

from utils.errors import ConfigError
from utils.numbers.random_streams import global_generators, set_global_generators


class _Umask:
    """The rights of new files: the user's alone while any thread is within."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._within, self._before = 0, 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._within:
                self._before = os.umask(0o077)
                os.umask(self._before | 0o077)
            self._within += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._within -= 1
            if not self._within:
                os.umask(self._before)


_umask = _Umask()


@contextlib.contextmanager
def process_left_alone() -> Iterator[None]:
    """Within this, a run sets what belongs to the whole process; after it, everything is as before.

    These are the global random generators, torch's number of threads, and the rights of new files: results are the
    user's alone.
    """
    generators, threads = global_generators(), th.get_num_threads()
    try:
        with _umask:
            yield
    finally:
        th.set_num_threads(threads)
        set_global_generators(generators)


def require_main_guard() -> None:
    """Refuse to train in a process of a run's environments, which imports the user's script while it starts.

    Raises:
        ConfigError: the script trains when it is imported.
    """
    # as multiprocessing knows that a process is not ready to start others
    if vars(multiprocessing.current_process()).get("_inheriting"):
        raise ConfigError(
            "The processes of a run's environments import this script, too, which trains when it is imported. Put its "
            "calls under: if __name__ == '__main__':"
        )
