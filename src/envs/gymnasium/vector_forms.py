"""Environments of others that are many copies themselves: `gymnasium.vector`'s form, by id or class, and EnvPool's."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from envs.contract.arguments import not_made, require_parameters
from envs.contract.optional import require
from envs.families import installing
from envs.gymnasium import tasks
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import quoted

ENVPOOL, MODE = "envpool:", "autoreset_mode"
# the arguments of what makes copies: their number, and the most steps of an episode
COPIES, LIMIT = "num_envs", "max_episode_steps"


class Autoreset(Enum):
    """When a copy whose episode has ended starts the next one, in Gymnasium's words."""

    NEXT_STEP = "NextStep"  # the next step is its reset: the action is ignored, and it returns the first observation
    SAME_STEP = "SameStep"  # at once: the step returns the first observation, and the last one is in the info
    DISABLED = "Disabled"  # when `reset` is called with a mask of copies


class Form(NamedTuple):
    """A vectorised environment of others.

    Args:
        env: with the interface of `gymnasium.vector.VectorEnv`.
        mode: when its copies restart.
        by_mask: `reset` takes a mask of the copies that it means.
        seeds: what its first reset is given.
        limit: the most steps of an episode.
        limits_itself: it is not known to play longer episodes.
    """

    env: Any
    mode: Autoreset
    by_mask: bool
    seeds: int | list[int] | None
    limit: int
    limits_itself: bool


def is_vectorised(key: Any, vectorised: bool = False) -> bool:
    """Whether the key names copies: by `vectorised`, EnvPool's, or a class that is a `VectorEnv`. Of a key that names
    nothing it is False."""
    if vectorised or str(key).startswith(ENVPOOL):
        return True
    if ":" not in str(key):
        return False
    try:
        return _is_class_of_copies(tasks.task_of(str(key)).entry_point)
    except ConfigError:
        return False


def _is_class_of_copies(maker: Any) -> bool:
    vector = require("gymnasium.vector", "env=gymnasium")
    return isinstance(maker, type) and issubclass(maker, vector.VectorEnv)


def made(
    key: str, copies: int, time_limit: int | None, kwargs: Mapping[str, Any] | None, seeds: Sequence[int | None] | None
) -> Form:
    """So many copies.

    Raises:
        ConfigError: there is no such form, it does not take `kwargs`, or does not say when its copies restart.
    """
    where, kwargs = f"env_args.key={quoted(key)}", dict(kwargs or {})
    for word, instead in ((COPIES, "batch_size_run"), (LIMIT, "env_args.time_limit")):
        if word in kwargs:
            raise ConfigError(f"env_args.kwargs.{word}: set {instead} instead.")
    known = None if seeds is None or None in seeds else [int(seed) for seed in seeds if seed is not None]
    if key.startswith(ENVPOOL):
        return _of_envpool(key, copies, time_limit, kwargs, known, where)
    task = tasks.task_of(key)
    maker = _maker_of(task, where)
    takes = inspect.signature(maker).parameters
    limit = time_limit or task.max_episode_steps
    words = {LIMIT: limit} if limit and (LIMIT in takes or task.vector_entry_point is not None) else {}
    require_parameters(f"env_args.kwargs: {key}", maker, kwargs)
    env = _attempted(where, maker, {**task.kwargs, **kwargs, COPIES: copies, **words}, kwargs)
    _require_vector_env(env, copies, where)
    vector = require("gymnasium.vector", "env=gymnasium")
    of_copies = isinstance(env.unwrapped, vector.SyncVectorEnv | vector.AsyncVectorEnv)
    mode = _mode_of(env, where)
    limit = limit or _limit_of(env)
    if limit is None:
        raise ConfigError(
            f"env_args.time_limit: {where} sets no limit for its episodes. Set the most steps that an episode may "
            "have, such as env_args.time_limit=200."
        )
    first = known if of_copies or known is None else known[0]
    # what does not say it may do so all the same
    itself = bool(words) or (_limit_of(env) or limit) <= limit
    return Form(env, mode, of_copies or mode is Autoreset.DISABLED, first, limit, itself)


def _of_envpool(
    key: str, copies: int, time_limit: int | None, kwargs: Mapping[str, Any], seeds: list[int] | None, where: str
) -> Form:
    name = key.removeprefix(ENVPOOL)
    envpool: Any = require("envpool", where, str(installing("envpool")))
    if name not in (known := envpool.list_all_envs()):
        raise ConfigError(f"{where}: EnvPool has no environment '{quoted(name)}'.{suggestion(name, known, 3)}")
    words = {} if time_limit is None else {LIMIT: time_limit}
    given = {"env_type": "gymnasium", COPIES: copies, **words, **({} if seeds is None else {"seed": seeds}), **kwargs}
    env = _attempted(where, lambda **words: envpool.make(name, **words), given, kwargs)
    _require_vector_env(env, copies, where)
    return Form(env, Autoreset.NEXT_STEP, False, None, int(env.config[LIMIT]), True)


def _maker_of(task: Any, where: str) -> Callable[..., Any]:
    """What makes copies: the vectorised form of an id, or a class or function that takes their number."""
    registration = require("gymnasium.envs.registration", "env=gymnasium")
    for maker in (task.vector_entry_point, task.entry_point):
        try:
            found = registration.load_env_creator(maker) if isinstance(maker, str) else maker
        except ImportError as error:
            raise ConfigError(
                f"{where} needs the package '{error.name}', which is not installed. "
                f"Install it with: pip install {error.name}"
            ) from None
        if found is not None and COPIES in inspect.signature(found).parameters:
            return found
    having = [name for name, one in require("gymnasium", where).registry.items() if one.vector_entry_point]
    raise ConfigError(
        f"env_args.vectorised=True: {where} has no vectorised form (vector_entry_point), nor does what makes it take "
        f"{COPIES}. These have one: {', '.join(having)}. Others are played copy by copy (vectorised=False)."
    )


def _attempted(where: str, maker: Callable[..., Any], words: Mapping[str, Any], given: Mapping[str, Any]) -> Any:
    try:
        return maker(**words)
    except ConfigError:
        raise
    except Exception as error:
        raise not_made(where, given, error) from error


def _require_vector_env(env: Any, copies: int, where: str) -> None:
    lacking = [name for name in ("single_observation_space", "single_action_space") if not hasattr(env, name)]
    if lacking or getattr(env, COPIES, None) != copies:
        found = f"has no {lacking[0]}" if lacking else f"has {quoted(getattr(env, COPIES, None))} copies, not {copies}"
        raise ConfigError(f"{where} is no gymnasium.vector.VectorEnv of {copies} copies: it {found}.")


def _mode_of(env: Any, where: str) -> Autoreset:
    said = (getattr(env, "metadata", None) or {}).get(MODE)
    value = getattr(said, "value", said)
    for mode in Autoreset:
        if value in (mode.value, mode.name):
            return mode
    raise ConfigError(
        f"{where}: its metadata['{MODE}'] is {quoted(said)}; it must be one of gymnasium.vector.AutoresetMode "
        f"({', '.join(mode.name for mode in Autoreset)}), since what a step returns after an end depends on it."
    )


def _limit_of(env: Any) -> int | None:
    """The steps of an episode, as the environment, or its first copy, says."""
    copies = getattr(env.unwrapped, "envs", None)
    for one in (env, *(copies[:1] if isinstance(copies, list) else [])):
        for said in (getattr(one, LIMIT, None), getattr(getattr(one, "spec", None), LIMIT, None)):
            if isinstance(said, int):
                return said
    return None


def why_together(key: Any, time_limit: int | None, kwargs: Mapping[str, Any] | None) -> str:
    """Why copies cannot restart while others play, after "because"; "": they can. Raises ConfigError as `made`."""
    form = made(key, 1, time_limit, kwargs, None)
    form.env.close()
    if form.by_mask:
        return ""
    if form.mode is Autoreset.SAME_STEP:
        return "it restarts a copy in the step in which its episode ends (autoreset_mode SAME_STEP), and not on its own"
    if not form.limits_itself:
        return f"its own episodes are longer than env_args.time_limit={form.limit}, and it takes no {LIMIT}"
    return ""
