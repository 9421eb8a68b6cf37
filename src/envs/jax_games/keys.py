"""What `env_args.key` names: scenarios of SMAX, other environments of JaxMARL, Jumanji's, and files of the user's."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from envs.contract.arguments import not_made
from envs.contract.reaches import before_colon
from envs.families import is_there
from envs.jax_games import jaxmarl, jumanji
from envs.jax_games.game import Game
from envs.jax_games.making import Package, described, limit_of
from envs.jax_games.options import JaxOptions
from envs.jax_games.packages import jax_for
from utils.config.user_modules import imported
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import quoted


def game_of(options: JaxOptions) -> Game:
    """The environment of these options.

    `smax-<scenario>`: a battle of SMAX against its scripted enemies. `jaxmarl:<id>`: any environment of JaxMARL.
    `jumanji:<id>`: one of Jumanji's for several agents. `module:Name`, `file.py:Name`: a class, or a function that
    makes an environment, with JaxMARL's or Jumanji's interface.

    Raises:
        ConfigError: there is no such environment, its package is missing, or it does not take the arguments.
    """
    key = str(options.key)
    where = f"env_args.key={quoted(key)}"
    if key.startswith(jaxmarl.SMAX):
        package = jaxmarl.scenario(key.removeprefix(jaxmarl.SMAX), where)
    elif key.startswith(jaxmarl.PREFIX):
        package = jaxmarl.registered(key.removeprefix(jaxmarl.PREFIX), where)
    elif key.startswith(jumanji.PREFIX):
        package = jumanji.registered(key.removeprefix(jumanji.PREFIX), where)
    elif ":" in key:
        package = _of_user(key, where)
    else:
        known = [jaxmarl.SMAX + "3m", jaxmarl.PREFIX + "overcooked", jumanji.PREFIX + "Cleaner-v0"]
        raise ConfigError(
            f"{where}: a key begins with {jaxmarl.SMAX}, {jaxmarl.PREFIX}, {jumanji.PREFIX} or a file or module of "
            f"yours and a colon.{suggestion(key, known)}"
        )
    env, limit = _made(package, options, where)
    return jumanji.game(env, limit, where) if jumanji.is_one(env) else jaxmarl.game(env, limit, where)


def listed() -> list[tuple[str, str]]:
    """Keys of the packages that are installed, with what each is. Raises ConfigError: none is."""
    found = [(key, "") for key in jaxmarl.listed()] if is_there("jaxmarl") else []
    found += [(jumanji.PREFIX + name, "") for name in jumanji.ids()] if is_there("jumanji") else []
    if not found:
        jax_for("--list jax")
    return found


def _made(package: Package, options: JaxOptions, where: str) -> tuple[Any, int]:
    """The environment and the steps of an episode. Its own limit is one step later: this one truncates."""
    _require_known(where, package.known, options.kwargs)
    given = dict(options.kwargs)
    limit = options.time_limit or given.pop(package.limit_word, None) or package.limit
    if not limit:
        limit = limit_of(_attempted(where, package.make, given))
    if not limit:
        raise ConfigError(
            "env_args.time_limit: this environment sets no limit for its episodes. Set the most steps that an episode "
            "may have, such as env_args.time_limit=200."
        )
    words = {package.limit_word: limit + 1} if package.limit_word else {}
    return _attempted(where, package.make, {**words, **given}), limit


def _require_known(where: str, known: Collection[str] | None, given: Mapping[str, Any]) -> None:
    for name in given:
        if known is not None and name not in known:
            raise ConfigError(f"env_args.kwargs: {where} takes no '{quoted(name)}'.{suggestion(str(name), known)}")


def _attempted(where: str, make: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    try:
        return make(**given)
    except ConfigError:
        raise
    except Exception as error:
        raise not_made(where, given, error) from error


def _of_user(key: str, where: str) -> Package:
    jax_for(where)
    module, name = before_colon(key), key.rpartition(":")[2]
    make = getattr(found := imported(where, module), name, None)
    if not callable(make):
        known = [word for word, value in vars(found).items() if callable(value) and not word.startswith("_")]
        raise ConfigError(f"{where}: the module has no '{quoted(name)}'.{suggestion(name, known)}")
    return described(make)
