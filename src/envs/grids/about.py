"""What the arguments of PyMARLzoo+'s grid games mean."""

from envs.contract.about import RENDER, REWARD, SEED, STEPS, About

_PRESSURE_PLATE = {
    "key": "the game's id, pressureplate-linear-4p-v0; 5p and 6p have more agents",
    **STEPS,
    **REWARD,
    "agents_layer": "where agents see each other: starts (where they all began, as in the package) or now (where they "
    "are)",
    **RENDER,
    **SEED,
}
_CAPTURE_TARGET = {
    "key": "the game's id, CaptureTarget-6x6-1t-2a-v0",
    **STEPS,
    **REWARD,
    "obs_one_hot": "positions are one-hot; False: two numbers",
    "target_flick_prob": "how often an agent does not see the target",
    "tgt_avoid_agent": "the target moves away from the nearest agent; False: anywhere",
    "tgt_trans_noise": "how often the target goes to the left or right of its direction",
    "agent_trans_noise": "how often an agent goes to the left or right of its direction",
    **RENDER,
    **SEED,
}
_BOX_PUSHING = {
    "key": "the game's id, BoxPushing-6x6-2a-v0",
    **STEPS,
    **REWARD,
    "random_init": "agents start anywhere in the lower half; False: in their corners",
    "starts_inside": "that half is as wide as the board; False: two cells wider, as in the package",
    **RENDER,
    **SEED,
}
PRESSURE_PLATE = About(_PRESSURE_PLATE, saved="yes", drawn="yes")
CAPTURE_TARGET = About(_CAPTURE_TARGET, saved="yes", drawn="yes")
BOX_PUSHING = About(_BOX_PUSHING, saved="yes", drawn="yes")
