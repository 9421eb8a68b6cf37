"""The weights of what a race pays, which may change over a run (docs/runs.md)."""

from utils.options import Option


def _weight(default: float, sentence: str) -> Option:
    return Option(default, sentence, at_least=-1000, at_most=1000, driven=True)


WEIGHTS = {
    "constant_reward_per_ms": _weight(-6 / 5000, "reward for each millisecond of a race"),
    "reward_per_m_advanced_along_centerline": _weight(5 / 500, "reward for each metre gained along the line"),
    "final_speed_reward_per_m_per_s": _weight(0.0, "reward for each m/s at the finish"),
}
BOUNDS = {key: (weight.at_least, weight.at_most) for key, weight in WEIGHTS.items()}
