"""The callbacks that a run names (the key `callbacks`): code of the user's that the loop calls at five moments."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from utils.config.user_modules import imported, own_names
from utils.errors import ConfigError
from utils.nearest import did_you_mean, suggestion
from utils.plain_values import quoted

KEY = "callbacks"
# each with what it is called with
HOOKS: Mapping[str, tuple[str, ...]] = {
    "on_setup": ("run",),
    "on_rollout": ("run", "batch"),
    "on_train_step": ("run", "sample"),
    "on_test": ("run", "figures"),
    "on_end": ("run",),
}
SEE_PAGE = "See docs/python_api.md, 'Callbacks'."


@dataclass(frozen=True)
class Named:
    """An entry of the key: its name, what that is, and the moment at which a function is called ("": of a class)."""

    name: str
    found: Any
    hook: str = ""


def callbacks_of(entries: Sequence[Any]) -> list[Named]:
    """What the entries of the key name, imported and looked at; nothing is called.

    Args:
        entries: "file.py:Name" or "module:Name" each, of a class with methods of `HOOKS`, an object of such a class, or
            a function whose name is one of them; or a mapping {hook: "file.py:function"}.

    Raises:
        ConfigError: there is no such module or name, or it is another kind of object.
    """
    found: list[Named] = []
    for entry in entries:
        if isinstance(entry, Mapping):
            found += [_function(name, hook) for hook, name in entry.items()]
        else:
            found.append(_any(entry))
    return found


def _function(name: Any, hook: str) -> Named:
    if hook not in HOOKS:
        raise ConfigError(f"{KEY}: there is no '{quoted(hook)}'.{suggestion(hook, HOOKS)}")
    function = _object(name)
    if not callable(function):
        raise ConfigError(f"{KEY}: {hook}={quoted(name)} is no function.")
    _require_arguments(name, hook, function)
    return Named(name, function, hook)


def _any(name: Any) -> Named:
    found = _object(name)
    if inspect.isroutine(found):
        own = found.__name__
        if own not in HOOKS:
            raise ConfigError(
                f"{KEY}={quoted(name)}: the name of a function says when it is called.{suggestion(own, HOOKS)} Or say "
                f'it: {KEY}=\'[{{"on_test": "{quoted(name)}"}}]\'.'
            )
        return _function(name, own)
    methods = [method for method in dir(found) if method.startswith("on_") and callable(getattr(found, method))]
    for method in methods:
        if method not in HOOKS:
            raise ConfigError(f"{KEY}={quoted(name)} has '{method}', which is never called.{suggestion(method, HOOKS)}")
        _require_arguments(name, method, getattr(found, method), bound=not isinstance(found, type))
    if not methods:
        raise ConfigError(f"{KEY}={quoted(name)} has none of the methods {', '.join(HOOKS)}. {SEE_PAGE}")
    if isinstance(found, type):
        _require_no_arguments(name, found)
    return Named(name, found)


def _object(name: Any) -> Any:
    module, _, attribute = name.rpartition(":") if isinstance(name, str) else ("", "", "")
    if not module or not attribute:
        raise ConfigError(f"{KEY}={quoted(name)}: expected file.py:Name or module:Name. {SEE_PAGE}")
    found = imported(KEY, module)
    if not hasattr(found, attribute):
        hint = did_you_mean(attribute, own_names(found))
        raise ConfigError(f"{KEY}: '{quoted(module)}' has no '{quoted(attribute)}'.{hint} {KEY}=[] runs without.")
    return getattr(found, attribute)


def _require_arguments(name: str, hook: str, function: Any, bound: bool = True) -> None:
    given = HOOKS[hook]
    try:
        inspect.signature(function).bind(*given, *([] if bound else ["self"]))
    except TypeError as error:
        raise ConfigError(
            f"{KEY}={quoted(name)}: {hook} is called as {hook}({', '.join(given)}): {error}. {SEE_PAGE}"
        ) from None
    except ValueError:  # written in C, it may have no signature
        pass


def _require_no_arguments(name: str, kind: type) -> None:
    try:
        inspect.signature(kind).bind()
    except TypeError as error:
        raise ConfigError(f"{KEY}={quoted(name)}: the class is made without arguments: {error}.") from None
    except ValueError:
        pass
