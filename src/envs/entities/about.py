"""What the arguments of environments of entities mean, and the figures that episodes end with."""

from envs.contract.about import SEED, About

ARGUMENTS = {
    "environment": "a game that is built in (--list entities), or path/to/file.py:ClassName",
    "kwargs": "arguments of its constructor",
    "episode_limit": "steps of an episode, which is truncated then; 0: as the environment says, else 1000",
    "max_entities": "the most entities of a type at a time: a number, or {Mine: 5, ...}; null: as the environment says",
    "max_actors": "the most actors of an action at a time: a number, or {Move: 2, ...}; null: as the environment says",
    **SEED,
}
FIGURES = {
    "<metric>": "a metric of the environment, from the last step's observation",
    "<action>/<choice>": "share of an action's decisions that took this choice in the episode",
}
ABOUT = About(ARGUMENTS, FIGURES, saved="the games; of your own, those of plain values", drawn="yes")
