"""What the arguments of PettingZoo's environments and of EPyMARL's gymma mean, and the figures of their episodes."""

from envs.contract.about import REWARD, SEED, About
from envs.pettingzoo.zoo import ENCODER

_STEPS = {"time_limit": "steps of an episode, if the game does not end it before"}
_PETTINGZOO = {
    "key": "a module or file.py that has parallel_env or env, or the name of a game: pistonball_v6",
    **_STEPS,
    "kwargs": "arguments of the game; or PyMARLzoo+'s text, as \"('n_pistons',4),\"",
    **REWARD,
    "state": "own (the environment's, if it has one), or observations (those of all agents, side by side)",
    "groups": "null: one team; auto: by names, as adversary and agent; or {predators: adversary, prey: [agent_0]}",
    "render_mode": "PyMARLzoo+'s: an argument of the game",
    "trainable_cnn": "PyMARLzoo+'s: True or null; agent=cnn is a network for pictures",
    "partial_observation": "PyMARLzoo+'s: only False or null",
    **dict.fromkeys(ENCODER, "PyMARLzoo+'s: only null, since Muster has no frozen encoders of pictures"),
    **SEED,
}
_GYMMA = {
    "key": "module:Name-v0, Name-v0, pz-<family>-<game>-v<N> (PettingZoo), vmas-<scenario>, or file.py; other words "
    "go to the game",
    **_STEPS,
    **REWARD,
    "pretrained_wrapper": "FrozenTag, RandomTag and PretrainedTag play the prey of pz-mpe-simple-tag-v3, "
    "PretrainedAdversary the adversary of pz-mpe-simple-adversary-v3; null: an agent of the team does",
    "compiled": "play the compiled game of the same rules, if there is one; False: the package's",
    **SEED,
}
FIGURES = {
    "<agent>_<number>": "a number in an agent's last info",
    "<number>": "a number in the last info of the game as a whole",
}
_MPE = "the particle environments"
PETTINGZOO = About(_PETTINGZOO, FIGURES, saved=_MPE, drawn=_MPE)
GYMMA = About(_GYMMA, FIGURES, saved=f"compiled games, {_MPE}", drawn=f"compiled games, {_MPE}")
