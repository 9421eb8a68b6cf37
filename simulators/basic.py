#!/usr/bin/env python3
"""Basic: walk along a line of 20 places to one of two goals (ML-Agents' example).

Each agent sees its place, one-hot. One discrete action: stay, left, right. Place 7 gives 0.1 and place 17 gives 1, and
the episode ends; each step costs 0.01. From the start at place 10 the best return is 0.93. An episode is cut off after
100 steps.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from dots_simulator import Simulator, parse_arguments

PLACES, START = 20, 10
GOALS = {7: 0.1, 17: 1.0}
STEP_COST = 0.01
MOVES = np.array([0, -1, 1])
EPISODE_LIMIT = 100


class Walkers:
    """Independent walkers: arrays with an entry for each."""

    def __init__(self, agents: int):
        self.places = np.full(agents, START)
        self.steps = np.zeros(agents, dtype=np.int64)
        self.prize = np.zeros(PLACES)
        self.prize[list(GOALS)] = list(GOALS.values())

    def start(self, which: np.ndarray) -> None:
        """New episodes."""
        self.places[which] = START
        self.steps[which] = 0

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rewards, who has reached a goal, and whose episode is cut off."""
        self.places = np.clip(self.places + MOVES[actions], 0, PLACES - 1)
        self.steps += 1
        prizes = self.prize[self.places]
        arrived = prizes > 0
        return prizes - STEP_COST, arrived, ~arrived & (self.steps >= EPISODE_LIMIT)

    def observations(self) -> np.ndarray:
        """(agents, PLACES)"""
        return np.eye(PLACES)[self.places]

    def state(self) -> dict:
        """All that decides what follows."""
        return {"places": self.places, "steps": self.steps}

    def set_state(self, state: dict) -> None:
        """Continue as after `state()`."""
        self.places, self.steps = state["places"], state["steps"]


def main() -> None:
    arguments = parse_arguments(__doc__, agents=8)
    everyone = np.arange(arguments.agents)
    game = Walkers(arguments.agents)
    with Simulator(arguments.memory_path) as simulator:
        walkers = simulator.behaviour("Basic", arguments.agents, observations=[(PLACES,)], discrete=(len(MOVES),))
        simulator.offer_state(game.state, game.set_state)
        while simulator.exchange():
            if simulator.reset_wanted:
                game.start(everyone)
                rewards = np.zeros(arguments.agents)
            else:
                rewards, arrived, cut_off = game.step(walkers.discrete[:, 0])
                ended = np.flatnonzero(arrived | cut_off)
                if len(ended):
                    walkers.end(ended, [game.observations()[ended]], rewards[ended], cut_off[ended])
                    game.start(ended)
                    rewards[ended] = 0.0
            walkers.decide(everyone, [game.observations()], rewards)


if __name__ == "__main__":
    main()
