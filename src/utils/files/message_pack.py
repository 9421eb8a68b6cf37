"""MessagePack (msgpack.org), which entity-gym and enn-trainer write: plain values as bytes, and back.

Reading makes nothing but None, booleans, numbers, text, bytes, lists, dicts, and what a hook makes of dicts.
"""

import re
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

DEEPEST = 64
# first byte -> format and length of the number behind it
_NUMBERS = {
    0xCA: ">f",
    0xCB: ">d",
    0xCC: ">B",
    0xCD: ">H",
    0xCE: ">I",
    0xCF: ">Q",
    0xD0: ">b",
    0xD1: ">h",
    0xD2: ">i",
    0xD3: ">q",
}
_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}
# first byte -> kind, and format of its length
_SIZED: dict[int, tuple[type, str]] = {
    0xC4: (bytes, ">B"),
    0xC5: (bytes, ">H"),
    0xC6: (bytes, ">I"),
    0xD9: (str, ">B"),
    0xDA: (str, ">H"),
    0xDB: (str, ">I"),
    0xDC: (list, ">H"),
    0xDD: (list, ">I"),
    0xDE: (dict, ">H"),
    0xDF: (dict, ">I"),
}
# kind -> most that fits into the first byte, that byte for 0, and the bytes for longer ones by the format of the length
_FIRST: dict[type, tuple[int, int, tuple[tuple[str, int], ...]]] = {
    bytes: (-1, 0, ((">B", 0xC4), (">H", 0xC5), (">I", 0xC6))),
    str: (31, 0xA0, ((">B", 0xD9), (">H", 0xDA), (">I", 0xDB))),
    list: (15, 0x90, ((">H", 0xDC), (">I", 0xDD))),
    dict: (15, 0x80, ((">H", 0xDE), (">I", 0xDF))),
}
_WHOLE = (
    (">B", 0xCC),
    (">b", 0xD0),
    (">H", 0xCD),
    (">h", 0xD1),
    (">I", 0xCE),
    (">i", 0xD2),
    (">Q", 0xCF),
    (">q", 0xD3),
)


def packed(value: Any, plain: Callable[[Any], Any] | None = None) -> bytes:
    """A value as MessagePack.

    Args:
        plain: makes a plain value of anything else, perhaps in several steps.

    Raises:
        TypeError: a value is not plain.
        ValueError: a whole number has more than 64 bits, or values are nested too deeply.
    """
    parts: list[bytes] = []
    _pack(value, plain, parts, 0)
    return b"".join(parts)


def unpacked(data: bytes, hook: Callable[[dict], Any] | None = None) -> Any:
    """The value that some MessagePack is.

    Args:
        hook: called with each dict, from the innermost on; its result takes the dict's place.

    Raises:
        ValueError: it is damaged, has bytes behind its end, extension types, or is nested too deeply.
    """
    reader = _Reader(data, hook)
    value = reader.value(0)
    if reader.place != len(data):
        raise ValueError(f"there are {len(data) - reader.place} bytes behind its end")
    return value


def number_type(text: Any) -> np.dtype:
    """NumPy's type of this name, such as "<f4".

    Raises:
        ValueError: it is not that of plain numbers.
    """
    text = text.decode("ascii", "replace") if isinstance(text, bytes) else text
    if not isinstance(text, str) or not re.fullmatch(r"[<>=|]?[biuf]\d{1,2}", text):
        raise ValueError(f"it has an array of {text!r:.40}, not of numbers")
    return np.dtype(text)


def _pack(value: Any, plain: Callable[[Any], Any] | None, parts: list[bytes], depth: int) -> None:
    if depth > DEEPEST:
        raise ValueError(f"values are nested more than {DEEPEST} deep")
    kind = list if isinstance(value, tuple) else type(value)
    if kind is bool or value is None:
        parts.append(bytes([{None: 0xC0, False: 0xC2, True: 0xC3}[value]]))
    elif kind is int:
        parts.append(_whole(value))
    elif kind is float:
        parts.append(b"\xcb" + struct.pack(">d", value))
    elif kind in (str, bytes, bytearray, memoryview):
        raw = value.encode() if kind is str else bytes(value)
        parts += (_length(str if kind is str else bytes, len(raw)), raw)
    elif kind is list:
        parts.append(_length(list, len(value)))
        for inner in value:
            _pack(inner, plain, parts, depth + 1)
    elif kind is dict:
        parts.append(_length(dict, len(value)))
        for key, inner in value.items():
            _pack(key, plain, parts, depth + 1)
            _pack(inner, plain, parts, depth + 1)
    elif plain is not None:
        _pack(plain(value), plain, parts, depth + 1)
    else:
        raise TypeError(f"{type(value).__name__} is no plain value")


def _whole(value: int) -> bytes:
    if -32 <= value < 128:
        return struct.pack(">b", value)
    for form, first in _WHOLE:
        size = struct.calcsize(form) * 8
        least, most = (0, 2**size - 1) if form[1].isupper() else (-(2 ** (size - 1)), 2 ** (size - 1) - 1)
        if least <= value <= most:
            return bytes([first]) + struct.pack(form, value)
    raise ValueError(f"{value} has more than 64 bits")


def _length(kind: type, length: int) -> bytes:
    most, first, longer = _FIRST[kind]
    if length <= most:
        return bytes([first + length])
    for form, byte in longer:
        if length < 2 ** (8 * struct.calcsize(form)):
            return bytes([byte]) + struct.pack(form, length)
    raise ValueError(f"{kind.__name__} of length {length}")


class _Reader:
    def __init__(self, data: bytes, hook: Callable[[dict], Any] | None):
        self._data, self._hook, self.place = data, hook, 0

    def value(self, depth: int) -> Any:
        if depth > DEEPEST:
            raise ValueError(f"values are nested more than {DEEPEST} deep")
        first = self._bytes(1)[0]
        if first < 0x80 or first >= 0xE0:
            return first if first < 0x80 else first - 0x100
        if first < 0xC0:
            if first >= 0xA0:
                return self._sized(str, first & 31, depth)
            return self._sized(dict if first < 0x90 else list, first & 15, depth)
        if first in _CONSTANTS:
            return _CONSTANTS[first]
        if first in _NUMBERS:
            return self._number(_NUMBERS[first])
        if first not in _SIZED:
            raise ValueError("it has an extension type, or is damaged")
        kind, form = _SIZED[first]
        return self._sized(kind, self._number(form), depth)

    def _sized(self, kind: type, length: int, depth: int) -> Any:
        if kind is bytes:
            return self._bytes(length)
        if kind is str:
            return self._bytes(length).decode("utf-8")
        if length > len(self._data) - self.place:  # each value has at least a byte
            raise ValueError("it is truncated")
        if kind is list:
            return [self.value(depth + 1) for _ in range(length)]
        made = {}
        for _ in range(length):
            key = self.value(depth + 1)
            if not isinstance(key, str | bytes | int | float | None):
                raise ValueError("a key is no plain value")
            made[key] = self.value(depth + 1)
        return made if self._hook is None else self._hook(made)

    def _number(self, form: str) -> Any:
        return struct.unpack(form, self._bytes(struct.calcsize(form)))[0]

    def _bytes(self, length: int) -> bytes:
        end = self.place + length
        if end > len(self._data):
            raise ValueError("it is truncated")
        found, self.place = self._data[self.place : end], end
        return found
