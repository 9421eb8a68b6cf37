"""The state of a simulator as bytes: arrays in NumPy's format, everything else as JSON."""

import io
import json
from typing import Any

import numpy as np

_PLAIN = "plain.json"


def to_bytes(state: dict[str, Any]) -> bytes:
    """A state, each entry an array or plain values.

    Raises:
        TypeError: an entry is neither.
    """
    arrays = {key: value for key, value in state.items() if isinstance(value, np.ndarray)}
    plain = json.dumps({key: value for key, value in state.items() if key not in arrays})
    for key, value in arrays.items():
        if value.dtype.hasobject:
            raise TypeError(f"'{key}' of the simulator's state is an array of objects")
    file = io.BytesIO()
    np.savez(file, **{_PLAIN: np.frombuffer(plain.encode(), dtype=np.uint8)}, **arrays)
    return file.getvalue()


def from_bytes(written: bytes) -> dict[str, Any]:
    """The state of `to_bytes`.

    Raises:
        ValueError: it is damaged.
    """
    try:
        with np.load(io.BytesIO(written), allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
        return {**json.loads(arrays.pop(_PLAIN).tobytes()), **arrays}
    except Exception as error:  # of the many kinds that damaged archives raise
        raise ValueError(f"the simulator's state is damaged: {error}") from error
