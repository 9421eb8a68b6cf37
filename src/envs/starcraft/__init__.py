"""StarCraft II micromanagement: SMAC (Samvelyan et al. 2019) and SMACv2 (Ellis et al. 2023), found only when chosen."""

import inspect
import itertools
import logging
import os
import random
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np

from envs.contract.arguments import LARGEST, require_choice, require_number
from envs.starcraft.environment import StarCraftEnv
from envs.starcraft.installation import check_game, check_map_name, game_folder, package_class
from envs.starcraft.named_teams import with_named_teams
from utils.files.file_names import require_plain_name

log = logging.getLogger("muster")
# our arguments, beside the package's
OWN = {"max_restarts": 5, "game_timeout": 60}
# the game's own players, from very easy to those that cheat
DIFFICULTIES = ("1", "2", "3", "4", "5", "6", "7", "8", "9", "A")


def _make(env: str, **env_args: Any) -> StarCraftEnv:
    """Make the environment; the game itself starts at the first reset."""
    own = {name: env_args.pop(name, default) for name, default in OWN.items()}
    if env == "sc2_v2":
        env_args = with_named_teams(env_args)
    package = package_class(env)
    # pysc2 looks into SC2PATH, and otherwise into the user's home
    os.environ["SC2PATH"] = str(game_folder())
    check_map_name(env, env_args.get("map_name", _parameters(env)["map_name"].default))
    if env == "sc2_v2":
        _seed_smacv2(env_args.get("seed"))
    # smacv2 writes into the configuration it is given
    return StarCraftEnv(package(**deepcopy(env_args)), **own)


def _seed_smacv2(seed: int | None) -> None:
    """Draw teams and positions from the environment's seed: smacv2's own generators cannot be seeded."""
    if seed is None:
        return
    from smacv2.env.starcraft2 import distributions

    chance, numbers = random.Random(seed), itertools.count()
    distributions.choice, distributions.shuffle = chance.choice, chance.shuffle
    # each distribution makes its own generator
    distributions.default_rng = lambda: np.random.default_rng([seed, next(numbers)])


def _parameters(env: str) -> dict[str, inspect.Parameter]:
    package = package_class(env)
    if env == "sc2_v2":
        from smacv2.env import StarCraft2Env

        package = StarCraft2Env
    return dict(inspect.signature(package).parameters)


def _constructor(env: str) -> Callable:
    """A callable with the package's parameters and ours, to check `env_args` against."""

    def construct(**env_args: Any) -> StarCraftEnv:
        return _make(env, **env_args)

    def check_args(**env_args: Any) -> None:
        for name, least in (("max_restarts", 0), ("game_timeout", 1)):
            require_number(f"env_args.{name}", env_args.get(name, OWN[name]), least, LARGEST)
        require_choice("env_args.difficulty", str(env_args.get("difficulty", "7")), DIFFICULTIES)
        require_plain_name("env_args.replay_prefix", env_args.get("replay_prefix") or "")
        if env == "sc2_v2":
            if env_args.get("time_limit") is not None:
                log.warning("env_args.time_limit has no effect: SMACv2's maps have limits of their own.")
            env_args = with_named_teams(env_args)
        check_game(env, env_args.get("map_name", parameters["map_name"].default))

    parameters = _parameters(env)
    ours: dict[str, Any] = {**OWN, **({"time_limit": None} if env == "sc2_v2" else {})}
    own = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value) for name, value in ours.items()]
    vars(construct).update(__signature__=inspect.Signature([*parameters.values(), *own]), check_args=check_args)
    return construct


def StarCraft2(**env_args: Any) -> StarCraftEnv:
    """SMAC: smac's `StarCraft2Env`."""
    return _make("sc2", **env_args)


def StarCraft2v2(**env_args: Any) -> StarCraftEnv:
    """SMACv2: smacv2's `StarCraftCapabilityEnvWrapper`."""
    return _make("sc2_v2", **env_args)


StarCraft2.constructor = partial(_constructor, "sc2")  # type: ignore[attr-defined]
StarCraft2v2.constructor = partial(_constructor, "sc2_v2")  # type: ignore[attr-defined]
