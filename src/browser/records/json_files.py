"""JSON that may be half-written: what can be read is read, and whether it was whole is told."""

import json
import re
from typing import Any, NamedTuple

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+')
# no file of a run nests as deep as this
_DEEPEST = 200

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
            # a number at the very end may go on behind the cut
            cut, closing = match.end(), "".join(reversed(closers))
            after_key = False
    try:
        return json.loads(text[:cut] + closing)
    except (ValueError, RecursionError):
        return None


class JsonObject:
    """The top level of a JSON object, of which few keys of many are wanted.

    Sacred begins a line, indented by two, for every top-level key; our observer writes every top-level key with its
    value in one line. In these layouts a key is found and decoded without parsing the rest, which is what makes a
    folder of thousands of runs quick to read. Any other layout is parsed in full.
    """

    def __init__(self, data: bytes):
        self._text = data.decode("utf-8", "replace")
        self._values: dict = {}
        self._line_start = _line_start(self._text)
        if self._line_start is not None:
            self.whole = self._text.rstrip().endswith("\n}")
        else:
            value, self.whole = parse(self._text)
            self._values = value if isinstance(value, dict) else {}

    def keys(self) -> list[str]:
        """The top-level keys."""
        if self._line_start is None:
            return list(self._values)
        return [json.loads(key) for key in re.findall(self._line_start + r'("(?:[^"\\\n]|\\.)*"): ', self._text)]

    def get(self, key: str) -> Any:
        """The value of a top-level key; of one that is cut off, what precedes the cut; None if there is none."""
        if self._line_start is None:
            return self._values.get(key)
        mark = f"{self._line_start}{json.dumps(key)}: "
        start = self._text.find(mark)
        if start < 0:
            return None
        start += len(mark)
        try:
            value, end = _DECODER.raw_decode(self._text, start)
        except (ValueError, RecursionError):
            return parse(self._text[start:]).value
        # a number whose end is not in sight may go on behind the cut
        return value if self._text[end - 1] in '"]}' or self._text[end : end + 1] in (",", "\n") else None


def _line_start(text: str) -> str | None:
    """What stands before every top-level key and before nothing else; None if the layout does not tell."""
    if text.startswith('{\n  "'):
        return "\n  "
    one_line_each = text.startswith('{\n"') and "{\n" not in text[2:] and "[\n" not in text
    return "\n" if one_line_each else None


def plain(value: Any) -> Any:
    """Sacred's encodings (jsonpickle) of NumPy scalars and arrays, tuples and sets -> plain values.

    A reference to an object written before ({"py/id": 7}) is None: Sacred sorts keys, after which nobody can tell the
    seventh object.
    """
    if isinstance(value, list):
        return [plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "value" in value and ("dtype" in value or "py/object" in value):
        return plain(value["value"])
    if "values" in value and ("dtype" in value or "py/object" in value):
        return plain(value["values"])
    for wrapper in ("py/tuple", "py/set"):
        if wrapper in value:
            return plain(value[wrapper])
    if "py/type" in value:
        return value["py/type"]
    if "py/id" in value:
        return None
    return {key: plain(item) for key, item in value.items() if not key.startswith("py/")}
