"""JSON that may be half-written: what can be read is read, and whether it was whole is reported."""

import json
import re
from itertools import islice
from typing import Any, NamedTuple

from utils.sizes import readable_size

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+')
# no file of a run nests as deep as this
_DEEPEST = 200
_NESTED = (list, dict)
# bytes of which values are made at once: a value takes up to twenty times its text
PARSED = 32 * 2**20
# characters of a text that is cut off in which complete values are looked for
_REPAIRED = 2 * 2**20

_DECODER = json.JSONDecoder()


class Parsed(NamedTuple):
    """A value, and whether the text held all of it; `value` is None when there was nothing."""

    value: Any
    whole: bool


def parse(data: bytes | str) -> Parsed:
    """Parse JSON text (NaN and Infinity too); of text that is cut off, what precedes the cut."""
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    try:
        return Parsed(json.loads(text), True)
    except (ValueError, RecursionError):
        return Parsed(_before_the_cut(text), False)


def _before_the_cut(text: str) -> Any:
    """The longest part that is sure: complete values, with the open brackets closed behind them."""
    closers: list[str] = []
    cut, closing = 0, ""
    after_key = False
    previous_end = 0
    text = text[:_REPAIRED]
    for match in _TOKEN.finditer(text):
        if text[previous_end : match.start()].strip():
            break
        token, previous_end = match.group(), match.end()
        if token in "{[":
            if len(closers) == _DEEPEST:
                break
            closers.append("}" if token == "{" else "]")
            after_key = False
            cut, closing = match.end(), "".join(reversed(closers))
        elif token in "}]":
            if not closers or closers.pop() != token:
                break
            cut, closing = match.end(), "".join(reversed(closers))
        elif token == ":":
            after_key = True
        elif token == ",":
            after_key = False
        elif closers and match.end() < len(text) and (closers[-1] == "]" or after_key):
            # a number at the very end may continue behind the cut
            cut, closing = match.end(), "".join(reversed(closers))
            after_key = False
    try:
        return json.loads(text[:cut] + closing)
    except (ValueError, RecursionError):
        return None


class JsonObject:
    """The top level of a JSON object, of which few keys of many are wanted.

    Sacred starts a line, indented by two, for every top-level key; our observer writes every top-level key with its
    value in one line. In these layouts a key is found and decoded without parsing the rest, which is what makes a
    folder of thousands of runs quick to read, and a file of a hundred megabytes cheap. Any other layout is parsed in
    full.

    Raises:
        OSError: the file is in another layout and longer than PARSED bytes.
    """

    def __init__(self, data: bytes):
        self._data = data
        self._values: dict = {}
        self._line_start = _line_start(data)
        if self._line_start is not None:
            self.whole = data[-64:].rstrip().endswith(b"\n}")
        elif len(data) > PARSED:
            raise OSError(None, f"it is {readable_size(len(data))} long and not in Sacred's layout")
        else:
            value, self.whole = parse(data)
            self._values = value if isinstance(value, dict) else {}

    def keys(self, most: int) -> list[str]:
        """The first `most` of the top-level keys."""
        if self._line_start is None:
            return list(islice(self._values, most))
        found = re.finditer(self._line_start + rb'("(?:[^"\\\n]|\\.)*"): ', self._data)
        return [key for match in islice(found, most) if isinstance(key := parse(match[1]).value, str)]

    def get(self, key: str) -> Any:
        """The value of a top-level key, or None; a truncated value up to the truncation."""
        if self._line_start is None:
            return self._values.get(key)
        mark = self._line_start + json.dumps(key).encode() + b": "
        start = self._data.find(mark)
        if start < 0:
            return None
        start += len(mark)
        stop = self._data.find(self._line_start + b'"', start)
        stop = len(self._data) if stop < 0 else stop
        if stop - start > PARSED:
            return None
        text = self._data[start:stop].decode("utf-8", "replace")
        try:
            value, end = _DECODER.raw_decode(text)
        except (ValueError, RecursionError):
            return parse(text).value
        # a number whose end is not in sight may continue behind the cut
        return value if text[end - 1] in '"]}' or text[end : end + 1] in (",", "\n") else None


def _line_start(data: bytes) -> bytes | None:
    """The bytes before every top-level key and before nothing else; None for other layouts."""
    if data.startswith(b'{\n  "'):
        return b"\n  "
    one_line_each = data.startswith(b'{\n"') and data.find(b"{\n", 2) < 0 and b"[\n" not in data
    return b"\n" if one_line_each else None


def plain(value: Any, deepest: int = _DEEPEST) -> Any:
    """Sacred's encodings (jsonpickle) of NumPy scalars and arrays, tuples and sets -> plain values.

    A reference to an object written before ({"py/id": 7}) is None: Sacred sorts keys, which loses the
    numbering of objects. So are values nested deeper than `deepest`.
    """
    if not isinstance(value, _NESTED):
        return value
    if deepest == 0:
        return None
    if isinstance(value, list):
        return [plain(item, deepest - 1) for item in value]
    if "value" in value and ("dtype" in value or "py/object" in value):
        return plain(value["value"], deepest - 1)
    if "values" in value and ("dtype" in value or "py/object" in value):
        return plain(value["values"], deepest - 1)
    for wrapper in ("py/tuple", "py/set"):
        if wrapper in value:
            return plain(value[wrapper], deepest - 1)
    if "py/type" in value:
        return value["py/type"]
    if "py/id" in value:
        return None
    # a call for each of hundreds of thousands of keys would take longest
    return {
        key: plain(item, deepest - 1) if isinstance(item, _NESTED) else item
        for key, item in value.items()
        if not key.startswith("py/")
    }
