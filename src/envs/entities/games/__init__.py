"""The examples of entity-gym, by the names that it gives them; imported when chosen."""

from utils.config.registry import Registry, lazy_classes

GAMES = Registry("game")
for _name, _module, _description in (
    ("MoveToOrigin", "move_to_origin", "fly a spaceship with two thrusters to the origin in 32 steps"),
    ("CherryPick", "cherry_pick", "pick the better half of 32 cherries: select-entity"),
    ("PickMatchingBalls", "pick_matching_balls", "pick balls of the most frequent colour: select-entity"),
    ("Minefield", "minefield", "steer a vehicle round mines to a target"),
    ("MultiSnake", "multi_snake", "several snakes on one board, each with food of its colour"),
    ("MultiArmedBandit", "multi_armed_bandit", "one of five arms pays: no entities, one global action"),
    ("NotHotdog", "not_hotdog", "a type without features, and an action without actors"),
    ("Xor", "xor", "the exclusive or of two entities, negated or not: one global action"),
    ("Count", "count", "how many beans are there? wrong answers are masked"),
    ("FloorIsLava", "floor_is_lava", "one of eight neighbouring tiles is safe"),
    ("MineSweeper", "minesweeper", "robots clear a field of mines, and a cannon may help"),
    ("RockPaperScissors", "rock_paper_scissors", "the value function sees the opponent's throw, the policy does not"),
    ("TreasureHunt", "treasure_hunt", "collect treasures and avoid traps: one global action"),
):
    GAMES.declare(_name, f"envs.entities.games.{_module}:{_name}", _description)

# names of entity_gym.examples
ENV_REGISTRY = GAMES
__getattr__ = lazy_classes(__name__, GAMES)
