"""Arguments that races on tracks and on the game's maps share, and where they are as Linesight has them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from envs.contract.arguments import require_choice, require_numbers
from envs.contract.reaches import nowhere
from envs.racing.line import LineRules
from envs.racing.map_cycle import lasting
from envs.racing.state import TICK_MS
from utils.config.options import Option
from utils.config.reach import Reach
from utils.errors import ConfigError

WEIGHT_BOUNDS = (-1000.0, 1000.0)


def _weight(default: float, sentence: str) -> Option:
    return Option(default, sentence, at_least=WEIGHT_BOUNDS[0], at_most=WEIGHT_BOUNDS[1], driven=True)


# the weights of what a race pays, which may change over a run (docs/runs.md)
WEIGHTS = {
    "constant_reward_per_ms": _weight(-6 / 5000, "reward for each millisecond of a race"),
    "reward_per_m_advanced_along_centerline": _weight(5 / 500, "reward for each metre gained along the line"),
    "final_speed_reward_per_m_per_s": _weight(0.0, "reward for each m/s, as env_args.final_speed says"),
    "engineered_speedslide_reward": _weight(0.0, "reward for each step in the best speedslide, less for other slides"),
    "engineered_neoslide_reward": _weight(0.0, "reward for each step with 2 m/s or more across"),
    "engineered_kamikaze_reward": _weight(
        0.0, "reward for each step of accelerating alone, or with one wheel or none on the ground"
    ),
    "engineered_close_to_vcp_reward": _weight(0.0, "reward in each step for each metre, of 5 to 25, to the zone"),
    "shaped_reward_point_to_vcp_ahead": _weight(
        0.0, "potential for each unit that the heading's cosine to the track's direction is below 1"
    ),
}
# the first of each is Muster's way, the second Linesight's
CHOICES = {
    "zone_back": ("nearer", "reach"),
    "line_ends": ("spacing", "step"),
    "finish_entry": ("line", "beyond"),
    "final_speed": ("finish", "gain"),
}
VIEWS = ("float", "picture", "both")
# the least and the most of each number
BOUNDS: dict[str, tuple[float, float]] = {
    "step_ms": (TICK_MS, 1000),
    "time_limit": (1, 10**6),
    "cut_off_seconds": (0.05, 3600.0),
    "greedy_every": (0, 10**6),
    **dict.fromkeys(WEIGHTS, WEIGHT_BOUNDS),
}
WHOLE = ("step_ms", "time_limit", "greedy_every")
REACHES: Mapping[str, Reach] = {
    **dict.fromkeys(("map_cycle", "test_map_cycle"), Reach("", lasting=lasting)),
    **nowhere(f"view place {' '.join(CHOICES)}"),
}


@dataclass
class Rules:
    """Arguments of an environment of races; `about` has their meaning."""

    map_cycle: list[Any] = field(default_factory=list)
    test_map_cycle: list[Any] = field(default_factory=list)
    step_ms: int = 50
    time_limit: int = 6000
    cut_off_seconds: float = 2.0
    view: str = "float"
    normalise: bool = True
    state: bool = True
    seed: int | Sequence[int] | None = None
    test_mode: bool = False  # set by Muster: whether these races are those of tests
    # set by Muster: number of this copy among those that share its cycle, their number, and number among all of the run
    place: Sequence[int] = (0, 1, 0)
    constant_reward_per_ms: float = WEIGHTS["constant_reward_per_ms"].default
    reward_per_m_advanced_along_centerline: float = WEIGHTS["reward_per_m_advanced_along_centerline"].default
    final_speed_reward_per_m_per_s: float = WEIGHTS["final_speed_reward_per_m_per_s"].default
    engineered_speedslide_reward: float = WEIGHTS["engineered_speedslide_reward"].default
    engineered_neoslide_reward: float = WEIGHTS["engineered_neoslide_reward"].default
    engineered_kamikaze_reward: float = WEIGHTS["engineered_kamikaze_reward"].default
    engineered_close_to_vcp_reward: float = WEIGHTS["engineered_close_to_vcp_reward"].default
    shaped_reward_point_to_vcp_ahead: float = WEIGHTS["shaped_reward_point_to_vcp_ahead"].default
    final_speed: str = "finish"
    zone_back: str = "nearer"
    line_ends: str = "spacing"
    greedy_every: int = 0
    finish_entry: str = "line"

    def require_rules(self) -> None:
        """Raises: ConfigError: an argument is none of its choices, or no number within its bounds."""
        require_numbers(self, BOUNDS, WHOLE)
        for key, allowed in {"view": VIEWS, **CHOICES}.items():
            require_choice(f"env_args.{key}", getattr(self, key), allowed)
        if self.step_ms % TICK_MS:
            raise ConfigError(f"env_args.step_ms is {self.step_ms}; it must be a multiple of {TICK_MS}.")

    def explores(self, race: np.ndarray) -> np.ndarray:
        """Whether cars may explore in these races, by their numbers in the cycle; bool."""
        every = self.greedy_every
        return (race % every != every - 1) if every else np.ones_like(race, dtype=bool)

    @property
    def pictures(self) -> bool:
        return self.view != "float"

    @property
    def line_rules(self) -> LineRules:
        """How lines are read."""
        return LineRules(self.line_ends, self.finish_entry)
