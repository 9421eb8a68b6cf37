"""`env_args.map_name` as a list: the maps that a run's battles play in turn."""

from collections.abc import Mapping
from typing import Any

from envs.contract.arguments import require_known
from envs.contract.optional import require
from envs.skirmish.maps import SMACV2_MAPS
from envs.skirmish.options import Options
from utils.errors import ConfigError
from utils.plain_values import shown

NEEDS_NUMBA = "pip install -r requirements.txt"
MOST_MAPS = 100
OF_THE_RUN = ("place", "test_mode")


def is_listed(env_args: Mapping[str, Any]) -> bool:
    """Whether `map_name` is a list, even of one map."""
    return isinstance(env_args.get("map_name"), list | tuple)


def args_by_map(env_args: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The arguments of each map's battles, by its name, in the order of the list.

    SMACv2's capabilities are passed to its maps only.

    Raises:
        ConfigError: the list is empty, too long, or names what is not a map, or agents would not see units.
    """
    names = env_args["map_name"]
    if not 1 <= len(names) <= MOST_MAPS:
        raise ConfigError(f"env_args.map_name has {len(names)} maps; a list has 1 to {MOST_MAPS}.")
    if env_args.get("observation") != "entities":
        raise ConfigError(
            f"env_args.map_name={shown(names)}: agents of several maps see units. Set env_args.observation=entities."
        )
    kept = {key: value for key, value in env_args.items() if key not in OF_THE_RUN}
    found = {}
    for name in names:
        found[name if isinstance(name, str) else shown(name)] = own = kept | {"map_name": name}
        if name not in SMACV2_MAPS:
            own.pop("capability_config", None)
    return found


def check_args(env_args: Mapping[str, Any]) -> None:
    """Refuse arguments of Skirmish, of one map or of several, that make no sense.

    Raises:
        ConfigError: see `args_by_map` and `Options`, or numba is missing.
    """
    require_known("Skirmish", Options, env_args)
    require("numba", "env=skirmish", NEEDS_NUMBA)
    if not is_listed(env_args):
        Options(**env_args)
        return
    for own in args_by_map(env_args).values():
        Options(**own)
    if env_args.get("capability_config") and not any(name in SMACV2_MAPS for name in env_args["map_name"]):
        raise ConfigError(
            f"env_args.capability_config is for SMACv2's maps ({', '.join(SMACV2_MAPS)}), of which "
            f"env_args.map_name={shown(env_args['map_name'])} has none."
        )
