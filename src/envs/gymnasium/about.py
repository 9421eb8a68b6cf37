"""What the arguments of Gymnasium's environments mean, and the figures that episodes end with."""

from envs.contract.about import SEED, About

ARGUMENTS = {
    "key": "Gymnasium's id, module:Name-v0, file.py:Name-v0, file.py:Class, or envpool:Name-v1",
    "kwargs": "arguments of the environment",
    "wrappers": "Gymnasium's by name, or others as module:Class, such as [{FrameStackObservation: {stack_size: 4}}]",
    "time_limit": "steps of an episode; null: as the id is registered, or the environment's own max_steps",
    "infos": "numbers of the steps' infos that batches keep, by their keys",
    "observe": "entries of a vector that the agent sees, such as [0, 2]; null: all",
    "observation_key": "the part of a Dict that the agent sees, such as position, or /: all in one vector; null: parts",
    "words": "of a text, such as MiniGrid's mission, how many words the agent sees; 0: texts are left out",
    "vectorised": "play the form of the id that is many copies itself (gymnasium.make_vec's vector_entry_point)",
    **SEED,
}
FIGURES = {"<number>": "a number in the environment's own last info"}
ABOUT = About(ARGUMENTS, FIGURES, saved="most small ones, dm_control", drawn="classic control")
