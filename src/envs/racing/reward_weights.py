"""The weights of what a race pays, which may change over a run (docs/runs.md)."""

from utils.config.options import Option


def _weight(default: float, sentence: str) -> Option:
    return Option(default, sentence, at_least=-1000, at_most=1000, driven=True)


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
BOUNDS = {key: (weight.at_least, weight.at_most) for key, weight in WEIGHTS.items()}
