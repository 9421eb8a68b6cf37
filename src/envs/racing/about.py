"""What the arguments of races mean, and the figures that episodes end with."""

from envs.contract.about import SEED, About
from envs.racing.rules import WEIGHTS

_WEIGHTS = {name: option.sentence for name, option in WEIGHTS.items()}
# of races on tracks and on the game's maps
RULES = {
    "step_ms": "milliseconds of a step, a multiple of 10",
    "time_limit": "steps of a race, after which it is cut off",
    "cut_off_seconds": "a race is cut off after so long without a new furthest zone",
    "view": "what a car sees: float (a vector), picture, or both",
    "normalise": "scale the float view by fixed means and deviations",
    "state": "have the field state, for mixers and central critics",
    **_WEIGHTS,
    "final_speed": "final_speed_reward_per_m_per_s pays the speed at the finish (finish), or in each step before it "
    "what was gained (gain, Linesight)",
    "zone_back": "a zone is left backwards if the one before is nearer (nearer), or if it is also within 45 m (reach, "
    "Linesight)",
    "line_ends": "beyond its ends a line has points 0.5 m apart (spacing), or as far apart as its last two (step, "
    "Linesight)",
    "greedy_every": "of so many races of training the last is played greedily, and learned from; 0: none; Linesight: 5",
    "finish_entry": "where a finished race is: at the line (line), or a zone and 0.75 m beyond it (beyond, Linesight)",
    **SEED,
}
FRAMES = {"frame_width": "pixels of a picture's width", "frame_height": "pixels of a picture's height"}
ARGUMENTS = {
    "map_cycle": "tracks, one after another: seed:7, seeds:0-99, a file of centre points (track.npy), or "
    "{track: seed:7, repeat: 4}",
    "test_map_cycle": "tracks of tests; empty: those of training",
    "map_order": "cycle (in turn), or random: each race draws an entry",
    "n_cars": "cars in a race, 1 to 32",
    "contact": "cars bounce off each other; False: they pass through each other",
    "walls": "walls beside the road; False: grass",
    "gears": "of the automatic gearbox, up to 8; 0: none",
    "grip": "of the tyres, in units of 14 m/s2",
    "half_width": "metres from the middle of the road to its edge",
    "metres": "length of tracks by seed, about",
    "start_anywhere": "share of training races that begin anywhere along the track",
    "picture_size": "pixels of a square picture's side: 42 or 84",
    **{name: f"{text}; 0: picture_size" for name, text in FRAMES.items()},
    "zones_ahead": "zone centres in the float view",
    "zones_every": "zones from one of these to the next; a zone is half a metre",
    "reward": "of several cars: sum or mean for the team; or each: one for each car",
    **RULES,
}
FIGURES = {
    "race_finished": "share of the cars that reached the finish",
    "race_time": "milliseconds of the first car that finished, of races that began at the start and were finished",
    "distance": "metres along the line from where the cars began, mean over cars",
    "<map>/race_finished": "race_finished on one map of a cycle of 2 to 32; so are race_time and distance",
}
ABOUT = About(ARGUMENTS, FIGURES, saved="yes", drawn="yes")
