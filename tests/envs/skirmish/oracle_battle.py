"""A battle as the oracle sees it: its units, its contract with agents, and one moment of it."""

from dataclasses import dataclass, field

import numpy as np


@dataclass
class Unit:
    """One unit; dead when its health is 0."""

    type: str
    x: float
    y: float
    health: float
    shield: float = 0.0
    energy: float = 0.0
    cooldown: float = 0.0

    @property
    def alive(self) -> bool:
        return self.health > 0


@dataclass
class Contract:
    """A map and the constructor's arguments, defaults included."""

    map_type: str
    ally_race: str
    enemy_race: str
    type_bits: int
    type_order: tuple
    n_agents: int
    n_enemies: int
    episode_limit: int
    open_cells: np.ndarray  # [x, y]
    heights: np.ndarray  # [x, y]
    options: dict
    v2: bool

    def __post_init__(self):
        """The options as attributes, and what follows from them: plain ones, as the oracle reads them all the time."""
        vars(self).update(self.options)
        self.medics: bool = self.map_type in ("MMM", "terran_gen")
        self.fov_actions: int = self.num_fov_actions if self.v2 and self.conic_fov else 0
        self.capabilities: dict = self.capability_config if self.v2 else {}

    def shown(self, name: str) -> bool:
        return self.capabilities[name].get("observe", True)


@dataclass
class Moment:
    """One battle at one time."""

    allies: list
    enemies: list
    last_actions: list  # -1: none yet
    step: int
    fov: list = field(default_factory=list)  # SMACv2: (x, y) for every agent
    granted: np.ndarray | None = None  # SMACv2, [n, m]
    masked: np.ndarray | None = None  # SMACv2, [n, m]
    attack: np.ndarray | None = None  # SMACv2, [n]
    level: np.ndarray | None = None  # SMACv2, [n]
    unmasked: dict = field(default_factory=dict)  # agent -> legal actions without mask, once they are asked for
