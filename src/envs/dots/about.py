"""What the arguments of DOTS mean, and the figures that episodes end with."""

from envs.contract.about import SEED, About

ARGUMENTS = {
    "executable": "the simulator, such as simulators/ball_3d.py; null: an editor or a simulator attaches by itself; "
    "tests play on it, too, and batch_size_run must be 1",
    "args": "words for the executable; {seed} and {copy} in them are replaced by numbers of this copy",
    "protocol": "auto, 0.3.2 or 0 (in quotes)",
    "folder": "of the shared files; null: in memory for simulators in Python, else <temp>/ml-agents",
    "launch_timeout": "seconds until the simulator attaches",
    "timeout": "seconds for an answer, after which it counts as hung",
    "wake": "offer to pass turns by wake-ups; False: both sides poll",
    "behaviours": "to wait for at the start; empty: those of the first turn",
    "start_turns": "turns in which these may appear",
    "time_limit": "turns of an episode of the run; agents' own episodes begin and end within it",
    "parameters": "environment parameters, such as {gravity: 9.81}",
    "engine": "engine configuration, such as {time_scale: 20, width: 84, height: 84, quality_level: 0, "
    "target_frame_rate: -1}",
    "side_channels": "names of side channels that plugins have registered",
    "masks": "how masks of several branches lie: agents (agent by agent, as Unity writes them) or branches",
    "ids": "of protocol 0 with discrete actions, what tells agents apart: agents (their ids), rows, or auto",
    **SEED,
}
FIGURES = {
    "agent_return": "return of the agents' own episodes that ended in the run's episode; of several groups "
    "<group>/agent_return",
    "agent_length": "steps of these episodes; likewise",
    "<statistic>": "what the simulator sends through its statistics channel",
}
ABOUT = About(ARGUMENTS, FIGURES, saved="simulators that offer their state")
