"""What the arguments of environments of one file mean, and the figures that their episodes end with."""

from envs.contract.about import REWARD, SEED, STEPS, About

_NO_CHANCE = {"seed": "accepted, since every environment gets one; the game has no chance"}
TWO_STEP = About(_NO_CHANCE, saved="yes", drawn="yes")
MATRIX = About(
    {
        "game": "a table that is built in: climbing, penalty, qtran or one_step (PyMARL2's); not read with payoff",
        "payoff": "payoff[a1][a2]...: a list nested once for each agent; null: the game's",
        "episode_limit": "steps of an episode, which is over then",
        "observe_steps": "agents and state see how many steps were played (PyMARL2's game); False: always 1",
        **_NO_CHANCE,
    },
    saved="yes",
    drawn="yes",
)
LBF = About(
    {
        "key": "the task, by the package's id",
        **STEPS,
        **REWARD,
        "compiled": "the compiled game; False: the package's, which plays 1/500 as many steps a second",
        "players": "agents; null, here and below: as the task has it",
        "field_size": "cells of a side, or [rows, columns]",
        "max_num_food": "foods; fewer where there is no room",
        "sight": "cells that an agent sees in each direction",
        "min_player_level": "lowest level of players: a number, or one for each, in an order that each episode draws",
        "max_player_level": "highest level of players; likewise",
        "min_food_level": "lowest level of foods; likewise",
        "max_food_level": "highest level of foods; null: the sum of the three lowest levels of the players",
        "force_coop": "each food has its highest level",
        "normalize_reward": "all food together is worth 1; False: a food brings a player the product of both levels",
        "grid_observation": "agents see three layers of cells around them",
        "observe_agent_levels": "agents see each other's levels",
        "penalty": "what loading in vain costs",
        "max_episode_steps": "a second limit of steps, which the package's ids have",
        **SEED,
    },
    saved="yes",
    drawn="yes",
)
SMACLITE = About(
    {
        "map_name": "the map (--list smaclite)",
        **STEPS,
        "use_cpp_rvo2": "collision avoidance in C++, which has to be built beside the package",
        **SEED,
    },
    {"battle_won": "share of the battles that were won"},
)
