"""What `env_args.key` names: modules of PettingZoo, EPyMARL's ids for these, ids of Gymnasium, scenarios of VMAS."""

import re
from pathlib import Path
from typing import Any

from envs.contract.arguments import LARGEST, not_made, require_number
from envs.contract.optional import require
from envs.contract.reaches import OF_ALL, before_colon, importing, nowhere
from envs.families import installing
from envs.gymnasium import tasks
from envs.gymnasium.vector_forms import is_vectorised
from envs.pettingzoo import modules, opponents
from envs.pettingzoo.tuples import TupleGame
from envs.pettingzoo.zoo import WORDS
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import quoted

# EPyMARL's ids: pz-mpe-simple-spread-v3, vmas-simple_spread
PETTINGZOO = re.compile(r"pz-(?P<family>[a-z0-9]+)-(?P<game>[a-z0-9-]+)-v(?P<version>\d+)")
VMAS = "vmas-"
# Gymnasium's, with or without the module that registers it
GYMNASIUM = re.compile(r"(.+:)?[^:]+-v\d+")


SEE_LIST = "python src/main.py --list environments shows what there is."


def made(key: str, time_limit: int, kwargs: dict[str, Any] | None) -> Any:
    """The game as a parallel environment of PettingZoo.

    Raises:
        ConfigError: there is no such game, it lacks a package, or does not take `kwargs`.
    """
    opponent, kwargs = opponents.taken(key, kwargs)
    if opponent:
        return opponents.WithOpponent(made(key, time_limit, kwargs), opponent)
    if key.startswith(VMAS):
        return TupleGame(_vmas(key, time_limit, kwargs), key)
    if found := PETTINGZOO.fullmatch(key):
        return modules.made(_module_of(**found.groupdict()), time_limit, kwargs)
    named = ":" in key
    if named and not GYMNASIUM.fullmatch(key) and (game := modules.made_by(key, kwargs)) is not None:
        return game
    if named or GYMNASIUM.fullmatch(key):
        _refuse_copies(key)
        return TupleGame(tasks.made(key, time_limit, kwargs), key)
    return modules.made(key, time_limit, kwargs)


def _refuse_copies(key: str) -> None:
    """Raises ConfigError: the key names a `gymnasium.vector.VectorEnv`, whose rewards and ends are not by agent."""
    if is_vectorised(key):
        raise ConfigError(
            f"env_args.key={quoted(key)} is many copies itself (a gymnasium.vector.VectorEnv), which have one reward "
            "each, and no agents. Name the class of one copy, which vector_env=workers or in_process multiplies; or "
            "--env-config=gymnasium, which plays it as it is, one agent with an action for each entry of the tuple."
        )


def require_arguments(key: str, time_limit: int, kwargs: dict[str, Any] | None) -> None:
    """Refuse bad arguments before a run starts. Raises ConfigError: names the argument and the nearest known one."""
    if not key or not isinstance(key, str):
        raise ConfigError(
            "env_args.key is missing. It names the game, such as env_args.key=pettingzoo.sisl.pursuit_v5 or "
            f"env_args.key=mine.py. {SEE_LIST}"
        )
    require_number("env_args.time_limit", time_limit, 1, LARGEST, whole=True)
    _, kwargs = opponents.taken(key, kwargs)
    if found := PETTINGZOO.fullmatch(key):
        modules.require_arguments(_module_of(**found.groupdict()), kwargs)
    elif not key.startswith(VMAS) and ":" not in key and not GYMNASIUM.fullmatch(key):
        modules.require_arguments(key, kwargs)


def _module_of(family: str, game: str, version: str) -> str:
    return f"pettingzoo.{family}.{game.replace('-', '_')}_v{version}"


def _vmas(key: str, time_limit: int, kwargs: dict[str, Any] | None) -> Any:
    # its own limit comes later than ours, which truncates
    return vmas_made(key, {"max_steps": time_limit + 1, **(kwargs or {})}, num_envs=1, wrapper="gymnasium")


def vmas_made(key: str, kwargs: dict[str, Any], **fixed: Any) -> Any:
    """An environment of VMAS.

    Args:
        fixed: arguments that are not the user's.

    Raises:
        ConfigError: it is not installed, has no such scenario, or does not take `kwargs`.
    """
    where, scenario = f"env_args.key={quoted(key)}", key.removeprefix(VMAS)
    vmas = require("vmas", where, str(installing("vmas")))
    known = [
        path.stem for path in (Path(str(vmas.__file__)).parent / "scenarios").rglob("*.py") if "__" not in path.stem
    ]
    if scenario not in known:
        raise ConfigError(f"{where}: VMAS has no scenario '{quoted(scenario)}'.{suggestion(scenario, known)}")
    given = {"continuous_actions": False, **kwargs}
    try:
        return vmas.make_env(scenario, dict_spaces=False, terminated_truncated=True, **fixed, **given)
    except Exception as error:
        raise not_made(where, given, error) from error


def _module_in(key: str) -> str:
    """The module that a key names, "" where Muster knows it."""
    if ":" in key:
        return before_colon(key)
    return "" if key.startswith(VMAS) or PETTINGZOO.fullmatch(key) or GYMNASIUM.fullmatch(key) else key


REACHES = {
    **OF_ALL,
    **importing("key", _module_in),
    **nowhere("time_limit reward groups state compiled pretrained_wrapper"),
    **nowhere(" ".join(WORDS)),
}
