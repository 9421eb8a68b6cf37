"""The arguments of SMAC's `StarCraft2Env`, SMACv2's and Skirmish's own, in one place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from envs.contract.arguments import require_choice, require_numbers
from envs.contract.reaches import OF_ALL, REPLAYS, nowhere, numbers_of
from envs.skirmish.map_choice import CHOICES, IN_TURN
from envs.skirmish.maps import SMACV2_MAPS, SMACV2_TYPES, map_names
from utils.config.reach import Reach
from utils.errors import ConfigError
from utils.files.file_names import require_plain_name
from utils.nearest import suggestion
from utils.plain_values import quoted

DIFFICULTIES = ("1", "2", "3", "4", "5", "6", "7", "8", "9", "A")
# versions of the simulated part, the present one last. A change that makes other battles gets a version of its own, so
# that figures of different rules are not mixed (docs/skirmish_fidelity.md)
RULES = 1, 2
# game loops that an enemy takes to fire at a new target; levels above 7 cheat in ways that do not matter here
REACTION_LOOPS = {"1": 32, "2": 24, "3": 16, "4": 12, "5": 8, "6": 4}
DISTRIBUTIONS = {
    "team_gen": ("weighted_teams", "all_teams", "fixed"),
    "start_positions": ("surrounded_and_reflect", "surrounded", "reflect_position"),
    "attack": ("per_agent_uniform", "fixed"),
    "health": ("per_agent_uniform", "fixed"),
    "enemy_mask": ("mask",),
}
# game loops of a step, directions of sight, units of a side: a step of more would take minutes
COUNTED, MOST_COUNTED = ("step_mul", "num_fov_actions"), 1000
MOST_MAPS = 100  # of a list
OF_THE_RUN = ("place", "test_mode")
OBSERVATIONS = ("flat", "entities")


@dataclass
class Options:
    """Constructor arguments; `about` has their meaning: SMAC's, except of those marked as without effect."""

    map_name: str = "8m"
    step_mul: int = 8
    move_amount: float = 2
    difficulty: str = "7"
    game_version: str | None = None  # without effect
    seed: int | Sequence[int] | None = None
    continuing_episode: bool = False
    obs_all_health: bool = True
    obs_own_health: bool = True
    obs_last_action: bool = False
    obs_pathing_grid: bool = False
    obs_terrain_height: bool = False
    obs_instead_of_state: bool = False
    obs_timestep_number: bool = False
    state_last_action: bool = True
    state_timestep_number: bool = False
    reward_sparse: bool = False
    reward_only_positive: bool = True
    reward_death_value: float = 10
    reward_win: float = 200
    reward_defeat: float = 0
    reward_negative_scale: float = 0.5
    reward_scale: bool = True
    reward_scale_rate: float = 20
    replay_dir: str = ""
    replay_prefix: str = ""
    window_size_x: int = 1920  # without effect
    window_size_y: int = 1200  # without effect
    heuristic_ai: bool = False
    heuristic_rest: bool = False
    debug: bool = False  # without effect
    # SMACv2
    obs_own_pos: bool = False
    obs_starcraft: bool = True
    conic_fov: bool = False
    num_fov_actions: int = 12
    use_unit_ranges: bool = False
    min_attack_range: float = 2
    kill_unit_step_mul: int = 2
    fully_observable: bool = False
    capability_config: dict[str, Any] = field(default_factory=dict)
    prob_obs_enemy: float = 1.0
    action_mask: bool = True
    # Skirmish
    observation: str = "flat"
    map_choice: str = IN_TURN
    heal_actions: bool = False
    fix_quirks: bool = False
    rules: int = RULES[-1]
    test_mode: bool = False  # set by Muster: whether these battles are those of tests
    # set by Muster: number of this copy among those that share a list of maps, their number, and number among all
    place: Sequence[int] = (0, 1, 0)

    def __post_init__(self):
        if self.obs_all_health:
            self.obs_own_health = True
        if self.step_mul is None:
            self.step_mul = 8
        self.difficulty = str(self.difficulty)
        if self.map_name in SMACV2_MAPS and not self.capability_config:
            self.capability_config = published_capabilities(SMACV2_MAPS[self.map_name])
        self._check()

    def _check(self) -> None:
        if not isinstance(self.map_name, str):
            raise ConfigError(f"env_args.map_name is {quoted(self.map_name)}; it must be a name here.")
        require_choice("env_args.map_name", self.map_name, map_names())
        require_plain_name("env_args.replay_prefix", self.replay_prefix)
        require_choice("env_args.difficulty", self.difficulty, DIFFICULTIES)
        require_choice("env_args.observation", self.observation, OBSERVATIONS)
        require_choice("env_args.map_choice", self.map_choice, CHOICES)
        if self.observation == "entities":
            self._check_entities()
        if self.rules not in RULES:
            raise ConfigError(
                f"env_args.rules is {quoted(self.rules)}; this version of Skirmish has rules "
                f"{' and '.join(map(str, RULES))} (docs/skirmish_fidelity.md). Leave it out to play by the newest."
            )
        require_numbers(self, {**dict.fromkeys(COUNTED, (1, MOST_COUNTED)), "prob_obs_enemy": (0, 1)}, COUNTED)
        if self.move_amount <= 0:
            raise ConfigError(f"env_args.move_amount is {self.move_amount}; it must be above 0.")
        if "health" in self.capability_config and not 0 <= self.kill_unit_step_mul <= self.step_mul:
            raise ConfigError(
                f"env_args.kill_unit_step_mul is {self.kill_unit_step_mul}; it is a part of the step, "
                f"which has step_mul={self.step_mul} game loops."
            )
        if self.map_name in SMACV2_MAPS:
            _check_capabilities(self.capability_config, SMACV2_MAPS[self.map_name])
            if "health" in self.capability_config and not self.reward_only_positive:
                raise ConfigError(
                    "env_args.capability_config.health needs reward_only_positive=True: an agent that dies of its "
                    "health level has not lost that health to an enemy."
                )
        elif self.capability_config:
            raise ConfigError(
                f"env_args.capability_config is for SMACv2's maps ({', '.join(SMACV2_MAPS)}), "
                f"not for map_name={self.map_name}."
            )

    def _check_entities(self) -> None:
        where = "env_args.observation=entities"
        for key in ("obs_last_action", "obs_instead_of_state"):
            if getattr(self, key):
                raise ConfigError(f"{where} has no {key}, whose size depends on the map.")
        if self.smacv2 and self.conic_fov:
            raise ConfigError(f"{where} has no conic_fov: its actions turn the sight, which no other map has.")
        if self.smacv2 and not self.obs_starcraft:
            raise ConfigError(f"{where} needs obs_starcraft=True, without which agents see no units.")

    @property
    def smacv2(self) -> bool:
        return self.map_name in SMACV2_MAPS

    @property
    def reaction(self) -> int:
        """Game loops between noticing a target and firing at it, for the enemies."""
        return REACTION_LOOPS.get(self.difficulty, 0)


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
            f"env_args.map_name={quoted(names)}: agents of several maps see units. Set env_args.observation=entities."
        )
    kept = {key: value for key, value in env_args.items() if key not in OF_THE_RUN}
    found = {}
    for name in names:
        found[name if isinstance(name, str) else quoted(name)] = own = kept | {"map_name": name}
        if name not in SMACV2_MAPS:
            own.pop("capability_config", None)
    return found


def published_capabilities(race: str, n_units: int = 5, n_enemies: int = 5) -> dict:
    """The `capability_config` of SMACv2's published scenarios of that race."""
    types = SMACV2_TYPES[race]
    teams = {
        "dist_type": "weighted_teams",
        "unit_types": list(types),
        "weights": [0.45, 0.45, 0.1],
        "exception_unit_types": {"T": ["medivac"], "P": [], "Z": ["baneling"]}[race],
        "observe": True,
    }
    positions = {"dist_type": "surrounded_and_reflect", "p": 0.5, "map_x": 32, "map_y": 32}
    return {"n_units": n_units, "n_enemies": n_enemies, "team_gen": teams, "start_positions": positions}


def _check_capabilities(config: dict, race: str) -> None:
    where = "env_args.capability_config"
    known = ("n_units", "n_enemies", *DISTRIBUTIONS)
    for key, value in config.items():
        if key not in known:
            raise ConfigError(f"{where}.{key}: no such capability.{suggestion(key, known)}")
        if key in DISTRIBUTIONS and (not isinstance(value, dict) or value.get("dist_type") not in DISTRIBUTIONS[key]):
            found = value.get("dist_type") if isinstance(value, dict) else value
            raise ConfigError(f"{where}.{key}: dist_type is {found!r}.{suggestion(str(found), DISTRIBUTIONS[key])}")
    for key in ("n_units", "n_enemies"):
        if not isinstance(config.get(key), int) or not 1 <= config[key] <= MOST_COUNTED:
            raise ConfigError(f"{where}.{key} is {config.get(key)!r}; it must be an integer from 1 to {MOST_COUNTED}.")
    for key in ("team_gen", "start_positions"):
        if key not in config:
            raise ConfigError(f"{where} has no {key}, which every SMACv2 map needs.")
    _check_team(config["team_gen"], SMACV2_TYPES[race], f"{where}.team_gen")


def _check_team(team: dict, types: tuple[str, ...], where: str) -> None:
    names = team.get("items", []) if team["dist_type"] == "fixed" else [team.get("unit_types", [])]
    for name in (name for group in names for name in group):
        if name not in types:
            raise ConfigError(f"{where}: this map has no '{name}'.{suggestion(str(name), types)}")
    if not any(names):
        raise ConfigError(f"{where} names no unit types; this map has {', '.join(types)}.")
    if team["dist_type"] == "weighted_teams":
        weights = team.get("weights", [])
        if len(weights) != len(team["unit_types"]) or abs(sum(weights) - 1) > 1e-6 or min(weights) < 0:
            raise ConfigError(f"{where}.weights is {weights}; one share for each unit type, 1 in all.")


REACHES: Mapping[str, Reach] = {
    **OF_ALL,
    **REPLAYS,
    **numbers_of(Options),
    **nowhere("map_name difficulty game_version capability_config observation map_choice place"),
}
