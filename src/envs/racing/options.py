"""The arguments of a racing world."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from envs.contract.arguments import require_choice, require_numbers
from envs.contract.reaches import OF_ALL, nowhere, numbers_of
from envs.racing import rules
from envs.racing.map_cycle import HALF_WIDTHS, LENGTHS, Race, played, races_of
from envs.racing.rules import Rules
from envs.racing.state import grid_metres
from utils.config.reach import Reach
from utils.errors import ConfigError
from utils.plain_values import quoted

PICTURES_PER_THREAD, CARS_PER_THREAD = 16, 512
REWARDS = ("sum", "mean", "each")
ORDERS = ("cycle", "random")
PICTURE_SIZES = (42, 84)
# the least and the most of each number
BOUNDS: dict[str, tuple[float, float]] = {
    "n_cars": (1, 32),
    "gears": (0, 8),
    "grip": (0.1, 10.0),
    "half_width": HALF_WIDTHS,
    "metres": LENGTHS,
    "zones_ahead": (1, 200),
    "zones_every": (1, 200),
    "start_anywhere": (0.0, 1.0),
}
WHOLE = ("n_cars", "gears", "zones_ahead", "zones_every")
FRAMES = {"frame_width": (16, 640), "frame_height": (16, 480)}  # pixels, if they are given


def _one_track() -> list[Any]:
    return ["seed:1"]


@dataclass
class Options(Rules):
    """Constructor arguments; `about` has their meaning."""

    map_cycle: list[Any] = field(default_factory=_one_track)
    map_order: str = "cycle"
    n_cars: int = 1
    contact: bool = True
    walls: bool = True
    gears: int = 5
    grip: float = 1.0
    half_width: float = 8.0
    metres: float = 600.0
    start_anywhere: float = 0.0
    picture_size: int = 42
    frame_width: int = 0
    frame_height: int = 0
    zones_ahead: int = 40
    zones_every: int = 20
    reward: str = "sum"

    def __post_init__(self):
        self.require_rules()
        for key, allowed in (("reward", REWARDS), ("map_order", ORDERS)):
            require_choice(f"env_args.{key}", getattr(self, key), allowed)
        if self.picture_size not in PICTURE_SIZES:
            raise ConfigError(f"env_args.picture_size is {quoted(self.picture_size)}; it must be 42 or 84.")
        require_numbers(self, BOUNDS, WHOLE)
        require_numbers(self, {key: bounds for key, bounds in FRAMES.items() if getattr(self, key) != 0}, FRAMES)

    def races(self) -> list[Race]:
        """The races of the cycle that is played. Raises ConfigError: an entry is invalid."""
        if not self.map_cycle:
            raise ConfigError("env_args.map_cycle has no track.")
        training = races_of("map_cycle", self.map_cycle, self.half_width, self.metres)
        tests = races_of("test_map_cycle", self.test_map_cycle, self.half_width, self.metres)
        for race in {*training, *tests}:
            if grid_metres(self.n_cars) > race.length / 2:
                raise ConfigError(f"env_args.n_cars: the grid of {self.n_cars} cars is too long for {race.name}.")
        return played(training, tests, "track", self.test_mode)

    @property
    def races_per_thread(self) -> int:
        """For how many races a thread pays: those whose cars take longer than a thread takes to wake up."""
        return -(-(PICTURES_PER_THREAD if self.pictures else CARS_PER_THREAD) // self.n_cars)

    @property
    def picture_shape(self) -> tuple[int, int, int]:
        """Height, width and 1; no pixels without pictures."""
        size = self.picture_size
        return (self.frame_height or size, self.frame_width or size, 1) if self.pictures else (0, 0, 1)

    @property
    def seen_cars(self) -> int:
        return min(self.n_cars - 1, 3)


REACHES: Mapping[str, Reach] = {
    **OF_ALL,
    **rules.REACHES,
    **numbers_of(Options),
    **nowhere("map_order reward"),
}
