"""What copies of a warehouse consist of, in plain numbers.

Cells are numbered row by row, with a rim that nobody enters, as wide as the agents see.
"""

from typing import NamedTuple

import numpy as np

from envs.compiled.structs import struct
from envs.rware.layout import Layout

NOOP, FORWARD, LEFT, RIGHT, TOGGLE_LOAD = range(5)
ACTIONS = ("noop", "forward", "turn left", "turn right", "load or unload")
UP, DOWN, LEFTWARD, RIGHTWARD = range(4)  # directions
OUTSIDE, WAY, SHELVES = range(3)  # ground
EMPTY = -1  # no shelf, no node
INDIVIDUAL, GLOBAL, TWO_STAGE = range(3)  # reward types, as options.REWARD_TYPES

COPY = struct([("seed", "i8"), ("episode", "i8"), ("ended", "i8"), ("draws", "i8"), ("t", "i8"), ("inactive", "i8")])
AGENT = struct(
    [
        ("cell", "i4"),
        ("direction", "i4"),
        ("shelf", "i4"),  # that it carries, or EMPTY
        ("delivered", "i4"),  # whether it has delivered since it last unloaded
        ("message", "i8"),  # its bits
        # of the present step
        ("action", "i4"),
        ("target", "i4"),  # cell where it wants to be
        ("moves", "i4"),
        ("behind", "i4"),  # agents of the longest queue for its cell, itself included
        ("also", "i4"),  # the next agent, in their order, that wants the same cell, counted from 1; 0: there is none
        ("rank", "i4"),  # the place of its cell in networkx's order
    ]
)


class State(NamedTuple):
    copies: np.ndarray  # [B] COPY
    agents: np.ndarray  # [B, n] AGENT
    shelf_cells: np.ndarray  # [B, S] int16
    requested: np.ndarray  # [B, S] uint8
    next_requests: np.ndarray  # [B, G] int16: what is requested after a step's deliveries; EMPTY: drawn shelves
    agent_at: np.ndarray  # [B, C] int16, counted from 1; 0: nobody
    shelf_at: np.ndarray  # [B, C] int16, or EMPTY
    codes: np.ndarray  # [B, C] uint8: 1 + direction of an agent, + 5 for a shelf or 10 for a requested one
    wanted: np.ndarray  # [B, C] int16: the first agent that wants the cell, from 1; zeros between steps
    nodes: np.ndarray  # [B, 2, n + 1] int32, cells: of the present step
    table: np.ndarray  # [B, T] int32, cells: of the present step


class World(NamedTuple):
    """Constants of all copies."""

    ground: np.ndarray  # [C] uint8
    homes: np.ndarray  # [S] int32, the shelves' cells at the start
    inside: np.ndarray  # [H * W] int32, all cells of the warehouse
    goals: np.ndarray  # [G] int32
    own: np.ndarray  # [C, 2] float32, how an agent sees its place
    hashes: np.ndarray  # [C] int64, of the tuples (x, y)
    ahead: np.ndarray  # [4] int32, the step to the next cell of each direction
    window: np.ndarray  # [K] int32, the steps to the cells that an agent sees
    patterns: np.ndarray  # [15, 7] float32, how an agent sees a cell, by its code


RULES = struct(
    [(name, "i8") for name in ("requests", "reward_type", "time_limit", "max_inactivity", "msg_bits", "n_shelves")]
)


def world_of(layout: Layout, sensor_range: int, normalised: bool) -> World:
    (height, width), rim = layout.ways.shape, max(sensor_range, 1)
    ground = np.pad(np.where(layout.ways, WAY, SHELVES), rim).astype(np.uint8)
    cells = np.arange(ground.size, dtype=np.int32).reshape(ground.shape)
    y, x = np.indices(ground.shape) - rim
    own = np.stack([x, y], -1) / (np.maximum([width - 1, height - 1], 1) if normalised else 1)
    row = ground.shape[1]
    sides = np.arange(-sensor_range, sensor_range + 1, dtype=np.int32)
    return World(
        ground.ravel(),
        cells[ground == SHELVES],
        cells[ground != OUTSIDE],
        np.array([cells[y + rim, x + rim] for x, y in layout.goals], np.int32),
        own.astype(np.float32).reshape(-1, 2),
        np.array([hash((int(column), int(line))) for column, line in zip(x.flat, y.flat, strict=True)]),
        np.array([-row, row, -1, 1], np.int32),
        (sides[:, None] * row + sides).ravel(),
        patterns(),
    )


def patterns() -> np.ndarray:
    """An agent, its direction (without one the first), a shelf, a requested one."""
    seen = np.zeros((15, 7), np.float32)
    for code in range(15):
        shelf, agent = divmod(code, 5)
        seen[code, 0] = agent > 0
        seen[code, 1 + max(agent - 1, 0)] = 1.0
        seen[code, 5:] = shelf > 0, shelf > 1
    return seen


def table_size(keys: int) -> int:
    """Slots of CPython's set when so many keys have been added one by one."""
    size = 8
    for used in range(1, keys + 1):
        if 5 * used >= 3 * (size - 1):
            while size <= 4 * used:
                size *= 2
    return size
