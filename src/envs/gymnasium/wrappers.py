"""Wrappers of an environment, by their names in a list."""

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from envs.contract.optional import require
from utils.config.user_modules import imported
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import shown

KEY = "env_args.wrappers"


def wrapped(env: Any, wrappers: list[Any] | None) -> Any:
    """The environment in wrappers, the last one outermost.

    Args:
        wrappers: classes of `gymnasium.wrappers` by name, others by "module:Class" or "file.py:Class", or a mapping
            from one of these to its arguments: `[{"ResizeObservation": {"shape": [84, 84]}}, "GrayscaleObservation"]`.

    Raises:
        ConfigError: there is no such class, or it does not take the environment or its arguments.
    """
    for name, kwargs in _entries(wrappers or []):
        wrapper = _class_of(name)
        _require_parameters(name, wrapper, kwargs)
        try:
            env = wrapper(env, **kwargs)
        except Exception as error:
            raise ConfigError(
                f"{KEY}: {shown(name)} does not go round this environment: {type(error).__name__}: "
                f"{shown(str(error), 300)}"
            ) from error
    return env


def _entries(wrappers: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    if not isinstance(wrappers, list):
        raise ConfigError(f"{KEY} is {shown(wrappers)}; it must be a list of wrappers.")
    for entry in wrappers:
        pairs = list(entry.items()) if isinstance(entry, Mapping) else [(entry, {})]
        if len(pairs) != 1 or not isinstance(pairs[0][0], str) or not isinstance(pairs[0][1] or {}, Mapping):
            raise ConfigError(
                f"{KEY}: {shown(entry)} is neither a name nor a mapping from one name to its arguments, as in "
                "{FrameStackObservation: {stack_size: 4}}."
            )
        name, kwargs = pairs[0]
        # YAML has no tuples, which shapes are
        yield name, {key: tuple(value) if isinstance(value, list) else value for key, value in (kwargs or {}).items()}


def _class_of(name: str) -> Any:
    module, _, attribute = name.rpartition(":")
    if not module:
        found = require("gymnasium.wrappers", "env=gymnasium")
        known = [entry for entry in found.__all__ if entry != "vector"]
        if attribute not in known:
            raise ConfigError(f"{KEY}: gymnasium has no wrapper '{shown(name)}'.{suggestion(name, known, 3)}")
        return getattr(found, attribute)
    found = imported(KEY, module)
    if not callable(getattr(found, attribute, None)):
        raise ConfigError(f"{KEY}: {shown(name)}: the module has no class '{shown(attribute)}'.")
    return getattr(found, attribute)


def _require_parameters(name: str, wrapper: Any, kwargs: Mapping[str, Any]) -> None:
    parameters = inspect.signature(wrapper).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    known = list(parameters)[1:]  # the first is the environment
    for key in kwargs:
        if key not in known:
            raise ConfigError(f"{KEY}: {shown(name)} takes no '{shown(key)}'.{suggestion(str(key), known)}")
