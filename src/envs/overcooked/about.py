"""What the arguments of Overcooked mean, and the figures that episodes end with."""

from envs.contract.about import RENDER, REWARD, SEED, STEPS, About

ARGUMENTS = {
    "key": "a kitchen's name (--list overcooked), or a file in Overcooked-AI's form, mine.layout",
    **STEPS,
    **REWARD,
    "reward_type": "sparse (soups), shaped (steps towards them, without the soups, as in PyMARLzoo+), or both",
    **RENDER,
    **SEED,
}
FIGURES = {"soups": "soups that were served"}
ABOUT = About(ARGUMENTS, FIGURES, saved="yes", drawn="yes")
