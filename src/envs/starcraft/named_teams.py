"""EPyMARL's names of SMACv2's tasks (Papoudakis et al. 2021), such as protoss_5_vs_5, as arguments of the package."""

from collections.abc import Mapping
from typing import Any

from utils.config.merging import recursive_dict_update
from utils.errors import ConfigError
from utils.nearest import suggestion

# race -> units, their weights, and those that alone make no team
RACES: dict[str, tuple[list[str], list[float], list[str]]] = {
    "protoss": (["stalker", "zealot", "colossus"], [0.45, 0.45, 0.1], []),
    "terran": (["marine", "marauder", "medivac"], [0.45, 0.45, 0.1], ["medivac"]),
    "zerg": (["zergling", "baneling", "hydralisk"], [0.45, 0.1, 0.45], ["baneling"]),
}
SIZES = {"5_vs_5": (5, 5), "10_vs_10": (10, 10), "10_vs_11": (10, 11), "20_vs_20": (20, 20), "20_vs_23": (20, 23)}
# name -> race, agents, enemies; sc2_gen_<race> is the package's own scenario
NAMES = {f"{race}_{size}": (race, *counts) for race in RACES for size, counts in SIZES.items()} | {
    f"sc2_gen_{race}": (race, 5, 5) for race in RACES
}
# where the published scenarios differ from the defaults of the package, or rely on them
ARGUMENTS = {
    "obs_own_pos": True,
    "obs_starcraft": True,
    "conic_fov": False,
    "num_fov_actions": 12,
    "use_unit_ranges": True,
    "min_attack_range": 2,
}


def with_named_teams(env_args: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a named task; those that are given beside the name win, and other maps' are left as they are.

    `time_limit` is dropped: the map has its own, and EPyMARL's wrapper does nothing with it either.

    Raises:
        ConfigError: `map_name` is null.
    """
    given = {name: value for name, value in env_args.items() if name != "time_limit"}
    name = given.get("map_name", "")
    if name is None:
        raise ConfigError(f"env_args.map_name is missing.{suggestion('', NAMES)}")
    if name not in NAMES:
        return given
    race, agents, enemies = NAMES[name]
    units, weights, exceptions = RACES[race]
    teams = {
        "n_units": agents,
        "n_enemies": enemies,
        "team_gen": {
            "dist_type": "weighted_teams",
            "unit_types": list(units),
            "weights": list(weights),
            "exception_unit_types": list(exceptions),
            "observe": True,
        },
        "start_positions": {"dist_type": "surrounded_and_reflect", "p": 0.5, "map_x": 32, "map_y": 32},
    }
    own = {**ARGUMENTS, "capability_config": teams}
    return recursive_dict_update(own, {**given, "map_name": f"10gen_{race}"})
