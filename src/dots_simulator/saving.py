"""The side channel by which a trainer saves and restores a simulator; its messages are described in `channels`."""

import io
import json
from collections.abc import Callable
from typing import Any, Protocol
from uuid import UUID

import numpy as np

from dots_simulator.channels import STATE, STATE_KINDS, BodyReader, BodyWriter


class Saved(Protocol):
    """The part of a simulator that every game has."""

    parameters: dict[str, float]
    properties: dict[str, float]
    engine: dict[str, Any]

    def listen(self, channel: UUID, receive: Callable[[bytes], None]) -> None: ...
    def send(self, channel: UUID, body: bytes | bytearray) -> None: ...
    def rows(self) -> dict[str, np.ndarray]: ...
    def set_rows(self, rows: dict[str, np.ndarray]) -> None: ...


# of a state, all that is no array
_PLAIN = "plain.json"
# what the trainer has set
_SETTINGS = ("parameters", "properties", "engine")


class StateChannel:
    """Saves and restores a simulator: its game, what the trainer has set, and the rows that it shows."""

    def __init__(self, simulator: Saved, save: Callable[[], dict[str, Any]], load: Callable[[dict[str, Any]], None]):
        self._simulator, self._save, self._load = simulator, save, load
        self._is_offered = False
        simulator.listen(STATE, self._receive)

    def offer(self) -> None:
        """Tell the trainer, once."""
        if not self._is_offered:
            self._is_offered = True
            self._send("offer")

    def _receive(self, body: bytes) -> None:
        reader = BodyReader(body)
        kind = reader.int32()
        if kind == STATE_KINDS["save"]:
            self._send("saved", self._saved())
        elif kind == STATE_KINDS["load"]:
            self._send("loaded", self._restored(reader.rest()).encode("ascii", "replace"))

    def _send(self, kind: str, content: bytes = b"") -> None:
        self._simulator.send(STATE, BodyWriter().int32(STATE_KINDS[kind]).raw(content).body)

    def _saved(self) -> bytes:
        state = {name: getattr(self._simulator, name) for name in _SETTINGS}
        state |= {f"rows/{name}": block for name, block in self._simulator.rows().items()}
        state |= {f"game/{name}": value for name, value in self._save().items()}
        return to_bytes(state)

    def _restored(self, written: bytes) -> str:
        """Restore all, or say why not."""
        try:
            state = from_bytes(written)
            parts: dict[str, dict[str, Any]] = {"rows": {}, "game": {}}
            for key, value in state.items():
                if key not in _SETTINGS:
                    part, _, name = key.partition("/")
                    parts[part][name] = value
            self._simulator.set_rows(parts["rows"])
            self._load(parts["game"])
            for name in _SETTINGS:
                getattr(self._simulator, name).update(state[name])
        except (ValueError, KeyError) as error:
            return f"{type(error).__name__}: {error}"
        return ""


def to_bytes(state: dict[str, Any]) -> bytes:
    """A state, each entry an array or plain values: arrays in NumPy's format, everything else as JSON.

    Raises:
        TypeError: an entry is neither.
    """
    arrays: dict[str, Any] = {key: value for key, value in state.items() if isinstance(value, np.ndarray)}
    for key, value in arrays.items():
        if value.dtype.hasobject:
            raise TypeError(f"'{key}' of the simulator's state is an array of objects")
    plain = json.dumps({key: value for key, value in state.items() if key not in arrays})
    file = io.BytesIO()
    np.savez(file, **arrays | {_PLAIN: np.frombuffer(plain.encode(), dtype=np.uint8)})
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
