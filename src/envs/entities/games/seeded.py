"""What the games share: a generator of their own, and the check of their arguments."""

import random

from envs.entities import Environment
from utils.errors import ConfigError
from utils.plain_values import quoted


class SeededGame(Environment):
    """A game that draws from its own generator: equal seeds give equal games, whatever else is drawn.

    It draws in the order of entity-gym's game, so that seeds give its games too.
    """

    def __init__(self):
        self._random = random.Random()

    def seed(self, seed: int) -> None:
        self._random.seed(seed)


def require_whole(game: object, least: dict[str, tuple[int, int]]) -> None:
    """Refuse arguments that are no whole numbers, or too small.

    Args:
        least: of each argument its value and the smallest that is allowed.

    Raises:
        ConfigError: it names the game and the argument.
    """
    for key, (value, minimum) in least.items():
        if type(value) is not int or value < minimum:
            raise ConfigError(
                f"{type(game).__name__}: {key}={quoted(value)} must be a whole number, at least {minimum}."
            )
