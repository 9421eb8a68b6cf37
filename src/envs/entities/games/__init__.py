"""The examples of entity-gym, by the names that it gives them; imported when chosen."""

from utils.config.registry import Registry, lazy_classes

GAMES = Registry("game")
GAMES.declare(
    "MoveToOrigin",
    "envs.entities.games.move_to_origin:MoveToOrigin",
    "fly a spaceship with two thrusters to the origin in 32 steps",
)
GAMES.declare(
    "CherryPick", "envs.entities.games.cherry_pick:CherryPick", "pick the better half of 32 cherries: select-entity"
)
GAMES.declare(
    "PickMatchingBalls",
    "envs.entities.games.pick_matching_balls:PickMatchingBalls",
    "pick balls of the most frequent colour: select-entity",
)
GAMES.declare("Minefield", "envs.entities.games.minefield:Minefield", "steer a vehicle round mines to a target")
GAMES.declare(
    "MultiSnake",
    "envs.entities.games.multi_snake:MultiSnake",
    "several snakes on one board, each with food of its colour",
)
GAMES.declare(
    "MultiArmedBandit",
    "envs.entities.games.multi_armed_bandit:MultiArmedBandit",
    "one of five arms pays: no entities, one global action",
)
GAMES.declare(
    "NotHotdog", "envs.entities.games.not_hotdog:NotHotdog", "a type without features, and an action without actors"
)
GAMES.declare(
    "Xor", "envs.entities.games.xor:Xor", "the exclusive or of two entities, negated or not: one global action"
)
GAMES.declare("Count", "envs.entities.games.count:Count", "how many beans are there? wrong answers are masked")
GAMES.declare("FloorIsLava", "envs.entities.games.floor_is_lava:FloorIsLava", "one of eight neighbouring tiles is safe")
GAMES.declare(
    "MineSweeper", "envs.entities.games.minesweeper:MineSweeper", "robots clear a field of mines, and a cannon may help"
)
GAMES.declare(
    "RockPaperScissors",
    "envs.entities.games.rock_paper_scissors:RockPaperScissors",
    "the value function sees the opponent's throw, the policy does not",
)
GAMES.declare(
    "TreasureHunt",
    "envs.entities.games.treasure_hunt:TreasureHunt",
    "collect treasures and avoid traps: one global action",
)

# names of entity_gym.examples
ENV_REGISTRY = GAMES
__getattr__ = lazy_classes(__name__, GAMES)
