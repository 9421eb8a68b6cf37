"""What the arguments of OpenSpiel's games mean."""

from envs.contract.about import SEED, About

ABOUT = About(
    {
        "game": "OpenSpiel's name, with parameters in parentheses: leduc_poker(players=3)",
        "observation": "information_state (what a player has seen so far), observation (what there is to see now), or "
        "auto: the first of both that the game has",
        "time_limit": "steps of an episode, which is truncated then; null: the longest game",
        "exploitability": "tests log the exact exploitability of games of at most so many states; 0: never",
        **SEED,
    },
    saved="yes",
    drawn="as text",
)
