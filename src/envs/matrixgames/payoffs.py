"""What the games of the package matrixgames pay."""

import numpy as np

from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import quoted

# what all agents get, by the actions of agent 0, agent 1, ...
COMMON: dict[str, list] = {
    "climbing": [[11, -30, 0], [-30, 7, 0], [0, 6, 5]],
    **{f"penalty-{k}": [[-k, 0, 10], [0, 2, 0], [10, 0, -k]] for k in (0, 25, 50, 75, 100)},
    "pdilemma": [[-1, -3], [-3, -2]],
    "trivial": [[11, 8, 0], [8, 7, 0], [0, 0, 0]],
    "linear": [[1, 4, 2], [0, 3, 1], [2, 5, 3]],
    "nonlinear": [[0, 3, 1], [0, 0, 0], [0, 6, 2]],
    "linear-2p": [[1, 5], [5, 9]],
    "nonlinear-2p": [[0, 0], [0, 10]],
    "climbing-3p": [
        [[11, -30, 0], [-30, 0, 0], [0, 0, 0]],
        [[-30, 0, 0], [0, 7, 0], [0, 0, 0]],
        [[0, 0, 0], [0, 0, 0], [0, 6, 5]],
    ],
}
WITH_LAST_ACTIONS = ("climbing", *(name for name in COMMON if name.startswith("penalty-")), "pdilemma")
TWO_STEP = "twostep-2p-v0"
# ordinal games of two agents with two actions (Albrecht and Ramamoorthy 2012): eight digits, those of the joint actions
# 00, 01, 10 and 11, agent 0's before agent 1's
ORDINAL = {
    "nonconflict": """
        44332211 44331221 44322311 44321321 44311322 44233211 44332112 44331122 44322113 44321123 44233112
        44223113 44312213 44311223 44213213 44231132 44221133 44211233 44033022 44123123 44122133
    """,
    "conflict": """
        33422411 33421421 33411422 23421431 23411432 22411433 34422311 34421321 34412312 34411322 24421331 24411332
        34431221 34432211 24431231 34221341 34211342 34122341 34112342 24321341 24311342 34231241 34132241 24331241
        34412213 34411223 33412214 33411224 24411233 32412314 32411324 23411234 22411334 34432112 34431122 34422113
        34421123 33422114 33421124 24431132 24421133 23421134 34211243 24311243 33244211 23344211 22344311 22433411
        34214213 33214214 32214314 24413213 24314213 23413214 23314214 22413314 22314314
    """,
}


def _ordinal_games() -> dict[str, np.ndarray]:
    games = {}
    for kind, listed in ORDINAL.items():
        for number, digits in enumerate(listed.split(), 1):
            games[f"{kind}-{number}"] = np.array([*digits], float).reshape(2, 2, 2).transpose(2, 0, 1)
    return games


def _for_all(payoff: list) -> np.ndarray:
    table = np.array(payoff, float)
    return np.stack([table] * table.ndim)


# name -> `[n, A, ..., A]`
GAMES = {name: _for_all(payoff) for name, payoff in COMMON.items()} | _ordinal_games()
KEYS = (
    *(f"{name}-nostate-v0" for name in GAMES),
    *(f"{name}-laststate-v0" for name in WITH_LAST_ACTIONS),
    TWO_STEP,
)


def payoffs_of(key: str) -> np.ndarray:
    """What is paid in each state of a game, `[states, n, A, ..., A]`; only the two-step game has more than one.

    Raises:
        ConfigError: no such game.
    """
    if key not in KEYS:
        raise ConfigError(f"env_args.key is '{quoted(key)}'; matrixgames has no such game.{suggestion(key, KEYS)}")
    if key == TWO_STEP:
        return np.stack([np.zeros((2, 2, 2)), GAMES["linear-2p"], GAMES["nonlinear-2p"]])
    return GAMES[key.removesuffix("-v0").rpartition("-")[0]][None]
