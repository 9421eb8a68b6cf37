"""SMACv2's teams, positions and capabilities, drawn for each episode from its own generator."""

from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np

# SMACv2 numbers allied units by these names' order
ALLY_ORDER = ("baneling", "colossus", "hydralisk", "marauder", "marine", "medivac", "stalker", "zealot", "zergling")
CENTRE_OFFSET = 2  # between the allies at the centre and the enemies around them
GAP = 1  # half of the strip between the two sides that stays empty
CORNERS = np.array([(-1, -1), (-1, 1), (1, 1), (1, -1)])


class Draw(NamedTuple):
    """One episode's teams, in the order in which their units are created."""

    ally_team: list[str]
    enemy_team: list[str]
    ally_places: np.ndarray  # [n, 2]; several units may be created at the same point
    enemy_places: np.ndarray  # [m, 2]
    # of agents in the order of their ids
    attack: np.ndarray | None  # [n], probability that an attack order is carried out
    health: np.ndarray | None  # [n], share of its health below which an agent dies
    enemy_mask: np.ndarray | None  # [n, m] bool


def draw_teams(config: dict, rng: np.random.Generator) -> Draw:
    """Draw everything that `capability_config` names."""
    n, m = config["n_units"], config["n_enemies"]
    ally_team, enemy_team = _teams(config["team_gen"], n, m, rng)
    ally_places, enemy_places = _places(config["start_positions"], n, m, rng)
    return Draw(
        ally_team,
        enemy_team,
        ally_places,
        enemy_places,
        _per_agent(config.get("attack"), n, rng),
        _per_agent(config.get("health"), n, rng),
        _mask(config.get("enemy_mask"), n, m, rng),
    )


def _teams(team: dict, n: int, m: int, rng: np.random.Generator) -> tuple[list[str], list[str]]:
    if team["dist_type"] == "fixed":
        allies = [str(name) for name in rng.permutation(team["items"][rng.integers(len(team["items"]))])]
        return allies[:n], allies[:m]
    barred = set(team.get("exception_unit_types", ()))  # these alone make no team
    allies = _team(team, n, barred, rng)
    enemies = allies[:m]
    if m > n:
        enemies = enemies + _team(team, m - n, barred, rng)
    return allies, enemies


def _team(team: dict, size: int, barred: set[str], rng: np.random.Generator) -> list[str]:
    types = team["unit_types"]
    while True:
        if team["dist_type"] == "all_teams":  # every combination is as likely
            combinations = list(combinations_with_replacement(types, size))
            names = list(combinations[rng.integers(len(combinations))])
        else:
            names = [str(name) for name in rng.choice(types, size=size, p=team["weights"])]
        if not set(names) <= barred or set(types) <= barred:
            return [str(name) for name in rng.permutation(names)]


def _places(start: dict, n: int, m: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    size = np.array([start.get("map_x", 32), start.get("map_y", 32)], dtype=float)
    kind = start["dist_type"]
    if kind == "surrounded_and_reflect":
        kind = "surrounded" if rng.random() > start.get("p", 0.5) else "reflect_position"
    return _surrounded(size, n, m, rng) if kind == "surrounded" else _reflected(size, n, m, rng)


def _reflected(size: np.ndarray, n: int, m: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Allies anywhere on the left, enemies mirrored on the right; more enemies than allies anywhere there."""
    allies = rng.uniform((0, 0), (size[0] / 2 - GAP, size[1]), size=(n, 2))
    enemies = np.column_stack([size[0] - allies[:m, 0], allies[:m, 1]])
    if m > n:
        enemies = np.concatenate([enemies, rng.uniform((size[0] / 2, 0), size, size=(m - n, 2))])
    return allies, enemies


def _surrounded(size: np.ndarray, n: int, m: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Allies at the centre, enemies in one to four groups, each somewhere along a diagonal."""
    centre = size / 2
    groups = rng.integers(1, 5)
    members = rng.multinomial(m, np.full(groups, 1 / groups))
    nearness = rng.uniform(size=groups)
    diagonals = CORNERS[rng.choice(4, size=groups, replace=False)]
    near, far = centre + CENTRE_OFFSET * diagonals, centre + centre * diagonals
    spots = near * nearness[:, None] + far * (1 - nearness[:, None])
    return np.tile(centre, (n, 1)), np.repeat(spots, members, axis=0)


def _per_agent(config: dict | None, n: int, rng: np.random.Generator) -> np.ndarray | None:
    if config is None:
        return None
    if config["dist_type"] == "fixed":
        items = config["items"]
        return np.asarray(items[rng.integers(len(items))], dtype=float).reshape(-1)[:n]
    low, high = (float(np.ravel(config[bound])[0]) for bound in ("lower_bound", "upper_bound"))
    return rng.uniform(low, high, size=n)


def _mask(config: dict | None, n: int, m: int, rng: np.random.Generator) -> np.ndarray | None:
    """True: the agent never sees that enemy's health and type."""
    if config is None:
        return None
    # SMACv2 draws 0 with the mask probability and hides what is 1
    return rng.random((n, m)) >= config["mask_probability"]
