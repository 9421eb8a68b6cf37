#!/usr/bin/env python3
"""WallJump: get over a wall to a goal, after ML-Agents' example; continuous and discrete actions at once.

Each agent sees 9 floats: its place along and across the court, its height, speed of climbing, whether it stands on
the ground, the wall's height, and the way to the goal (two floats) and to the wall. Two continuous actions between -1
and 1 walk along and across; one discrete action is not to jump, or to jump, which is masked in the air. Only who is
above the wall's top gets past it. The goal gives 1 and ends the episode; each step costs 0.005. An episode is cut off
after 150 steps. Environment parameters: wall_height (metres); without it, each episode draws one between 0 and 1.2.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from dots_simulator import Simulator, parse_arguments

SECONDS = 0.1  # of a step
WALK = 3.0  # metres a second
JUMP = 6.0  # metres a second, upwards
GRAVITY = 12.0
HALF_LENGTH, HALF_WIDTH = 4.0, 2.0  # of the court; the wall stands across its middle
HALF_WALL = 0.25
HIGHEST_WALL = 1.2
NEAR = 0.75  # metres from the goal
STEP_COST = 0.005
EPISODE_LIMIT = 150


class Courts:
    """Independent courts: arrays with a row for each."""

    def __init__(self, agents: int, seed: int):
        self.random = np.random.default_rng(seed)
        self.place = np.zeros((agents, 2))  # along and across
        self.height = np.zeros(agents)
        self.climb = np.zeros(agents)
        self.goal = np.zeros((agents, 2))
        self.wall = np.zeros(agents)
        self.steps = np.zeros(agents, dtype=np.int64)
        self.start(np.arange(agents), None)

    def start(self, which: np.ndarray, wall_height: float | None) -> None:
        """New episodes."""
        across = self.random.uniform(-HALF_WIDTH, HALF_WIDTH, (2, len(which)))
        self.place[which] = np.stack([self.random.uniform(-3.0, -1.0, len(which)), across[0]], axis=1)
        self.goal[which] = np.stack([self.random.uniform(1.5, 3.0, len(which)), across[1]], axis=1)
        drawn = self.random.uniform(0.0, HIGHEST_WALL, len(which))
        self.wall[which] = drawn if wall_height is None else wall_height
        self.height[which] = self.climb[which] = 0.0
        self.steps[which] = 0

    def step(self, walks: np.ndarray, jumps: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rewards, who has reached the goal, and whose episode is cut off."""
        self.climb = np.where(self.on_ground() & (jumps == 1), JUMP, self.climb - SECONDS * GRAVITY)
        self.height = np.maximum(self.height + SECONDS * self.climb, self.floor())
        landed = self.height <= self.floor()
        self.climb[landed] = 0.0
        before = self.place[:, 0]
        place = self.place + SECONDS * WALK * np.clip(walks, -1.0, 1.0)
        place = np.clip(place, [-HALF_LENGTH, -HALF_WIDTH], [HALF_LENGTH, HALF_WIDTH])
        # the wall stops who is not above it, on the side where they came from
        blocked = (self.height < self.wall) & (np.abs(before) >= HALF_WALL)
        side = np.where(before < 0, -1.0, 1.0)
        place[:, 0] = np.where(blocked & (place[:, 0] * side < HALF_WALL), side * HALF_WALL, place[:, 0])
        self.place = place
        self.steps += 1
        arrived = np.linalg.norm(self.goal - self.place, axis=1) < NEAR
        return arrived - STEP_COST, arrived, ~arrived & (self.steps >= EPISODE_LIMIT)

    def floor(self) -> np.ndarray:
        """The height of what is below: the wall's top, or the ground."""
        return np.where(np.abs(self.place[:, 0]) < HALF_WALL, self.wall, 0.0)

    def on_ground(self) -> np.ndarray:
        """Who can jump."""
        return (self.height <= self.floor()) & (self.climb <= 0.0)

    def observations(self) -> np.ndarray:
        """(agents, 9)"""
        way = self.goal - self.place
        parts = [
            self.place / HALF_LENGTH,
            self.height,
            self.climb / JUMP,
            self.on_ground(),
            self.wall,
            way,
            -self.place[:, 0],
        ]
        return np.column_stack(parts)

    def masks(self) -> np.ndarray:
        """(agents, 2): what is not possible."""
        return np.stack([np.zeros(len(self.wall), dtype=bool), ~self.on_ground()], axis=1)

    def state(self) -> dict:
        """All that decides what follows."""
        names = ("place", "height", "climb", "goal", "wall", "steps")
        return {**{name: getattr(self, name) for name in names}, "random": self.random.bit_generator.state}

    def set_state(self, state: dict) -> None:
        """Continue as after `state()`."""
        self.random.bit_generator.state = state.pop("random")
        vars(self).update(state)


def main() -> None:
    arguments = parse_arguments(__doc__, agents=16)
    everyone = np.arange(arguments.agents)
    courts = Courts(arguments.agents, arguments.seed)
    with Simulator(arguments.memory_path) as simulator:
        jumpers = simulator.behaviour("WallJump", arguments.agents, observations=[(9,)], continuous=2, discrete=(2,))
        simulator.offer_state(courts.state, courts.set_state)
        while simulator.exchange():
            wall_height = simulator.parameters.get("wall_height")
            if simulator.reset_wanted:
                courts.start(everyone, wall_height)
                rewards = np.zeros(arguments.agents)
            else:
                rewards, arrived, cut_off = courts.step(jumpers.continuous, jumpers.discrete[:, 0])
                ended = np.flatnonzero(arrived | cut_off)
                if len(ended):
                    jumpers.end(ended, [courts.observations()[ended]], rewards[ended], cut_off[ended])
                    courts.start(ended, wall_height)
                    rewards[ended] = 0.0
            jumpers.decide(everyone, [courts.observations()], rewards, courts.masks())


if __name__ == "__main__":
    main()
