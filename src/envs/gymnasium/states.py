"""The state of an environment of Gymnasium, read from its attributes and those of its wrappers.

Gymnasium's environments have no method for it. Most small ones consist of numbers, arrays, lists and a random
generator, and these are saved. An environment with anything else, such as the world of a physics engine, is refused.
"""

from collections import deque
from collections.abc import Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

PLAIN = (type(None), bool, int, float, str)
# of wrappers: the arguments they were made with, and the next wrapper
NOT_STATE = ("_saved_kwargs", "env")
SEQUENCES = {"list": list, "tuple": tuple, "deque": deque}


def captured(env: Any) -> list[dict[str, Any]]:
    """The attributes of an environment and of its wrappers, outermost first, in plain values and arrays.

    Raises:
        NotImplementedError: one is neither such a value nor known to stay as it is.
    """
    seen: set[int] = set()
    return [
        {
            name: _encoded(value, f"{type(layer).__name__}.{name}", seen)
            for name, value in vars(layer).items()
            if name not in NOT_STATE and not _constant(value)
        }
        for layer in _layers(env)
    ]


def restore(env: Any, state: list[dict[str, Any]]) -> None:
    """Resume from where `captured` was taken, in an environment made with the same arguments."""
    for layer, attributes in zip(_layers(env), state, strict=True):
        for name, value in attributes.items():
            setattr(layer, name, _decoded(value))


def _layers(env: Any) -> Iterator[Any]:
    while True:
        yield env
        if env is env.unwrapped:
            return
        env = env.env


def _constant(value: Any) -> bool:
    """Whether it is part of an environment's description or drawing, which no step changes."""
    from gymnasium import Space
    from gymnasium.envs.registration import EnvSpec

    kinds = (Space, EnvSpec, FunctionType, BuiltinFunctionType, ModuleType, type)
    return isinstance(value, kinds) or type(value).__module__.partition(".")[0] == "pygame"


def _encoded(value: Any, where: str, seen: set[int]) -> Any:
    if type(value) in PLAIN:
        return value
    if isinstance(value, np.str_):
        return str(value)
    kind = type(value).__name__
    if type(value) in (np.ndarray, list, dict, deque, np.random.Generator):
        if id(value) in seen:  # a copy would no longer change with the other one
            raise NotImplementedError(f"{where} is shared, so the environment cannot be saved")
        seen.add(id(value))
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufSU":
        return _encoded_array(np.asarray(value), "array" if isinstance(value, np.ndarray) else "scalar")
    if type(value) in (list, tuple, deque):
        items = [_encoded(item, where, seen) for item in value]
        return [kind, items, value.maxlen] if kind == "deque" else [kind, items]
    if type(value) is dict:
        pairs = [[_encoded(key, where, seen), _encoded(item, where, seen)] for key, item in value.items()]
        return ["dict", pairs]
    if isinstance(value, np.random.Generator):
        return ["generator", value.bit_generator.state]
    raise NotImplementedError(f"{where} is a {kind}, so the environment cannot be saved")


def _encoded_array(array: np.ndarray, kind: str) -> list:
    # files of states have arrays of numbers only
    numbers = np.array(array) if array.dtype.kind in "biuf" else np.frombuffer(array.tobytes(), np.uint8)
    return [kind, numbers, array.dtype.str, list(array.shape)]


def _decoded(value: Any) -> Any:
    if type(value) in PLAIN:
        return value
    kind, content, *rest = value
    if kind in ("array", "scalar"):
        dtype, shape = rest
        numbers = np.asarray(content)
        array = numbers if numbers.dtype.str == dtype else np.frombuffer(numbers.tobytes(), dtype)
        array = array.reshape(tuple(shape)).copy()
        return array if kind == "array" else array[()]
    if kind == "dict":
        return {_decoded(key): _decoded(item) for key, item in content}
    if kind == "generator":
        generator = np.random.Generator(getattr(np.random, content["bit_generator"])())
        generator.bit_generator.state = content
        return generator
    return SEQUENCES[kind](map(_decoded, content), *rest)
