"""What the arguments of environments written in JAX mean, and the figures that episodes end with."""

from envs.contract.about import REWARD, SEED, About

ARGUMENTS = {
    "key": "smax-3m, jaxmarl:halfcheetah_6x1, jumanji:Cleaner-v0, file.py:Class (--list jax)",
    "kwargs": "arguments of the environment",
    "time_limit": "steps of an episode, which is truncated then; null: the environment's own",
    **REWARD,
    **SEED,
}
FIGURES = {
    "battle_won": "SMAX: share of the battles that were won",
    "<number>": "a number in the environment's own info",
}
ABOUT = About(ARGUMENTS, FIGURES, saved="yes")
