"""Arguments of races: what they pay, and where they are computed as Linesight computes them."""

from dataclasses import dataclass

import numpy as np

from envs.contract.arguments import require_choice, require_number
from envs.contract.reaches import nowhere
from envs.racing.line import LineRules
from utils.config.options import Option

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
MOST_EVERY = 10**6
OF_RULES = nowhere(" ".join(CHOICES))


@dataclass
class Rules:
    """Arguments that races on tracks and on the game's maps share; docs/racing.md and docs/trackmania.md have them."""

    constant_reward_per_ms: float = WEIGHTS["constant_reward_per_ms"].default
    reward_per_m_advanced_along_centerline: float = WEIGHTS["reward_per_m_advanced_along_centerline"].default
    final_speed_reward_per_m_per_s: float = WEIGHTS["final_speed_reward_per_m_per_s"].default
    engineered_speedslide_reward: float = WEIGHTS["engineered_speedslide_reward"].default
    engineered_neoslide_reward: float = WEIGHTS["engineered_neoslide_reward"].default
    engineered_kamikaze_reward: float = WEIGHTS["engineered_kamikaze_reward"].default
    engineered_close_to_vcp_reward: float = WEIGHTS["engineered_close_to_vcp_reward"].default
    shaped_reward_point_to_vcp_ahead: float = WEIGHTS["shaped_reward_point_to_vcp_ahead"].default
    final_speed: str = "finish"  # pays the speed there; "gain": what was gained in each step before
    zone_back: str = "nearer"  # a zone is left backwards if the one before is nearer; "reach": and within 45 m
    line_ends: str = "spacing"  # beyond its ends, a line has points 0.5 m apart; "step": as its last two are
    greedy_every: int = 0  # of so many races of training, the last one is played without exploring; 0: none
    finish_entry: str = "line"  # zone and metres of a finished race; "beyond": a zone and 0.75 m further

    def require_rules(self) -> None:
        """Raises: ConfigError: an argument is none of its choices, or no number."""
        require_number("env_args.greedy_every", self.greedy_every, 0, MOST_EVERY, whole=True)
        for key, allowed in CHOICES.items():
            require_choice(f"env_args.{key}", getattr(self, key), allowed)

    def explores(self, race: np.ndarray) -> np.ndarray:
        """Whether cars may explore in these races, by their numbers in the cycle; bool."""
        every = self.greedy_every
        return (race % every != every - 1) if every else np.ones_like(race, dtype=bool)

    @property
    def line_rules(self) -> LineRules:
        """How lines are read."""
        return LineRules(self.line_ends, self.finish_entry)
