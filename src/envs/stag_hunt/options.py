"""The arguments of the stag hunt, with the names and values of PyMARL2's stag_hunt.yaml."""

from dataclasses import dataclass, field, fields
from typing import Any

from envs.contract.arguments import LARGEST, require_choice, require_number
from envs.contract.reaches import OF_ALL, nowhere
from utils.errors import ConfigError
from utils.plain_values import quoted

AGENT, STAG, HARE = range(3)  # what blocks agents, and the first three numbers of a cell
MOST_CELLS = 1_000_000
_WHOLE = {
    "n_agents": (1, 1000),
    "n_stags": (0, 1000),
    "n_hare": (0, 1000),
    "episode_limit": (1, LARGEST),
    "mountain_agent_row": (-LARGEST, LARGEST),
}
_CHANCES = ("mountain_slope", "p_stags_rest", "p_hare_rest", "random_ghosts_prob")
_AMOUNTS = (
    "miscapture_punishment", "random_ghosts_mul", "reward_hare", "reward_stag", "reward_collision", "reward_time"
)  # fmt: skip
# PyMARL2's words, and why they must be False here
_LEFT_OUT = {
    "intersection_global_view": "its observations do not have the size that PyMARL2 says",
    "state_as_graph": "PyMARL2 refuses it, too",
    "print_caught_prey": "stags_caught_mean and hares_caught_mean count them",
    "print_frozen_agents": "save_replay=True shows them",
}


@dataclass
class Options:
    """Constructor arguments; `about` has their meaning."""

    map_name: str = "stag_hunt"
    world_shape: list[int] = field(default_factory=lambda: [10, 10])
    n_agents: int = 8
    n_stags: int = 8
    n_hare: int = 0
    episode_limit: int = 200
    truncate_episodes: bool = True
    toroidal: bool = False
    agent_move_block: list[int] = field(default_factory=lambda: [AGENT, STAG, HARE])
    capture_action: bool = True
    capture_action_conditions: list[int] = field(default_factory=lambda: [2, 1])
    capture_conditions: list[int] = field(default_factory=lambda: [0, 1])
    capture_freezes: bool = True
    capture_terminal: bool = False
    remove_frozen: bool = True
    prevent_cannibalism: bool = True
    reward_stag: float = 10
    reward_hare: float = 1
    miscapture_punishment: float = 0
    reward_collision: float = 0
    reward_time: float = 0
    p_stags_rest: float = 0.0
    p_hare_rest: float = 0.0
    agent_obs: list[int] = field(default_factory=lambda: [2, 2])
    observe_state: bool = False
    observe_walls: bool = False
    observe_ids: bool = False
    observe_one_hot: bool = False
    directed_observations: bool = False
    directed_cone_narrow: bool = True
    directed_exta_actions: bool = True
    mountain_slope: float = 0.0
    mountain_spawn: bool = False
    mountain_agent_row: int = -1
    random_ghosts: bool = False
    random_ghosts_prob: float = 0.5
    random_ghosts_mul: float = -1
    random_ghosts_indicator: bool = False
    intersection_global_view: bool = False
    intersection_unknown: bool = False
    state_as_graph: bool = False
    print_caught_prey: bool = False
    print_frozen_agents: bool = False
    as_pymarl2: bool = True
    seed: int | list[int] | None = None

    def __post_init__(self) -> None:
        for one in fields(self):
            if one.type is bool:
                require_choice(f"env_args.{one.name}", getattr(self, one.name), (True, False))
        for name, (least, most) in _WHOLE.items():
            require_number(f"env_args.{name}", getattr(self, name), least, most, whole=True)
        for name in _CHANCES:
            require_number(f"env_args.{name}", getattr(self, name), 0, 1)
        for name in _AMOUNTS:
            require_number(f"env_args.{name}", getattr(self, name), -LARGEST, LARGEST)
        self._require_pairs()
        if self.mountain_agent_row >= self.rows:
            raise ConfigError(f"env_args.mountain_agent_row is {self.mountain_agent_row}; there are {self.rows} rows.")
        for name, why in _LEFT_OUT.items():
            if getattr(self, name):
                raise ConfigError(f"env_args.{name} must be False: {why}.")
        if not self.n_prey:
            raise ConfigError("env_args.n_stags and env_args.n_hare are 0: there is nothing to catch.")
        cells, those = self.rows * self.columns, self.n_agents + self.n_prey
        if cells < those or cells > MOST_CELLS:
            raise ConfigError(
                f"env_args.world_shape is {quoted(self.world_shape)}: it must have {those} cells for agents and prey, "
                f"and {MOST_CELLS} at most."
            )
        if self.directed_observations and not self.observe_state and self.directed_cone_narrow and min(self.sight) < 1:
            raise ConfigError("env_args.agent_obs is 0: with directed_cone_narrow, agents would see nothing.")

    def _require_pairs(self) -> None:
        for name, least, most in (
            ("world_shape", 1, MOST_CELLS),
            ("agent_obs", 0, 1000),
            ("capture_action_conditions", 0, LARGEST),
            ("capture_conditions", -1, LARGEST),
        ):
            for number in _listed(name, getattr(self, name), 2):
                require_number(f"env_args.{name}", number, least, most, whole=True)
        for kind in _listed("agent_move_block", self.agent_move_block):
            require_number("env_args.agent_move_block", kind, AGENT, HARE, whole=True)
        if self.directed_observations and self.agent_obs[0] != self.agent_obs[1]:
            raise ConfigError("env_args.agent_obs: with directed_observations, both numbers must be equal.")

    @property
    def rows(self) -> int:
        return self.world_shape[0]

    @property
    def columns(self) -> int:
        return self.world_shape[1]

    @property
    def sight(self) -> tuple[int, int]:
        """Rows and columns that are seen to each side."""
        return self.agent_obs[0], self.agent_obs[1]

    @property
    def n_prey(self) -> int:
        return self.n_stags + self.n_hare

    @property
    def features(self) -> list[str]:
        """Of a cell."""
        more = ["wall", "unknown"] * self.observe_one_hot + ["ghosts"] * self.random_ghosts
        return ["agent", "stag", "hare", *more]

    @property
    def n_actions(self) -> int:
        if self.directed_observations and self.directed_exta_actions:
            return 10
        return 6 if self.capture_action else 5


def _listed(name: str, value: Any, length: int | None = None) -> list[Any]:
    if not isinstance(value, list | tuple) or (length is not None and len(value) != length):
        what = "a list" if length is None else f"a list of {length} numbers"
        raise ConfigError(f"env_args.{name} is {quoted(value)}; it must be {what}.")
    return list(value)


REACHES = {**OF_ALL, **nowhere(" ".join(one.name for one in fields(Options) if one.name != "seed"))}
