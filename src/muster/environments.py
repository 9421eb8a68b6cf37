"""What `env=` may be: the name of an environment, or a class, a function or an object of the caller's."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from checks.parts import ChosenParts
from cli.config_files import load_config_file
from envs import REGISTRY
from muster.given import kept, name_of, registered
from utils.config.merging import config_names, config_path
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import quoted
from vector_envs.instances import env_parameters

GYMNASIUM, PETTINGZOO, OWN = "gymnasium", "pettingzoo", "own"
# names of base classes by the first part of their module: neither package has to be there to look
BASES = {
    ("gymnasium", "Env"): GYMNASIUM,
    ("gymnasium", "VectorEnv"): GYMNASIUM,
    ("pettingzoo", "ParallelEnv"): PETTINGZOO,
    ("pettingzoo", "AECEnv"): PETTINGZOO,
}


@dataclass
class Chosen:
    """An environment: the part of a config that chooses it.

    Attributes:
        config: as a file of config/envs has it: "env", "env_args" and perhaps other keys.
        maker: of the caller's code, what takes `env_args.kwargs`; None: there is no such code.
        sole: whether it is one object, of which a run can have one only.
        file: the name of the file, if it is one.
    """

    config: dict[str, Any]
    maker: Callable[..., Any] | None = None
    sole: bool = False
    file: str | None = None

    @property
    def name(self) -> str:
        """In the registry of environments."""
        return str(self.config["env"])

    def takes(self, key: str) -> bool:
        """Whether the environment, or the caller's code, has an argument of this name."""
        known = env_parameters(REGISTRY[self.name])
        return known is None or key in known or self._maker_takes(key)

    def given(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """These arguments as `env_args`: those that the caller's code takes are in its `kwargs`."""
        known = env_parameters(REGISTRY[self.name])
        own = {key: value for key, value in arguments.items() if known is not None and key not in known}
        if self.maker is None or not own:
            return dict(arguments)
        rest = {key: value for key, value in arguments.items() if key not in own}
        return {**rest, "kwargs": {**(rest.get("kwargs") or {}), **own}}

    def names(self) -> Iterable[str]:
        """The arguments that it takes, as far as they are known."""
        return {*(env_parameters(REGISTRY[self.name]) or ()), *(_parameters(self.maker) if self.maker else ())}

    def _maker_takes(self, key: str) -> bool:
        parameters = _parameters(self.maker) if self.maker is not None else {}
        return key in parameters or any(one.kind is one.VAR_KEYWORD for one in parameters.values())


def chosen(env: Any, arguments: Mapping[str, Any] | None = None) -> Chosen:
    """The environment that `env` is.

    Args:
        env: the name of a file of config/envs, a path of such a file, or a name in the registry; or a class, a function
            or an object: of Gymnasium's, of PettingZoo's, or with the methods of `MultiAgentEnv` or `fields()`.
        arguments: of the caller, which a function takes that has to be called to know what it makes.

    Raises:
        ConfigError: there is none of that name, or it is no environment.
    """
    if isinstance(env, str):
        if env in REGISTRY and env not in config_names("envs"):
            return Chosen({"env": env, "env_args": {}})
        return Chosen(load_config_file(config_path(env, "envs")), file=env)
    if isinstance(env, type):
        return _of(env, _kind(env), env)
    if (kind := _kind(type(env))) is not None:
        return _of(env, kind, _same(env, kind), sole=True)
    if callable(env):
        return _of_function(env, arguments or {})
    raise ConfigError(f"env={quoted(repr(env))}: {_expected()}")


def _of(env: Any, kind: str | None, maker: Callable[..., Any], sole: bool = False) -> Chosen:
    if kind is None:
        raise ConfigError(f"env={quoted(repr(env))}: {_expected()}")
    if kind == OWN:
        return Chosen({"env": _entered(env, maker), "env_args": {}}, sole=sole)
    base = load_config_file(config_path(kind, "envs"))
    key = name_of(maker) if maker is env else f"muster.given:{kept(maker)}"
    return Chosen({**base, "env_args": {"key": key}}, maker, sole)


def _of_function(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Chosen:
    said = inspect.signature(function).return_annotation
    kind = _kind(said) if isinstance(said, type) else None
    if kind is not None:
        return _of(function, kind, function)
    own = {key: value for key, value in arguments.items() if key in _parameters(function)}
    try:
        made = function(**own)
    except Exception as error:
        raise ConfigError(f"env={quoted(repr(function))} cannot be called: {type(error).__name__}: {error}") from error
    kind, said = _kind(type(made)), type(made)
    if callable(getattr(made, "close", None)):
        made.close()
    if kind is None:
        raise ConfigError(f"env={quoted(repr(function))} returns {quoted(repr(made))}: {_expected()}")
    if kind == OWN:
        return _of(function, kind, function)
    return _of(function, kind, _annotated(function, said))


def _entered(env: Any, maker: Callable[..., Any]) -> str:
    """The name of an environment of PyMARL's contract, or with `fields()`, in the registry."""
    name = registered("env", maker)
    entry = REGISTRY.entry(name)
    if not entry.declared:
        # in this process unless the config says otherwise: a class of a notebook cannot be imported in another one
        REGISTRY.declare(name, entry.target, entry.description, light=True)
    return name


def _kind(cls: type) -> str | None:
    for base in cls.__mro__:
        if found := BASES.get((base.__module__.partition(".")[0], base.__name__)):
            return found
    steps = callable(getattr(cls, "step", None)) and callable(getattr(cls, "reset", None))
    if steps and hasattr(cls, "possible_agents"):
        return PETTINGZOO
    return OWN if steps and (hasattr(cls, "get_env_info") or hasattr(cls, "fields")) else None


def _same(env: Any, kind: str) -> Callable[..., Any]:
    """A function that makes this object, which is not closed: it is the caller's."""
    if kind == GYMNASIUM:
        from gymnasium import Wrapper

        _ = env.spec  # which wrappers keep from now on: `gymnasium.make` gives what is inside another one
        spec = env.unwrapped.spec

        class Kept(Wrapper[Any, Any, Any, Any]):
            def close(self) -> None:
                """The caller closes it, and has its spec back."""
                env.unwrapped.spec = spec

        made: Any = Kept(env)
    else:
        made = _Kept(env)

    def make(seed: int | None = None) -> Any:
        if kind == OWN and seed is not None and callable(getattr(env, "seed", None)):
            env.seed(seed)
        return made

    plain = make if kind == OWN else partial(make, None)
    # not that of a wrapper
    return _annotated(plain, type(env), type(getattr(env, "unwrapped", env)).__name__)


class _Kept:
    """Stands for an object that is not to be closed."""

    def __init__(self, env: Any):
        self._env = env

    def __getattr__(self, name: str) -> Any:
        return getattr(self._env, name)

    def close(self) -> None:
        """The caller closes it."""


def _annotated(function: Callable[..., Any], kind: type, name: str = "") -> Callable[..., Any]:
    """The same function, which says what it makes: that is how Muster tells the kinds of environments."""

    def make(**arguments: Any) -> Any:
        return function(**arguments)

    parameters = list(inspect.signature(function).parameters.values())
    make.__signature__ = inspect.Signature(parameters, return_annotation=kind)  # type: ignore[attr-defined]
    make.__name__ = name or getattr(function, "__name__", "function")
    make.__qualname__ = make.__name__
    make.__doc__ = getattr(function, "__doc__", None)
    return make


def _parameters(maker: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(maker).parameters
    except (TypeError, ValueError):
        return {}


def _expected() -> str:
    names = suggestion("", config_names("envs"))
    return (
        "expected the name of an environment, or a class, a function or an object: of Gymnasium (Env), of PettingZoo "
        f"(ParallelEnv, AECEnv), or with the methods of MultiAgentEnv (docs/own_environment.md).{names}"
    )


def require_here(config: Mapping[str, Any]) -> None:
    """Refuse processes of environments that only this process has.

    Raises:
        ConfigError: the environment has no name by which others could import it.
    """
    key = config["env_args"].get("key") if isinstance(config["env_args"], Mapping) else None
    if not (isinstance(key, str) and key.startswith("muster.given:")):
        return
    reason = {"vector_env": ChosenParts(config).name("vector_env"), "collection": config["collection"]}
    for where, what in reason.items():
        if what in ("workers", "collectors"):
            raise ConfigError(
                f"{where}={what}: other processes cannot import env={key.partition(':')[2]}, which has no module. Put "
                f"it into a file and import it, or leave {where} out."
            )
