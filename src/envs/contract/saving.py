"""The states of environments that can be saved, in plain values and arrays: reading a checkpoint runs no code."""

import random
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

PLAIN = (type(None), bool, int, float, str)
SEQUENCES: dict[str, Callable[..., Any]] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "deque": deque,
}
MUTABLE = (np.ndarray, list, set, dict, deque, np.random.Generator, np.random.RandomState, random.Random)


def state_or_none(env: Any) -> dict | None:
    """`env.state_dict()`, or None if the environment cannot be saved."""
    if not hasattr(env, "state_dict") or not hasattr(env, "load_state_dict"):
        return None
    try:
        return env.state_dict()
    except NotImplementedError:
        return None


@dataclass
class StateEncoder:
    """Turns values into plain ones and arrays of numbers, and back.

    Args:
        module: name of a loaded module whose classes objects may have, which are then their attributes; "": none may.
        words: other modules of such classes, looked up after `module`.
    """

    module: str = ""
    words: tuple[str, ...] = ()
    _seen: set[int] = field(default_factory=set)

    def encoded(self, value: Any, where: str) -> Any:
        """
        Raises:
            NotImplementedError: it cannot be one, or it was encoded before, and a copy would change by itself.
        """
        if type(value) in PLAIN:
            return value
        if isinstance(value, np.str_):
            return str(value)
        kind = type(value).__name__
        own = self._is_own(value)
        if type(value) in MUTABLE or own:
            if id(value) in self._seen:
                raise NotImplementedError(f"{where} is shared, so the environment cannot be saved")
            self._seen.add(id(value))
        if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufSU":
            return _encoded_array(np.asarray(value), "array" if isinstance(value, np.ndarray) else "scalar")
        if type(value) in SEQUENCES.values():
            items = [self.encoded(item, where) for item in value]
            return [kind, items, value.maxlen] if kind == "deque" else [kind, items]
        if type(value) is dict:
            pairs = [[self.encoded(key, where), self.encoded(item, where)] for key, item in value.items()]
            return ["dict", pairs]
        if isinstance(value, np.random.Generator):
            return ["generator", value.bit_generator.state]
        if isinstance(value, np.random.RandomState):
            return ["random_state", list(value.get_state())]
        if type(value) is random.Random:
            version, numbers, gauss = value.getstate()
            return ["random", [version, np.array(numbers, np.uint32), gauss]]
        if isinstance(value, Enum) and self._finds(type(value)):
            return ["enum", type(value).__qualname__, value.name]
        if own:
            attributes = {name: self.encoded(item, f"{kind}.{name}") for name, item in _attributes(value).items()}
            return ["object", type(value).__qualname__, attributes]
        raise NotImplementedError(f"{where} is a {kind}, so the environment cannot be saved")

    def decoded(self, value: Any) -> Any:
        if type(value) in PLAIN:
            return value
        kind, content, *rest = value
        return _DECODERS[kind](self, content, *rest) if kind in _DECODERS else self._sequence(kind, content, *rest)

    def _sequence(self, kind: str, items: list, *rest: Any) -> Any:
        return SEQUENCES[kind](map(self.decoded, items), *rest)

    def _dict(self, pairs: list) -> dict:
        return {self.decoded(key): self.decoded(item) for key, item in pairs}

    def _random(self, state: list) -> random.Random:
        made = random.Random()
        version, numbers, gauss = state
        made.setstate((version, tuple(np.asarray(numbers).tolist()), gauss))
        return made

    def _enum(self, name: str, member: str) -> Enum:
        return self._class(name, Enum)[member]

    def _object(self, name: str, attributes: dict[str, Any]) -> Any:
        cls = self._class(name, object)
        made = object.__new__(cls)
        for key, item in attributes.items():
            object.__setattr__(made, key, self.decoded(item))
        return made

    def _class(self, name: str, base: type) -> Any:
        for module in (self.module, *self.words):
            found: Any = sys.modules[module]
            for part in name.split("."):
                found = getattr(found, part, None)
            if isinstance(found, type) and issubclass(found, base):
                return found
        raise ValueError(f"{self.module} has no class {name}")

    def _finds(self, cls: type) -> bool:
        try:
            return bool(self.module) and self._class(cls.__qualname__, object) is cls
        except ValueError:
            return False

    def _is_own(self, value: Any) -> bool:
        """An object of a class of the module, made of attributes only."""
        cls = type(value)
        return (
            not isinstance(value, Enum | tuple | type)
            and self._finds(cls)
            and all(base.__module__ in (cls.__module__, "builtins") for base in cls.__mro__)
            and not any(isinstance(value, builtin) for builtin in (list, dict, set, str, int, float))
        )


def _attributes(value: Any) -> dict[str, Any]:
    slots = [name for cls in type(value).__mro__ for name in vars(cls).get("__slots__", ())]
    named = {name: getattr(value, name) for name in slots if hasattr(value, name) and not name.startswith("__")}
    return named | getattr(value, "__dict__", {})


def _encoded_array(array: np.ndarray, kind: str) -> list:
    # files of states have arrays of numbers only
    numbers = np.array(array) if array.dtype.kind in "biuf" else np.frombuffer(array.tobytes(), np.uint8)
    return [kind, numbers, array.dtype.str, list(array.shape)]


def _array(_: StateEncoder, content: Any, dtype: str, shape: list[int]) -> np.ndarray:
    numbers = np.asarray(content)
    array = numbers if numbers.dtype.str == dtype else np.frombuffer(numbers.tobytes(), dtype)
    return array.reshape(tuple(shape)).copy()


def _scalar(encoder: StateEncoder, content: Any, dtype: str, shape: list[int]) -> Any:
    return _array(encoder, content, dtype, shape)[()]


def _generator(_: StateEncoder, state: dict) -> np.random.Generator:
    generator = np.random.Generator(getattr(np.random, state["bit_generator"])())
    generator.bit_generator.state = state
    return generator


def _random_state(_: StateEncoder, state: list) -> np.random.RandomState:
    made = np.random.RandomState()
    made.set_state(tuple(state))
    return made


_DECODERS: dict[str, Callable] = {
    "array": _array,
    "scalar": _scalar,
    "dict": StateEncoder._dict,
    "generator": _generator,
    "random_state": _random_state,
    "random": StateEncoder._random,
    "enum": StateEncoder._enum,
    "object": StateEncoder._object,
}
