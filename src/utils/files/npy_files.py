"""Reading arrays that others have written."""

import os
from pathlib import Path

import numpy as np

from utils.files.regular_files import problem_of


def read_npy(path: str | Path, largest: int) -> np.ndarray:
    """The array in a `.npy` file, which takes no more memory than the file is long, whatever its header says.

    Args:
        largest: refuse a file that is longer, in bytes.

    Raises:
        OSError: it is not there, not a regular file, or too long; `strerror` says so.
        ValueError: it holds no array, Python objects, or less than its header says.
    """
    if problem := problem_of(os.stat(path), largest):
        raise OSError(None, problem, str(path))
    try:
        # np.load alone would allocate what the header asks for, and read then
        with np.errstate(over="ignore"):  # of a size that overflows, which is refused
            mapped = np.load(path, mmap_mode="r", allow_pickle=False)
    except (EOFError, OverflowError, TypeError) as error:
        raise ValueError(str(error)) from None
    if not isinstance(mapped, np.ndarray):
        raise ValueError("it is an archive, and no array")
    return np.array(mapped)
