"""What a run sets for the whole process, put back after it."""

import contextlib
import os
from collections.abc import Iterator

import torch as th

from utils.numbers.random_streams import global_generators, set_global_generators


@contextlib.contextmanager
def process_left_alone() -> Iterator[None]:
    """Within this, a run sets what belongs to the whole process; after it, everything is as before.

    These are the global random generators, torch's number of threads, and the rights of new files: results are the
    user's alone.
    """
    generators, threads, mask = global_generators(), th.get_num_threads(), os.umask(0o077)
    os.umask(mask | 0o077)
    try:
        yield
    finally:
        os.umask(mask)
        th.set_num_threads(threads)
        set_global_generators(generators)
