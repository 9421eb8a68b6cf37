"""The maps: SMAC's 23, and SMACv2's three whose teams are drawn for each episode."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SMACV2_MAPS = {"10gen_terran": "T", "10gen_protoss": "P", "10gen_zerg": "Z"}
SMACV2_TYPES = {
    "T": ("marine", "marauder", "medivac"),
    "P": ("stalker", "zealot", "colossus"),
    "Z": ("zergling", "hydralisk", "baneling"),
}
SMACV2_EPISODE_LIMIT = 200


@dataclass(frozen=True)
class Group:
    """Units of one kind that start around one point."""

    ally: bool
    unit: str
    count: int
    spawn: tuple[float, float]


@dataclass(frozen=True)
class Map:
    """One map of SMAC or SMACv2. Of SMACv2's, `groups` is empty and the numbers of units are 0."""

    name: str
    n_agents: int
    n_enemies: int
    episode_limit: int
    ally_race: str  # T, P or Z
    enemy_race: str
    unit_type_bits: int
    map_type: str
    type_order: tuple[str, ...]  # of the allies' type bits
    groups: tuple[Group, ...]
    enemy_order: str  # the enemies' order at the start
    enemy_points: tuple[tuple[float, float], ...]
    terrain: str

    @property
    def smacv2(self) -> bool:
        return self.name in SMACV2_MAPS


@cache
def load_data() -> dict:
    """data/maps.json: what SMAC's map archives say of each map."""
    return json.loads((Path(__file__).parent / "data" / "maps.json").read_text())


def map_names() -> list[str]:
    return [*load_data()["maps"], *SMACV2_MAPS]


def load_map(name: str) -> Map:
    """The map of that name. Raises KeyError."""
    if name in SMACV2_MAPS:
        race = SMACV2_MAPS[name]
        kind = {"T": "terran_gen", "P": "protoss_gen", "Z": "zerg_gen"}[race]
        types = SMACV2_TYPES[race]
        return Map(name, 0, 0, SMACV2_EPISODE_LIMIT, race, race, 3, kind, types, (), "attack_nearest", (), "flat")
    data = load_data()["maps"][name]
    groups = tuple(Group(side == "ally", unit, n, tuple(spawn)) for side, unit, n, spawn in data["groups"])
    order = data["enemy_order"]
    kind = {
        "attack_move_to_point": "attack_point",
        "attack_move_to_random_point_between": "attack_between",
        "attack_ally_group": "attack_nearest",
        "none": "hold",
    }[order["kind"]]
    points = tuple((float(x), float(y)) for x, y in order["points"])
    types = tuple(data["type_order"])
    numbers = (data["n_agents"], data["n_enemies"], data["episode_limit"])
    races = (data["ally_race"], data["enemy_race"])
    kept = (data["unit_type_bits"], data["map_type"])
    return Map(name, *numbers, *races, *kept, types, groups, kind, points, data["terrain"])
