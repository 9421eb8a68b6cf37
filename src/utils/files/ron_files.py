"""RON, Rusty Object Notation, read safely: the configs and states of enn-trainer, with errors that name the place."""

import re
from pathlib import Path
from typing import Any, NoReturn

from utils.errors import ConfigError
from utils.files.regular_files import read_text
from utils.plain_values import DEEPEST, quoted

LARGEST_FILE = 2**20
_SPACE = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER = re.compile(r"[-+]?(?:0[xob][0-9a-fA-F_]+|inf|NaN|(?:\d[\d_]*)?\.?\d[\d_]*\.?(?:[eE][-+]?\d+)?)")
_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_RAW = re.compile(r'r(#*)"(.*?)"\1', re.DOTALL)
_CHARACTER = re.compile(r"'((?:[^'\\]|\\.))'")
_ESCAPE = re.compile(r"\\(u\{[0-9a-fA-F]{1,6}\}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\", '"': '"', "'": "'"}
_CONSTANTS = {"true": True, "false": False, "None": None, "inf": float("inf"), "NaN": float("nan")}


class Struct(dict):
    """A struct: its fields by name, and in `name` its own, which may be empty; `Unit` and `Unit()` have no fields."""

    def __init__(self, name: str, fields: dict[str, Any]):
        super().__init__(fields)
        self.name = name


def load_ron(path: str | Path) -> Any:
    """The value in a RON file: structs as `Struct`, maps as dicts, lists and tuples as lists; `Some(x)` is x.

    Raises:
        ConfigError: it cannot be read, or is no RON; the message has the line and column.
    """
    text = read_text(path, LARGEST_FILE)
    return _Reader(path, text).whole()


class _Reader:
    def __init__(self, path: str | Path, text: str):
        self._path, self._text, self._at, self._depth = path, text, 0, 0

    def whole(self) -> Any:
        self._skip()
        while self._text.startswith("#!", self._at):  # extensions of the notation, in brackets
            self._at = self._text.find("]", self._at) + 1 or len(self._text)
            self._skip()
        value = self._value()
        self._skip()
        if self._at < len(self._text):
            self._refuse(f"{self._next()} stands behind the end")
        return value

    def _value(self) -> Any:
        self._skip()
        self._depth += 1
        if self._depth > DEEPEST:
            self._refuse("nested too deeply")
        try:
            for form, make in ((_RAW, lambda found: found[2]), (_TEXT, self._unescaped), (_CHARACTER, self._unescaped)):
                if found := self._matched(form):
                    return make(found)
            if self._text.startswith("[", self._at):
                return self._items("[", "]")
            if self._text.startswith("{", self._at):
                return self._entries("{", "}", self._value)
            if self._text.startswith("(", self._at):
                return self._struct("")
            if name := self._matched(_NAME):
                return self._named(name[0])
            if number := self._matched(_NUMBER):
                return self._number(number[0])
            self._refuse(f"expected a value, found {self._next()}")
        finally:
            self._depth -= 1

    def _named(self, name: str) -> Any:
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        self._skip()
        if not self._text.startswith("(", self._at):
            return Struct(name, {})
        value = self._struct(name)
        return value[0] if name == "Some" and isinstance(value, list) and len(value) == 1 else value

    def _struct(self, name: str) -> Any:
        """What is in parentheses: a struct if its first field has a name, else a tuple."""
        before = self._at
        self._expect("(")
        self._skip()
        if self._text.startswith(")", self._at):
            self._expect(")")
            return Struct(name, {})
        first = self._matched(_NAME)
        self._skip()
        is_struct = bool(first) and self._text.startswith(":", self._at)
        self._at = before
        return Struct(name, self._entries("(", ")", self._field)) if is_struct else self._items("(", ")")

    def _field(self) -> str:
        self._skip()
        if not (name := self._matched(_NAME)):
            self._refuse(f"expected the name of a field, found {self._next()}")
        return name[0]

    def _items(self, opening: str, closing: str) -> list[Any]:
        items: list[Any] = []
        self._expect(opening)
        while not self._closed(closing):
            items.append(self._value())
            self._comma(closing)
        return items

    def _entries(self, opening: str, closing: str, key_of: Any) -> dict[Any, Any]:
        entries: dict[Any, Any] = {}
        self._expect(opening)
        while not self._closed(closing):
            self._skip()
            place, key = self._at, key_of()
            if isinstance(key, dict | list) or key in entries:
                self._at = place
                self._refuse(
                    "a key is no plain value" if isinstance(key, dict | list) else f"{quoted(key)} is there twice"
                )
            self._expect(":")
            entries[key] = self._value()
            self._comma(closing)
        return entries

    def _number(self, text: str) -> int | float:
        digits = text.replace("_", "")
        try:
            return int(digits, 0) if re.fullmatch(r"[-+]?(0[xob].*|0|[1-9]\d*)", digits) else float(digits)
        except ValueError:
            self._refuse(f"{quoted(text)} is no number")

    def _unescaped(self, found: re.Match) -> str:
        def one(escape: re.Match) -> str:
            code = escape[1]
            if len(code) > 1:
                try:
                    return chr(int(code.strip("ux{}"), 16))
                except (ValueError, OverflowError):
                    self._refuse(f"\\{code} is no character")
            if code not in _ESCAPES:
                self._refuse(f"a text has {quoted(escape[0])}, which is no escape sequence")
            return _ESCAPES[code]

        return _ESCAPE.sub(one, found[1])

    def _closed(self, closing: str) -> bool:
        self._skip()
        if self._text.startswith(closing, self._at):
            self._at += 1
            return True
        return False

    def _comma(self, closing: str) -> None:
        self._skip()
        if self._text.startswith(",", self._at):
            self._at += 1
        elif not self._text.startswith(closing, self._at):
            self._refuse(f"expected ',' or '{closing}', found {self._next()}")

    def _expect(self, sign: str) -> None:
        self._skip()
        if not self._text.startswith(sign, self._at):
            self._refuse(f"expected '{sign}', found {self._next()}")
        self._at += 1

    def _matched(self, form: re.Pattern) -> re.Match | None:
        if found := form.match(self._text, self._at):
            self._at = found.end()
        return found

    def _skip(self) -> None:
        if found := _SPACE.match(self._text, self._at):
            self._at = found.end()

    def _next(self) -> str:
        return "the end of the file" if self._at >= len(self._text) else f"'{quoted(self._text[self._at :][:12])}'"

    def _refuse(self, problem: str) -> NoReturn:
        line = self._text.count("\n", 0, self._at) + 1
        column = self._at - (self._text.rfind("\n", 0, self._at) + 1) + 1
        raise ConfigError(f"{self._path}, line {line}, column {column}: invalid RON: {problem}.")
