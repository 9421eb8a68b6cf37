"""The environments that Gymnasium knows by an id, in wrappers, and clear errors for what cannot be made here."""

import os
import re
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

from envs.contract.arguments import in_words, not_made, require_parameters
from envs.contract.optional import require
from envs.contract.reaches import OF_ALL, before_colon, importing, is_here, nowhere
from envs.families import installing, registering
from utils.config.reach import MODULE, Reach, holds_text
from utils.config.user_modules import imported, own_names
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import quoted

SEE_LIST = ", which python src/main.py --list gymnasium shows"
# gymnasium's extras, by a part of the module that an environment lies in
EXTRAS = {".mujoco.": "mujoco", ".box2d.": "box2d", ".phys2d.": "jax", ".tabular.": "jax"}
WRAPPERS = "env_args.wrappers"
# of the wrapper `TimeLimit`; in the `spec` of one that is wrapped again, wrappers would keep the new id
OF_TIME_LIMIT = "_max_episode_steps"
# ids of dm_control's suite, and those of Digideep for them
DM_CONTROL = re.compile(r"dm_control/.*|DMBench\w*-v0")


def registered() -> tuple[str, ...]:
    return tuple(require("gymnasium", "env=gymnasium").registry)


def task_of(key: str) -> Any:
    """Gymnasium's `EnvSpec` of an id, which may name a module or file that registers it: "module:Name-v0",
    "file.py:Name-v0"; or of a class, or a function that makes one, in a module or file: "file.py:Class". Raises
    ConfigError: there is no such id, or no such module."""
    gymnasium = require("gymnasium", "env=gymnasium")
    module, _, name = key.rpartition(":")
    where, ours, found = f"env_args.key={quoted(key)}", "gymnasium", None
    if module and (command := installing(module)) is not None and not is_here(module):
        found = require(module, where, command)
    elif module:
        found = imported(where, module)
    elif name not in gymnasium.registry and (family := registering(name)) is not None:
        # registers it
        found = require(family.needs[0], where, family.install)
    if found is not None:
        ours = f"gymnasium, with {getattr(found, '__file__', None) or module},"
        if name not in gymnasium.registry and callable(maker := getattr(found, name, None)):
            return gymnasium.envs.registration.EnvSpec(f"{name}-v0", entry_point=maker)
    if name not in gymnasium.registry and DM_CONTROL.fullmatch(name):
        from envs.gymnasium import dm_control

        return dm_control.task_of(name)
    if name not in gymnasium.registry:
        own = [] if found is None else [*own_names(found), *_registered_by(found)]
        choices = suggestion(name, own, 5) if own else suggestion(name, gymnasium.registry, 3, SEE_LIST)
        raise ConfigError(f"env_args.key: {ours} has no environment '{quoted(name)}'.{choices}")
    return gymnasium.registry[name]


def _registered_by(module: ModuleType) -> list[str]:
    """The ids of environments that lie in a module, or in one below it."""
    found = require("gymnasium", "env=gymnasium").registry.items()
    places = {
        name: spec.entry_point if isinstance(spec.entry_point, str) else getattr(spec.entry_point, "__module__", "")
        for name, spec in found
    }
    return [name for name, place in places.items() if re.split(r"[.:]", place or "")[0] == module.__name__]


def limited(env: Any, key: str, time_limit: int | None) -> tuple[Any, int]:
    """The environment in its wrappers, and the most steps of an episode: `time_limit`, what the id is registered with,
    that of a `TimeLimit` among the wrappers, as of an object or a function that is no id, or what the environment
    itself says in `max_steps`, as those of MiniGrid do. Raises ConfigError: none of these."""
    limit = time_limit if time_limit is not None else task_of(key).max_episode_steps
    if limit is None and env.has_wrapper_attr(OF_TIME_LIMIT):
        limit = env.get_wrapper_attr(OF_TIME_LIMIT)
    if limit is not None:
        return env, limit
    own = getattr(env.unwrapped, "max_steps", None)
    if isinstance(own, int) and own > 0:
        # where the environment does not keep to it, its episodes end all the same
        return require("gymnasium.wrappers", "env=gymnasium").TimeLimit(env, own), own
    raise ConfigError(
        f"env_args.time_limit: gymnasium sets no limit for the episodes of {key}. Set the most steps that an "
        "episode may have, such as env_args.time_limit=200."
    )


def made(key: str, time_limit: int | None, kwargs: dict[str, Any] | None) -> Any:
    """The environment, in gymnasium's wrappers. Raises ConfigError: it cannot be made, as packages are missing or
    `kwargs` do not fit."""
    # pygame, which many of them draw with, greets on standard output otherwise
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    gymnasium, task, kwargs = require("gymnasium", "env=gymnasium"), task_of(key), dict(kwargs or {})
    try:
        if "max_episode_steps" in kwargs:
            raise ConfigError("env_args.kwargs.max_episode_steps: set env_args.time_limit instead.")
        require_parameters(f"env_args.kwargs: {key}", _creator(task), kwargs)
        # Muster has checks of its own
        return gymnasium.make(task, max_episode_steps=time_limit, disable_env_checker=True, **kwargs)
    except ConfigError:
        raise
    except Exception as error:
        extra = next((extra for part, extra in EXTRAS.items() if part in str(task.entry_point)), "")
        if extra and isinstance(error, ImportError | gymnasium.error.DependencyNotInstalled):
            raise ConfigError(f"env_args.key={key} needs packages that are not installed. {_install(extra)}") from None
        missing = f". Install it with: pip install {error.name}" if isinstance(error, ModuleNotFoundError) else ""
        raise ConfigError(f"{not_made(f'env_args.key={key}', kwargs, error)}{missing}") from error


def _creator(task: Any) -> Any:
    creator = task.entry_point
    if isinstance(creator, str):
        creator = require("gymnasium.envs.registration", "env=gymnasium").load_env_creator(creator)
    return creator


def _install(extra: str) -> str:
    return f'Install them with: pip install "gymnasium[{extra}]"'


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
        require_parameters(f"{WRAPPERS}: {quoted(name)}", wrapper, kwargs, before=1)
        try:
            env = wrapper(env, **kwargs)
        except Exception as error:
            raise ConfigError(
                f"{WRAPPERS}: {quoted(name)} does not go round this environment: {in_words(error)}"
            ) from error
    return env


def _entries(wrappers: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    if not isinstance(wrappers, list):
        raise ConfigError(f"{WRAPPERS} is {quoted(wrappers)}; it must be a list of wrappers.")
    for entry in wrappers:
        pairs = list(entry.items()) if isinstance(entry, Mapping) else [(entry, {})]
        if len(pairs) != 1 or not isinstance(pairs[0][0], str) or not isinstance(pairs[0][1] or {}, Mapping):
            raise ConfigError(
                f"{WRAPPERS}: {quoted(entry)} is neither a name nor a mapping from one name to its arguments, as in "
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
            raise ConfigError(f"{WRAPPERS}: gymnasium has no wrapper '{quoted(name)}'.{suggestion(name, known, 3)}")
        return getattr(found, attribute)
    found = imported(WRAPPERS, module)
    if not callable(getattr(found, attribute, None)):
        choices = suggestion(attribute, own_names(found), 5)
        raise ConfigError(f"{WRAPPERS}: {quoted(name)}: the module has no class '{quoted(attribute)}'.{choices}")
    return getattr(found, attribute)


def _are_own(wrappers: Any, beside: Mapping[str, Any]) -> bool:
    """Whether they are Gymnasium's, by their names, with numbers alone: a text may name a folder, or a module."""
    if not isinstance(wrappers, list | tuple):
        return False
    pairs = [pair for one in wrappers for pair in (one.items() if isinstance(one, Mapping) else [(one, None)])]
    return not any(":" in name or holds_text(kwargs) for name, kwargs in pairs)


REACHES = {
    **OF_ALL,
    **importing("key", before_colon),
    **nowhere("time_limit infos observe observation_key words"),
    "wrappers": Reach(MODULE.what, _are_own),
}
