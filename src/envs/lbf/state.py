"""The data of games of level-based foraging."""

from typing import NamedTuple

import numpy as np

from envs.compiled.structs import struct
from envs.lbf.options import Options

NONE, NORTH, SOUTH, WEST, EAST, LOAD = range(6)
N_ACTIONS = 6
WALL = -1

GAME = struct(
    [
        ("seed", "i8"),
        ("episode", "i8"),
        ("draws", "i8"),
        ("ended", "i4"),
        ("t", "i4"),
        ("left", "i4"),  # foods that nobody has loaded
        ("spawned", "i4"),  # the sum of the levels of all foods at the start
    ]
)
# `cell`: in a board with a wall round it, row by row; `target`: which cell it claims; `food`: number of what it loads
PLAYER = struct([("cell", "i4"), ("level", "i4"), ("target", "i4"), ("food", "i4")])
# level 0: it is gone; `loaders`: the sum of their levels; `order`: see `spawn`
FOOD = struct([("cell", "i4"), ("level", "i4"), ("loaders", "i4"), ("order", "i4")])

RULES = struct(
    [
        (name, "i4")
        for name in ("rows", "columns", "width", "limit", "numbers", "whole", "grid", "normalised", "coop", "summed")
    ]
    + [("shuffles_players", "i4"), ("shuffles_foods", "i4"), ("sight", "f4"), ("penalty", "f8")]
)


# of a cell of the board without its wall
PLACE = struct([("row", "f4"), ("column", "f4")])


class Games(NamedTuple):
    game: np.ndarray  # [B] GAME
    players: np.ndarray  # [B, n] PLAYER
    foods: np.ndarray  # [B, F] FOOD, in the order of their cells
    board: np.ndarray  # [B, cells] int8: 0, the number of the food counted from 1, or WALL


class World(NamedTuple):
    """What all games share."""

    rules: np.ndarray  # RULES
    places: np.ndarray  # [cells] PLACE
    levels: np.ndarray  # [n + F, 2] int32, the least and the most of each player and food


def make_world(options: Options) -> World:
    width = options.columns + 2
    players, foods = np.array(options.player_levels, np.int32), np.array(options.food_levels, np.int32)
    rules = np.zeros(1, RULES)
    values = {
        "rows": options.rows,
        "columns": options.columns,
        "width": width,
        "limit": options.limit,
        "numbers": options.numbers,
        "whole": options.seen >= max(options.rows, options.columns) - 1,
        "grid": options.grid_observation,
        "normalised": options.normalize_reward,
        "coop": options.force_coop,
        "summed": options.max_food_level is None,
        "shuffles_players": (players != players[0]).any(),
        "shuffles_foods": (foods != foods[0]).any(),
        "sight": options.seen,
        "penalty": options.penalty,
    }
    for name, value in values.items():
        rules[name] = value
    cells = np.arange((options.rows + 2) * width)
    places = np.zeros(cells.size, PLACE)
    places["row"], places["column"] = cells // width - 1, cells % width - 1
    return World(rules[0], places, np.concatenate([players, foods]))


def allocate_games(copies: int, options: Options) -> Games:
    board = np.full((options.rows + 2, options.columns + 2), WALL, np.int8)
    board[1:-1, 1:-1] = 0
    return Games(
        np.zeros(copies, GAME),
        np.zeros((copies, options.players), PLAYER),
        np.zeros((copies, options.max_num_food), FOOD),
        np.repeat(board.reshape(1, -1), copies, axis=0),
    )
