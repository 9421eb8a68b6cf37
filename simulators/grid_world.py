#!/usr/bin/env python3
"""GridWorld: walk over a grid to the green plus, not to the red cross (ML-Agents' example).

Each agent sees a picture of 20 x 20 pixels with three colours between 0 and 1. One discrete action: stay, up, down,
left, right; moves against the border are masked. The plus gives 1, the cross -1, and the episode ends; each step costs
0.01. An episode is cut off after 100 steps.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from dots_simulator import Simulator, parse_arguments

SIDE = 5  # cells
MOVES = np.array([[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1]])  # rows and columns
STEP_COST = 0.01
EPISODE_LIMIT = 100
PLUS = [[0, 1, 1, 0], [1, 1, 1, 1], [1, 1, 1, 1], [0, 1, 1, 0]]
CROSS = [[1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 1, 0], [1, 0, 0, 1]]
SQUARE = [[0, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0]]
EMPTY, GOAL, PIT, AGENT = range(4)
# pixels of each kind of cell: (kinds, 4, 4, colours)
PICTURES = np.zeros((4, 4, 4, 3), dtype=np.float32)
PICTURES[GOAL, ..., 1] = PLUS
PICTURES[PIT, ..., 0] = CROSS
PICTURES[AGENT, ..., 2] = SQUARE
PIXELS = SIDE * PICTURES.shape[1]


class Grids:
    """Independent grids: cells are counted row by row, and arrays have an entry for each grid."""

    def __init__(self, agents: int, seed: int):
        self.random = np.random.default_rng(seed)
        self.cells = np.zeros((agents, 3), dtype=np.int64)  # of the agent, the goal and the pit
        self.steps = np.zeros(agents, dtype=np.int64)
        self.start(np.arange(agents))

    def start(self, which: np.ndarray) -> None:
        """New episodes: three different cells."""
        self.cells[which] = self.random.random((len(which), SIDE * SIDE)).argsort(axis=1)[:, :3]
        self.steps[which] = 0

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rewards, whose episode has ended, and whose is cut off."""
        places = np.stack(np.divmod(self.cells[:, 0], SIDE), axis=1) + MOVES[actions]
        places = np.clip(places, 0, SIDE - 1)
        self.cells[:, 0] = places[:, 0] * SIDE + places[:, 1]
        self.steps += 1
        goal, pit = self.cells[:, 0] == self.cells[:, 1], self.cells[:, 0] == self.cells[:, 2]
        ended = goal | pit
        return goal - 1.0 * pit - STEP_COST, ended, ~ended & (self.steps >= EPISODE_LIMIT)

    def observations(self) -> np.ndarray:
        """(agents, PIXELS, PIXELS, 3)"""
        kinds = np.zeros((len(self.cells), SIDE * SIDE), dtype=np.int64)
        everyone = np.arange(len(self.cells))
        for place, kind in enumerate((AGENT, GOAL, PIT)):
            kinds[everyone, self.cells[:, place]] = kind
        tiles = PICTURES[kinds.reshape(-1, SIDE, SIDE)]
        return tiles.transpose(0, 1, 3, 2, 4, 5).reshape(-1, PIXELS, PIXELS, 3)

    def masks(self) -> np.ndarray:
        """(agents, moves): what is not possible."""
        places = np.stack(np.divmod(self.cells[:, 0], SIDE), axis=1)[:, None] + MOVES
        return ((places < 0) | (places >= SIDE)).any(axis=2)

    def state(self) -> dict:
        """All that decides what follows."""
        return {"cells": self.cells, "steps": self.steps, "random": self.random.bit_generator.state}

    def set_state(self, state: dict) -> None:
        """Continue as after `state()`."""
        self.cells, self.steps = state["cells"], state["steps"]
        self.random.bit_generator.state = state["random"]


def main() -> None:
    arguments = parse_arguments(__doc__, agents=9)
    everyone = np.arange(arguments.agents)
    grids = Grids(arguments.agents, arguments.seed)
    with Simulator(arguments.memory_path) as simulator:
        walkers = simulator.behaviour(
            "GridWorld", arguments.agents, observations=[(PIXELS, PIXELS, 3)], discrete=(len(MOVES),)
        )
        simulator.offer_state(grids.state, grids.set_state)
        while simulator.exchange():
            if simulator.reset_wanted:
                grids.start(everyone)
                rewards = np.zeros(arguments.agents)
            else:
                rewards, arrived, cut_off = grids.step(walkers.discrete[:, 0])
                ended = np.flatnonzero(arrived | cut_off)
                if len(ended):
                    walkers.end(ended, [grids.observations()[ended]], rewards[ended], cut_off[ended])
                    grids.start(ended)
                    rewards[ended] = 0.0
            walkers.decide(everyone, [grids.observations()], rewards, grids.masks())


if __name__ == "__main__":
    main()
