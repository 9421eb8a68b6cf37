"""Sizes, names and numbers of the contract, worked out from the options and the map."""

from typing import TYPE_CHECKING

import numpy as np

from envs.skirmish.maps import Map
from envs.skirmish.options import Options
from envs.skirmish.state import ATTACK_NEAREST, ATTACK_POINT, HOLD, SCENARIO
from envs.skirmish.unit_types import TYPE_INDEX, UNIT_TYPES

if TYPE_CHECKING:
    from envs.skirmish.terrain import Terrain

ENEMY_ORDERS = {"hold": HOLD, "attack_point": ATTACK_POINT, "attack_between": ATTACK_POINT}
ENEMY_ORDERS["attack_nearest"] = ATTACK_NEAREST
HIDDEN, PADDED, SHOWN = 0, 1, 2


def team_sizes(options: Options, battle_map: Map) -> tuple[int, int]:
    if not options.smacv2:
        return battle_map.n_agents, battle_map.n_enemies
    return options.capability_config["n_units"], options.capability_config["n_enemies"]


def make_scenario(options: Options, battle_map: Map, terrain: "Terrain", jitter: bool = True) -> np.ndarray:
    """One SCENARIO, `[1]`: everything that stays as it is during a run."""
    n_agents, n_enemies = team_sizes(options, battle_map)
    config = options.capability_config if options.smacv2 else {}
    medics = battle_map.map_type in ("MMM", "terran_gen")
    fov_actions = options.num_fov_actions if options.smacv2 and options.conic_fov else 0
    first_target = 6 + fov_actions
    # SMACv2 leaves room to heal every friend
    targets = max(n_agents, n_enemies) if options.smacv2 and medics else n_enemies
    ally_type, enemy_type = _type_bits(battle_map, options.fix_quirks)
    fields = {
        "n_agents": n_agents,
        "n_enemies": n_enemies,
        "n_actions": first_target + targets,
        "first_target": first_target,
        "episode_limit": battle_map.episode_limit,
        "medics": medics,
        "smacv2": options.smacv2,
        "enemy_order": ENEMY_ORDERS[battle_map.enemy_order],
        "type_bits": battle_map.unit_type_bits,
        "ally_type": ally_type,
        "enemy_type": enemy_type,
        "ally_shield": battle_map.ally_race == "P",
        "enemy_shield": battle_map.enemy_race == "P",
        "obs_starcraft": options.obs_starcraft or not options.smacv2,
        "obs_own_pos": options.obs_own_pos and options.smacv2,
        "unit_ranges": options.use_unit_ranges and options.smacv2,
        "fov_actions": fov_actions,
        "fully_observable": options.fully_observable and options.smacv2,
        "prob_obs_enemy": options.prob_obs_enemy,
        "action_mask": options.action_mask or not options.smacv2,
        "random_attack": "attack" in config,
        "show_attack": _shown(config, "attack"),
        "random_health": "health" in config,
        "show_health": _shown(config, "health"),
        "show_types": SHOWN if not options.smacv2 else _shown(config, "team_gen"),
        "masked": "enemy_mask" in config,
        "loops": options.step_mul,
        "kill_loops": options.kill_unit_step_mul,
        "reaction": options.reaction,
        "jitter": jitter,
        "open": terrain.open,
        "height": terrain.height,
        "convex": terrain.convex,
        "obs_size": 0,
        "state_size": 0,
    }
    scenario = np.zeros(1, dtype=SCENARIO)
    for name in SCENARIO.names or ():
        scenario[name] = fields[name] if name in fields else getattr(options, name)
    scenario["obs_size"] = len(obs_feature_names(scenario[0]))
    scenario["state_size"] = len(state_feature_names(scenario[0]))
    return scenario


def _shown(config: dict, name: str) -> int:
    if name not in config:
        return HIDDEN
    return SHOWN if config[name].get("observe", True) else PADDED


def _type_bits(battle_map: Map, fix_quirks: bool) -> tuple[np.ndarray, np.ndarray]:
    """Bit of every unit type in the blocks of allies and of enemies."""
    ally = np.zeros(len(UNIT_TYPES), dtype=np.int64)
    for kind, unit_type in enumerate(UNIT_TYPES):
        if battle_map.unit_type_bits and unit_type.name in battle_map.type_order:
            ally[kind] = battle_map.type_order.index(unit_type.name)
    enemy = ally.copy()
    if battle_map.map_type == "stalkers_and_zealots" and not fix_quirks:
        # SMAC numbers enemies by the game's unit ids, where the zealot comes first
        enemy[TYPE_INDEX["zealot"]], enemy[TYPE_INDEX["stalker"]] = 0, 1
    return ally, enemy


def obs_feature_names(s: np.record) -> list[str]:
    """The names of all numbers of an agent's observation, seen from agent 0."""
    time = ["timestep"] if s.obs_timestep_number else []
    if not s.obs_starcraft:
        return time
    names = [f"move_action_{direction}" for direction in ("north", "south", "east", "west")]
    names += [f"pathing_grid_{k}" for k in range(8)] if s.obs_pathing_grid else []
    names += [f"terrain_height_{k}" for k in range(9)] if s.obs_terrain_height else []
    for e in range(s.n_enemies):
        names += [f"enemy_{what}_{e}" for what in _enemy_block(s)]
    for j in range(1, s.n_agents):
        names += [f"ally_{what}_{j}" for what in _ally_block(s)]
    names += [f"own_{what}" for what in _own_block(s)]
    if s.obs_timestep_number and not (s.smacv2 or s.fix_quirks):
        # SMAC makes room for the time in the own block, leaves it zero, and then appends the time
        names.append("own_unused")
    return names + time


def _enemy_block(s: np.record) -> list[str]:
    names = ["shootable", "distance", "relative_x", "relative_y"]
    if s.obs_all_health:
        names += ["health", "shield"] if s.enemy_shield else ["health"]
    return names + [f"unit_type_bit_{bit}" for bit in range(s.type_bits)]


def _ally_block(s: np.record) -> list[str]:
    names = ["visible", "distance", "relative_x", "relative_y"]
    if s.obs_all_health:
        names += ["health", "shield"] if s.ally_shield else ["health"]
    names += ["attack_prob"] if s.show_attack else []
    names += ["health_level"] if s.show_health else []
    names += [f"unit_type_bit_{bit}" for bit in range(s.type_bits)] if s.show_types else []
    return names + ([f"last_action_{action}" for action in range(s.n_actions)] if s.obs_last_action else [])


def _own_block(s: np.record) -> list[str]:
    names = []
    if s.obs_own_health:
        names += ["health", "shield"] if s.ally_shield else ["health"]
    names += ["attack_prob"] if s.random_attack else []
    names += ["health_level"] if s.random_health else []
    names += ["pos_x", "pos_y"] if s.obs_own_pos else []
    names += ["fov_x", "fov_y"] if s.fov_actions else []
    return names + [f"unit_type_bit_{bit}" for bit in range(s.type_bits)]


def ally_state_names(s: np.record) -> list[str]:
    """The names of all numbers of an agent's row in the state."""
    names = ["health", "energy/cooldown", "rel_x", "rel_y"]
    names += ["shield"] if s.ally_shield else []
    names += ["attack_probability"] if s.random_attack else []
    names += ["total_health"] if s.random_health else []
    names += ["fov_x", "fov_y"] if s.fov_actions else []
    return names + [f"type_{bit}" for bit in range(s.type_bits)]


def enemy_state_names(s: np.record) -> list[str]:
    """The names of all numbers of an enemy's row in the state."""
    names = ["health", "rel_x", "rel_y", *(["shield"] if s.enemy_shield else [])]
    return names + [f"type_{bit}" for bit in range(s.type_bits)]


def state_feature_names(s: np.record) -> list[str]:
    """The names of all numbers of the state."""
    if s.obs_instead_of_state:
        return [f"agent_{i}_{name}" for i in range(s.n_agents) for name in obs_feature_names(s)]
    names = [f"ally_{what}_{i}" for i in range(s.n_agents) for what in ally_state_names(s)]
    names += [f"enemy_{what}_{e}" for e in range(s.n_enemies) for what in enemy_state_names(s)]
    if s.state_last_action:
        names += [f"ally_last_action_{i}_action_{a}" for i in range(s.n_agents) for a in range(s.n_actions)]
    return names + (["timestep"] if s.state_timestep_number else [])


def capability_size(s: np.record) -> int:
    """Numbers that describe one agent's capabilities (SMACv2's `cap_shape`)."""
    return int(s.random_attack) + int(s.random_health) + s.type_bits


def capabilities(battles) -> np.ndarray:
    """SMACv2: attack probability, health level and type of every agent of the first battle, float32."""
    s, units = battles.scenario, battles.state.units[0, : battles.n_agents]
    rows = np.zeros((battles.n_agents, capability_size(s)), dtype=np.float32)
    columns = ["attack_probability"] if s.random_attack else []
    columns += ["health_level"] if s.random_health else []
    for k, name in enumerate(columns):
        rows[:, k] = units[name]
    if s.type_bits:
        rows[np.arange(battles.n_agents), len(columns) + s.ally_type[units["kind"]]] = 1
    return rows.reshape(-1)
