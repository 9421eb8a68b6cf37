"""The arguments of level-based foraging: those of lbforaging's `ForagingEnv`, by its names."""

from collections.abc import Sequence
from dataclasses import dataclass

from envs.compiled.team_game import TeamOptions
from envs.contract.arguments import LARGEST, require_number, require_numbers
from utils.errors import ConfigError
from utils.plain_values import quoted

# the least and the most of each number; boards and levels fit into 16 bits, numbers of food into 8
BOUNDS: dict[str, tuple[float, float]] = {
    "players": (1, 64),
    "max_num_food": (1, 100),
    "penalty": (0.0, LARGEST),
}
WHOLE = ("players", "max_num_food")
SIDES, SIGHTS, LEVELS = (3, 100), (1, 100), (1, 1000)
SWITCHES = ("force_coop", "normalize_reward", "grid_observation", "observe_agent_levels")
Level = int | list[int]


@dataclass
class Options(TeamOptions):
    """See docs/lbf.md; a level is one number, or one for each player or food, which every episode deals out in an
    order of its own.

    Args:
        max_food_level: None: the sum of the three lowest levels of the players that were drawn.
        sight: cells that an agent sees in each direction; None: the whole board.
        max_episode_steps: a second limit of time, which the package's ids have; None: `time_limit` alone.
    """

    players: int = 2
    field_size: int | list[int] = 8  # cells of a side, or rows and columns
    max_num_food: int = 2
    sight: int | None = None
    min_player_level: Level = 1
    max_player_level: Level = 2
    min_food_level: Level = 1
    max_food_level: Level | None = None
    force_coop: bool = False
    normalize_reward: bool = True
    grid_observation: bool = False
    observe_agent_levels: bool = True
    penalty: float = 0.0
    max_episode_steps: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        require_numbers(self, BOUNDS, WHOLE)
        sides = [self.field_size] * 2 if isinstance(self.field_size, int) else self.field_size
        if not isinstance(sides, Sequence) or isinstance(sides, str) or len(sides) != 2:
            raise ConfigError(
                f"env_args.field_size is {quoted(self.field_size)}; it must be a number, such as 8, or two."
            )
        for side in sides:
            require_number("env_args.field_size", side, *SIDES, whole=True)
        self.rows, self.columns = sides
        if self.players > self.rows * self.columns:
            raise ConfigError(f"env_args.players is {self.players}; the board has {self.rows * self.columns} cells.")
        for key, bounds in (("sight", SIGHTS), ("max_episode_steps", (1, LARGEST))):
            if (value := getattr(self, key)) is not None:
                require_number(f"env_args.{key}", value, *bounds, whole=True)
        for key in SWITCHES:
            if not isinstance(getattr(self, key), bool):
                raise ConfigError(f"env_args.{key} is {quoted(getattr(self, key))}; it must be True or False.")
        self._require_levels()

    def _require_levels(self) -> None:
        self.player_levels = self._levels("player", self.players)
        self.food_levels = self._levels("food", self.max_num_food)
        if self.max_food_level is None and not self.force_coop:
            least = sum(sorted(low for low, _ in self.player_levels)[:3])
            if (most := max(low for low, _ in self.food_levels)) > least:
                raise ConfigError(
                    f"env_args.min_food_level is {most}, more than the most that food can have with "
                    f"env_args.max_food_level=null: the sum of the three lowest players' levels, which can be {least}."
                )

    def _levels(self, what: str, count: int) -> list[tuple[int, int]]:
        """Of each player or food the least level and the most; without a most, 0."""
        ends = []
        for key in (f"min_{what}_level", f"max_{what}_level"):
            value = getattr(self, key)
            if value is None and key == "max_food_level":
                value = 0
            else:
                for level in [value] if not isinstance(value, list | tuple) else value:
                    require_number(f"env_args.{key}", level, *LEVELS, whole=True)
            if isinstance(value, list | tuple) and len(value) != count:
                raise ConfigError(
                    f"env_args.{key} has {len(value)} levels; it needs one, or {count}, one for each {what}."
                )
            ends.append(list(value) if isinstance(value, list | tuple) else [value] * count)
        levels = list(zip(*ends, strict=True))
        for low, high in levels:
            if high and low > high:
                raise ConfigError(f"env_args.min_{what}_level is {low}, more than env_args.max_{what}_level, {high}.")
        return levels

    @property
    def limit(self) -> int:
        """Steps of an episode."""
        return min(self.time_limit, self.max_episode_steps or self.time_limit)

    @property
    def seen(self) -> int:
        """Cells that an agent sees in each direction."""
        return self.sight or max(self.rows, self.columns)

    @property
    def numbers(self) -> int:
        """How many numbers an agent has of each player."""
        return 3 if self.observe_agent_levels else 2

    @property
    def obs_size(self) -> int:
        if self.grid_observation:
            return 3 * (2 * self.seen + 1) ** 2
        return 3 * self.max_num_food + self.numbers * self.players
