"""From the arguments of a call to a checked config."""

import copy
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from checks import check_config
from checks.callbacks import HOOKS, KEY
from checks.machine import require_new_name
from checks.options import completed, declared
from checks.plugins import import_plugins
from checks.registries import REGISTRIES
from cli.compose import Composed, compose_config, taken
from muster.environments import Chosen, chosen, require_here
from muster.given import name_of, registered
from utils.config.merging import config_names, recursive_dict_update
from utils.config.renamed_keys import with_new_names
from utils.errors import ConfigError
from utils.nearest import did_you_mean, suggestion
from utils.plain_values import quoted

# of the run, which has one without declaring it
SEED = "seed"
# arguments in a message
MOST = 30


def new_config(
    algorithm: str | os.PathLike[str], env: Any, callbacks: Any, settings: Mapping[str, Any]
) -> tuple[dict[str, Any], str]:
    """The checked config of a new run, and a note for its log.

    Args:
        algorithm: a name in config/algs, or a path of the user's own file.
        env: see `muster.environments.chosen`; None: the algorithm's file chooses it.
        callbacks: see `named_callbacks`.
        settings: keys of the config; all others are arguments of the environment.

    Raises:
        ConfigError: what is wrong with it; nothing was started.
    """
    if not isinstance(algorithm, str | os.PathLike):
        raise ConfigError(
            f"algorithm={quoted(repr(algorithm))}: expected the name of an algorithm, or the path of a file of yours."
            f"{suggestion('', config_names('algs'))}"
        )
    settings = dict(settings)
    named = named_callbacks(callbacks, settings)
    settings = {key: _plain(key, value) for key, value in settings.items()}
    import_plugins(settings.get("plugins"))
    given = chosen(env, settings) if env is not None else None
    file = None if given is None else given.config if given.file is None else given.file
    composed = compose_config(os.fspath(algorithm), file, settings=settings)
    import_plugins(composed.config.get("plugins"))
    nested = _nested(settings, composed, given or Chosen(composed.config))
    if named:
        nested[KEY] = named
    if given is not None and given.sole:
        _make_sole(nested, settings)
    before, after = taken(composed, nested, new=True)
    checked = check_config(recursive_dict_update(before, after), known=before, own_keys=composed.own_keys)
    require_new_name(checked)
    require_here(checked)
    return checked, composed.note


def _plain(key: str, value: Any) -> Any:
    """A class or function under its name; paths as texts, and NumPy's numbers as Python's."""
    if key in REGISTRIES and callable(value):
        return registered(key, value)
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, Mapping) or not hasattr(value, "__fspath__") else str(value)


def _nested(settings: Mapping[str, Any], composed: Composed, env: Chosen) -> dict[str, Any]:
    """The settings with those of the environment in `env_args`; "a.b" is b within a.

    Raises:
        ConfigError: a setting is neither; the message has the nearest names of both.
    """
    settings = with_new_names(dict(settings), defaults=composed.config)
    merged = recursive_dict_update(copy.deepcopy(composed.config), _parts_of(settings))
    # of the chosen parts, and of all
    own, known = completed(merged), {**composed.config, **declared(merged)}
    nested: dict[str, Any] = {}
    arguments: dict[str, Any] = {}
    for key, value in settings.items():
        head, dot, rest = key.partition(".")
        if key == "env_args":
            recursive_dict_update(arguments, value)
        elif dot and head == "env_args":
            arguments[rest] = value
        elif dot:
            recursive_dict_update(nested, {head: {rest: value}})
        elif key == SEED or key in own or (key in known and key not in env.names()):
            nested[key] = value
        elif env.takes(key):
            arguments[key] = value
        else:
            arguments_of = ", ".join(sorted(env.names())[:MOST]) or "none"
            raise ConfigError(
                f"{quoted(key)}={quoted(value)}: no key of the config and no argument of env={env.name} has this name."
                f"{did_you_mean(key, {*known, *env.names()})} Arguments: {arguments_of}. Keys: docs/reference.md."
            )
    if arguments:
        nested["env_args"] = env.given(arguments)
    return nested


def _parts_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Those that choose parts, which declare keys."""
    return {key: value for key, value in settings.items() if key in REGISTRIES}


def _make_sole(nested: dict[str, Any], settings: Mapping[str, Any]) -> None:
    if settings.get("batch_size_run", 1) != 1:
        raise ConfigError(
            f"batch_size_run={settings['batch_size_run']}: env is one object, on which a run plays one episode after "
            "another. Pass its class or a function that makes it, or leave batch_size_run out."
        )
    nested |= {"batch_size_run": 1, "separate_test_env": False, "test_batch_size": 0}


def named_callbacks(callbacks: Any, settings: dict[str, Any]) -> list[Any]:
    """The callbacks under names, as the key `callbacks` has them; takes those out of `settings` that are there.

    Args:
        callbacks: a name, class, object or function, or a list of such.
        settings: `on_test=function` and its like, or a list of functions.
    """
    listed = [callbacks] if isinstance(callbacks, str | Mapping) or not isinstance(callbacks, Iterable) else callbacks
    named: list[Any] = [one if isinstance(one, str | Mapping) else name_of(one) for one in listed]
    for hook in HOOKS:
        given = settings.get(hook)
        functions: list[Callable[..., Any]] = [
            one for one in (given if isinstance(given, list | tuple) else [given]) if callable(one)
        ]
        if functions:
            del settings[hook]
            named += [{hook: name_of(function)} for function in functions]
    return named
