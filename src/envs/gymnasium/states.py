"""The state of an environment of Gymnasium, read from its attributes and those of its wrappers.

Gymnasium's environments have no method for it. Most small ones consist of numbers, arrays, lists and a random
generator, and these are saved. An environment with anything else, such as the world of a physics engine, is refused,
unless it has the methods `state_dict` and `load_state_dict`.
"""

from collections.abc import Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from envs.contract.saving import StateEncoder

# of wrappers: the arguments they were made with, and the next wrapper
NOT_STATE = ("_saved_kwargs", "env")
OWN = "state_dict"


def captured(env: Any) -> list[dict[str, Any]]:
    """The attributes of an environment and of its wrappers, outermost first, in plain values and arrays. Raises
    NotImplementedError: one is neither such a value nor known to stay as it is."""
    encoder = StateEncoder()
    return [
        {OWN: layer.state_dict()}
        if _says_it(layer)
        else {
            name: encoder.encoded(value, f"{type(layer).__name__}.{name}")
            for name, value in vars(layer).items()
            if name not in NOT_STATE and not _constant(value)
        }
        for layer in _layers(env)
    ]


def restore(env: Any, state: list[dict[str, Any]]) -> None:
    """Resume from where `captured` was taken, in an environment made with the same arguments."""
    for layer, attributes in zip(_layers(env), state, strict=True):
        if _says_it(layer):
            layer.load_state_dict(attributes[OWN])
            continue
        for name, value in attributes.items():
            setattr(layer, name, StateEncoder().decoded(value))


def _says_it(layer: Any) -> bool:
    return all(callable(getattr(type(layer), name, None)) for name in (OWN, "load_state_dict"))


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
