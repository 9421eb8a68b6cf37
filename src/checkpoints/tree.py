"""States as trees of plain values, tensors and arrays, in files from which no code is ever run."""

import math
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import torch as th

from checkpoints.errors import CheckpointError
from checkpoints.model_files import saved_bytes
from checkpoints.plain_files import load_plain

ARRAY = "numpy array"
PLAIN = (bool, int, float, str, type(None))
# of a whole number; torch's reader takes no longer ones
MOST_BITS = 2000


def save_tree(tree: Any, path: str | Path) -> None:
    """Write a tree of dicts, lists, tuples, numbers, text, None, tensors and NumPy arrays.

    Raises:
        OSError: the file cannot be written.
        TypeError: something else is in the tree; the message says where.
    """
    Path(path).write_bytes(tree_bytes(tree))


def tree_bytes(tree: Any) -> memoryview:
    """The bytes that `save_tree` writes."""
    return saved_bytes(tree_of_tensors(tree))


def load_tree(path: str | Path) -> Any:
    """Read a file of `save_tree`. Code in a manipulated file does not run.

    Raises:
        CheckpointError: the file is not such a tree.
    """
    try:
        tree = load_plain(path)
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read ({error.strerror}).") from None
    except ValueError as error:
        raise CheckpointError(f"{path} is damaged, or is not the state of a run: {error}.") from None
    try:
        return _decoded(tree, set())
    except Exception as error:  # torch and NumPy raise many kinds for unexpected bytes
        reason = str(error).split("\n")[0]
        raise CheckpointError(f"{path} is damaged: {type(error).__name__}: {reason[:300]}") from None


def tree_of_tensors(tree: Any, where: str = "state") -> Any:
    """A copy of `tree` that later changes do not reach: tensors on the CPU, arrays as tensors of bytes.

    Raises:
        TypeError: something in it is not of the kinds that can be saved; the message says where.
    """
    if isinstance(tree, th.Tensor):
        return tree.detach().to("cpu", copy=True)
    if isinstance(tree, np.ndarray):
        return _encoded_array(tree, where)
    if isinstance(tree, np.generic):
        return tree.item()
    if type(tree) in PLAIN:
        if type(tree) is int and tree.bit_length() > MOST_BITS:
            raise TypeError(f"{where} is a whole number of {tree.bit_length()} bits; at most {MOST_BITS} can be saved.")
        return tree
    if isinstance(tree, dict):
        for key in tree:
            if type(key) not in (str, int, bool):
                raise TypeError(f"{where} has the key {key!r}; only text and whole numbers can be saved as keys.")
        return {key: tree_of_tensors(value, f"{where}[{key!r}]") for key, value in tree.items()}
    if isinstance(tree, list | tuple | deque):
        values = [tree_of_tensors(value, f"{where}[{i}]") for i, value in enumerate(tree)]
        return tuple(values) if isinstance(tree, tuple) else values
    raise TypeError(f"{where} is a {type(tree).__name__}, which cannot be saved.")


def _encoded_array(array: np.ndarray, where: str) -> dict:
    if array.dtype.hasobject:
        raise TypeError(f"{where} is an array of Python objects, which cannot be saved.")
    data = np.frombuffer(array.tobytes(), dtype=np.uint8).copy()
    return {
        ARRAY: np.lib.format.dtype_to_descr(array.dtype),
        "shape": list(array.shape),
        "data": th.from_numpy(data),
    }


def _decoded(tree: Any, seen: set[int]) -> Any:
    if isinstance(tree, th.Tensor):
        # one number shown a billion times would take the memory of a billion when it is copied
        if tree.nbytes > tree.untyped_storage().nbytes():
            raise ValueError(f"a tensor of {tree.nbytes} bytes, of which it has {tree.untyped_storage().nbytes()}")
        return tree
    if type(tree) in PLAIN:
        return tree
    if type(tree) not in (dict, list, tuple):
        raise ValueError(f"a {type(tree).__name__} in it")
    # nothing that was saved is in two places, and a few lists in lists in lists could make more than fits any memory
    if tree and id(tree) in seen:
        raise ValueError("a part of it stands in two places")
    seen.add(id(tree))
    if isinstance(tree, dict):
        return _decoded_array(tree) if ARRAY in tree else {key: _decoded(value, seen) for key, value in tree.items()}
    return type(tree)(_decoded(value, seen) for value in tree)


def _decoded_array(tree: dict) -> np.ndarray:
    dtype = np.lib.format.descr_to_dtype(tree[ARRAY])
    if dtype.hasobject:
        raise ValueError("an array of Python objects")
    data = tree["data"].numpy()
    expected = math.prod(tree["shape"]) * dtype.itemsize
    if data.nbytes != expected:
        raise ValueError(f"an array of {expected} bytes has {data.nbytes}")
    # frombuffer is read-only and knows nothing of empty buffers
    array = np.empty(tree["shape"], dtype)
    if array.size:
        array.reshape(-1).view(np.uint8)[...] = data
    return array
