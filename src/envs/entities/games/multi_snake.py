"""MultiSnake of entity-gym: several snakes on one board, each with food of its own colour."""

from collections.abc import Mapping
from typing import Any

from envs.entities import ActionSpace, CategoricalActionMask, CategoricalActionSpace, Entity, Observation, ObsSpace
from envs.entities.games.seeded import SeededGame, require_whole
from utils.errors import ConfigError

HEAD, BODY, FOOD, MOVE = "SnakeHead", "SnakeBody", "Food", "move"
MOVES = {"up": (0, 1), "down": (0, -1), "left": (-1, 0), "right": (1, 0)}
MOST_SNAKES = 9
Cell = tuple[int, int]


class MultiSnake(SeededGame):
    """Snakes move one after another, a cell a step. A snake that eats food of its colour grows by a cell.

    A cell that it grows gives the reward 1 / (max_snake_length - 1) / num_snakes, so the most of an episode is 1. The
    episode ends when a snake leaves the board, moves to where a snake is, its own tail included, or eats food of
    another colour, and when all snakes have their full length. After `max_steps` it is truncated, which entity-gym
    counts as an end. entity-gym's `num_players` is left out: it has one policy play all snakes, but counts the food of
    the first player only.

    Args:
        board_size: cells of a side.
        num_snakes: from 1 to 9.
        max_snake_length: at which a snake grows no more, at least 2.
        max_steps: of an episode.

    Raises:
        ConfigError: a number is too small, or the board cannot hold grown snakes and their food.
    """

    def __init__(self, board_size: int = 10, num_snakes: int = 2, max_snake_length: int = 11, max_steps: int = 180):
        super().__init__()
        least = {"board_size": (board_size, 1), "num_snakes": (num_snakes, 1)}
        require_whole(self, least | {"max_snake_length": (max_snake_length, 2), "max_steps": (max_steps, 1)})
        if num_snakes > MOST_SNAKES:
            raise ConfigError(f"MultiSnake: num_snakes={num_snakes} must be at most {MOST_SNAKES}.")
        if num_snakes * (max_snake_length + 1) > board_size**2:
            raise ConfigError(
                f"MultiSnake: {num_snakes} snakes of {max_snake_length} cells and their food need more than a board of "
                f"{board_size}x{board_size}."
            )
        self.board_size, self.num_snakes, self.max_snake_length = board_size, num_snakes, max_snake_length
        self.max_steps = self.episode_limit = max_steps
        self.snakes: list[list[Cell]] = []  # each from its tail to its head
        self.food: list[tuple[int, Cell]] = []  # colour, and where
        self.step = 0

    def capacity(self) -> dict[str, int]:
        return {HEAD: self.num_snakes, BODY: self.num_snakes * (self.max_snake_length - 1), FOOD: self.num_snakes}

    def max_actors(self) -> dict[str, int]:
        return {MOVE: self.num_snakes}

    def scene(self) -> dict[str, Any]:
        return {"bounds": [-0.5, -0.5, self.board_size - 0.5, self.board_size - 0.5], "grid": 1}

    def obs_space(self) -> ObsSpace:
        entities = {name: Entity(["x", "y", "color"]) for name in (HEAD, BODY, FOOD)}
        return ObsSpace(global_features=["step"], entities=entities)

    def action_space(self) -> dict[str, ActionSpace]:
        return {MOVE: CategoricalActionSpace(list(MOVES))}

    def reset(self) -> Observation:
        self.snakes, self.food, self.step = [], [], 0
        for _ in range(self.num_snakes):
            self.snakes.append([self._free_cell()])
        for colour in range(self.num_snakes):
            self.food.append((colour, self._free_cell()))
        return self._observe()

    def act(self, actions: Mapping[str, Any]) -> Observation:
        crashed, hungry, eaten = False, [], 0
        for (_, i), label in zip(actions[MOVE].actors, actions[MOVE].labels, strict=True):
            x, y = self.snakes[i][-1]
            cell = x + MOVES[label][0], y + MOVES[label][1]
            crashed = crashed or not self._on_board(cell) or any(cell in snake for snake in self.snakes)
            self.snakes[i].append(cell)
            grows = False
            for k, (colour, place) in enumerate(self.food):
                if place == cell:
                    grows = colour == i and len(self.snakes[i]) <= self.max_snake_length
                    crashed, eaten = crashed or colour != i, eaten + grows
                    del self.food[k]
                    hungry.append(i)
                    break
            if not grows:
                del self.snakes[i][0]
        for colour in hungry:  # when all have moved: food must not appear right before a snake
            self.food.append((colour, self._free_cell()))
        self.step += 1
        return self._observe(eaten / (self.max_snake_length - 1) / self.num_snakes, crashed)

    def _observe(self, reward: float = 0.0, crashed: bool = False) -> Observation:
        done = crashed or all(len(snake) >= self.max_snake_length for snake in self.snakes)
        return Observation(
            global_features=[self.step],
            features={
                HEAD: [(*snake[-1], colour) for colour, snake in enumerate(self.snakes)],
                BODY: [(*cell, colour) for colour, snake in enumerate(self.snakes) for cell in snake[:-1]],
                FOOD: [(*cell, colour) for colour, cell in self.food],
            },
            actions={MOVE: CategoricalActionMask(actor_types=[HEAD])},
            reward=reward,
            done=done,
            truncated=not done and self.step >= self.max_steps,
        )

    def _on_board(self, cell: Cell) -> bool:
        return all(0 <= place < self.board_size for place in cell)

    def _free_cell(self) -> Cell:
        while True:
            cell = self._random.randrange(self.board_size), self._random.randrange(self.board_size)
            if not any(cell in snake for snake in self.snakes) and all(cell != place for _, place in self.food):
                return cell
