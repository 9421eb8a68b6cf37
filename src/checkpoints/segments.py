"""The records of a buffer in files: each is written once, and belongs to every checkpoint that needs it.

A file is a sequence of blocks; each is a line of JSON, `{"first", "stop", "arrays": [[name, dtype, shape], ...]}`, and
the bytes of these arrays, one after another.
"""

import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from checkpoints.errors import CheckpointError
from checkpoints.journal import Journal
from utils.files.regular_files import open_regular

LARGEST_LINE = 2**20
PREFIX, SUFFIX = "buffer-", ".bin"


@dataclass
class Segment:
    """The records `first` to `stop` - 1 of a buffer in a file of a checkpoint; `entry`: the manifest's."""

    first: int
    stop: int
    path: Path
    entry: dict


def segment_name(first: int, stop: int, buffer: str = "") -> str:
    """The file of the records `first` to `stop` - 1; `buffer`: which one, of several."""
    return f"{PREFIX}{buffer}{'-' * bool(buffer)}{first}-{stop}{SUFFIX}"


def segments_of(folder: Path, manifest: dict, buffer: str = "") -> list[Segment]:
    """The files of a buffer in a checkpoint, oldest first."""
    segments = []
    for name, entry in manifest["files"].items():
        if name.startswith(PREFIX) and name.endswith(SUFFIX):
            *whose, first, stop = name.removeprefix(PREFIX).removesuffix(SUFFIX).rsplit("-", 2)
            if "".join(whose) == buffer:
                segments.append(Segment(int(first), int(stop), folder / name, entry))
    return sorted(segments, key=lambda segment: segment.first)


def write_segment(
    file: Any, journal: Journal, first: int, stop: int, done: Callable[[int], None] = lambda _: None
) -> None:
    """Write the records `first` to `stop` - 1, which `journal` holds.

    Args:
        file: has `write`.
        done: called with the number up to which everything is written, after every block.
    """
    for end, arrays in journal.rows(first, stop):
        layout = [[name, array.dtype.str, list(array.shape)] for name, array in arrays.items()]
        file.write(json.dumps({"first": first, "stop": end, "arrays": layout}).encode() + b"\n")
        for array in arrays.values():
            file.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        first = end
        done(first)


def read_segment(segment: Segment, journal: Journal) -> None:
    """Put the records of a file that `journal` says it held back into it.

    Raises:
        CheckpointError: the file is damaged, or is of a buffer with other fields or sizes.
    """
    path, first = segment.path, segment.first
    try:
        with open_regular(path) as file:
            while line := file.readline(LARGEST_LINE):
                stop, arrays = _block(file, line, first, segment.stop)
                skipped = min(max(0, journal.first - first), stop - first)
                if skipped < stop - first:
                    _put(path, journal, first + skipped, {name: array[skipped:] for name, array in arrays.items()})
                first = stop
        if first != segment.stop:
            raise ValueError(f"it ends before record {first}")
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read ({error.strerror}).") from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        reason = str(error).split("\n")[0][:300]
        raise CheckpointError(f"{path} is damaged: {type(error).__name__}: {reason}.") from None


def _put(path: Path, journal: Journal, first: int, arrays: dict[str, np.ndarray]) -> None:
    try:
        journal.put(first, arrays)
    except ValueError as error:
        raise CheckpointError(f"{path} is of a buffer with other fields or sizes: {error}.") from None


def _block(file: Any, line: bytes, first: int, last: int) -> tuple[int, dict[str, np.ndarray]]:
    """The number after the last record of a block, and its arrays.

    Raises:
        ValueError, KeyError, TypeError: it is not one whose first record is `first`, with none after `last`.
    """
    header = json.loads(line)
    stop = header["stop"]
    if header["first"] != first or type(stop) is not int or not first < stop <= last:
        raise ValueError(f"a block does not start with record {first} of {last}")
    return stop, {name: _array(file, dtype, shape, stop - first) for name, dtype, shape in header["arrays"]}


def _array(file: Any, dtype: str, shape: list[int], records: int) -> np.ndarray:
    kind = np.dtype(dtype)
    if kind.kind not in "biuf" or kind.str != dtype or kind.shape:
        raise ValueError("an array of other values than plain numbers")
    if not all(type(size) is int and size >= 0 for size in shape) or shape[:1] != [records]:
        raise ValueError(f"an array that is not of {records} records")
    count = math.prod(shape) * kind.itemsize
    if count > os.fstat(file.fileno()).st_size - file.tell():
        raise ValueError("an array that is longer than the file")
    return np.frombuffer(bytearray(file.read(count)), kind).reshape(shape)
