"""The abilities of the types of units, from the game's unit data (4.10.0.75689) and, for SMAC's agents, its maps."""

import csv
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from envs.compiled.structs import struct
from envs.skirmish.state import KINDS

# health, shield and energy come back at rates per second of the "normal" clock, 16 game loops
NORMAL_LOOPS_PER_SECOND = 16
SHIELD_DELAY = 10.0  # normal seconds without damage before a shield regenerates
SHIELD_REGEN = 2.0  # per normal second
ENERGY_REGEN = 0.5625  # per normal second
HEAL_RATE = 9.0  # health per normal second
HEALTH_PER_ENERGY = 3.0

GROUND, AIR, WALKER = 0, 1, 2  # bodies block each other within a layer; air and walkers (colossi) cross any terrain
NO_SPLASH, DISC, BEAM = 0, 1, 2
BANELING_RADIUS = 2.2  # of the explosion
BEAM_LENGTH, BEAM_DEPTH = 2.8, 0.3  # of a colossus' beam, across and along the line of fire


@dataclass(frozen=True)
class UnitType:
    """A row of data/units.csv. Seconds are "faster" seconds (22.4 game loops), distances map units."""

    name: str
    health: float
    radius: float
    speed: float  # per second
    damage: float = 0.0  # of one hit, before armour
    hits: int = 1  # of one attack
    bonus: dict[str, float] = field(default_factory=dict)  # more damage against an attribute
    cooldown: float = 1.0  # seconds between attacks
    attack_range: float = 0.0  # edge to edge; of a healer: its healing range
    shield: float = 0.0
    armor: float = 0.0
    health_regen: float = 0.0  # per second
    energy: float = 0.0  # at most; those with any heal
    start_energy: float = 0.0
    attributes: tuple[str, ...] = ()
    layer: int = GROUND
    hits_air: bool = False
    splash: int = NO_SPLASH
    body: float | None = None  # radius of what blocks others (the game's separation radius); None: `radius`
    scan_range: float = 5.0  # how far it looks for a target, edge to edge (the game's MinScanRange)
    cooldown_divisor: float = 15.0  # SMAC's normaliser of the cooldown in the state, loops; of a healer: of its energy
    shield_divisor: float = 1.0  # SMAC's normaliser of the shield
    sight: float = 9.0  # SMACv2's


# how a cell of the table is read, other than as a number
READ: dict[str, Callable[[str], Any]] = {
    "name": str,
    "hits": int,
    "bonus": lambda cell: {name: float(more) for name, more in (part.split(":") for part in cell.split())},
    "attributes": lambda cell: tuple(cell.split()),
    "hits_air": lambda cell: cell == "yes",
    "layer": ("ground", "air", "walker").index,
    "splash": ("none", "disc", "beam").index,
}


def _read_types() -> list[UnitType]:
    with open(Path(__file__).parent / "data" / "units.csv", newline="") as file:
        rows = [{key: cell.strip() for key, cell in row.items()} for row in csv.DictReader(file, skipinitialspace=True)]
    return [
        UnitType(**{key.strip(): READ.get(key.strip(), float)(cell) for key, cell in row.items() if cell})
        for row in rows
    ]


_STANDARD = _read_types()
TYPE_INDEX = {unit_type.name: index for index, unit_type in enumerate(_STANDARD)}
# SMAC's agents are copies of the game's types that its map archives define; these two differ in what is simulated
_COPIES = [
    replace(_STANDARD[TYPE_INDEX["medivac"]], speed=3.85),
    replace(_STANDARD[TYPE_INDEX["hydralisk"]], health=80),
]
UNIT_TYPES = _STANDARD + _COPIES
ALLY_INDEX = TYPE_INDEX | {copy.name: len(_STANDARD) + k for k, copy in enumerate(_COPIES)}
UNIT_KIND = struct(
    [
        ("health", "f8"),
        ("shield", "f8"),
        ("armor", "f8"),
        ("radius", "f8"),
        ("body", "f8"),
        ("speed", "f8"),  # per game loop
        ("damage", "f8", (KINDS,)),  # of one hit on each type, before armour
        ("hits", "i8"),
        ("can_attack", "u1", (KINDS,)),  # each type: 0 or 1
        ("can_heal", "u1", (KINDS,)),
        ("healer", "?"),
        ("cooldown", "f8"),  # game loops
        ("attack_range", "f8"),
        ("acquire_range", "f8"),  # how far it looks for a target, edge to edge
        ("health_regen", "f8"),  # per game loop
        ("energy", "f8"),
        ("start_energy", "f8"),
        ("layer", "i8"),
        ("splash", "i8"),
        ("cooldown_divisor", "f8"),
        ("shield_divisor", "f8"),
        ("sight", "f8"),  # SMACv2's
    ]
)


def type_table(loops_per_second: float = 22.4) -> np.ndarray:
    """`[KINDS]` UNIT_KIND for a clock of that many game loops per "faster" second (the game's: 22.4)."""
    table = np.zeros(len(UNIT_TYPES), dtype=UNIT_KIND)
    for row, unit_type in zip(table, UNIT_TYPES, strict=True):
        for name in UNIT_KIND.names or ():
            if hasattr(unit_type, name) and name != "damage":
                row[name] = getattr(unit_type, name)
        row.body = unit_type.radius if unit_type.body is None else unit_type.body
        row.acquire_range = max(unit_type.scan_range, unit_type.attack_range)
        row.speed = unit_type.speed / loops_per_second
        row.health_regen = unit_type.health_regen / loops_per_second
        row.cooldown = unit_type.cooldown * loops_per_second
        row.healer = unit_type.energy > 0
        row.damage[:] = [_damage(unit_type, other) for other in UNIT_TYPES]
        row.can_attack[:] = [unit_type.damage > 0 and (unit_type.hits_air or t.layer != AIR) for t in UNIT_TYPES]
        row.can_heal[:] = [row.healer and t.layer == GROUND and "biological" in t.attributes for t in UNIT_TYPES]
    return table


def _damage(unit_type: UnitType, other: UnitType) -> float:
    return unit_type.damage + sum(more for name, more in unit_type.bonus.items() if name in other.attributes)
