#!/usr/bin/env python3
"""3DBall: balance a ball on a plate that two motors tilt (ML-Agents' example, with its observations and rewards).

Each agent sees 8 floats: the plate's tilt about z and x (radians), and the ball's position and velocity beside the
plate's middle (metres, metres a second). Two continuous actions between -1 and 1 turn the plate. Each step on the
plate gives 0.1, a fall -1 and the end; an episode is cut off after 1,000 steps, so the highest return is 100.
Environment parameters: gravity (m/s2).
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from dots_simulator import Simulator, parse_arguments

SECONDS = 0.1  # of a step
TURN = 0.07  # radians a step, at full action
STEEPEST = 0.5  # radians
HALF_PLATE = 2.5  # metres
RADIUS = 0.5  # of the ball, metres
ROLLING = 5 / 7  # of the downhill force moves a solid ball that rolls
EPISODE_LIMIT = 1000


class Plates:
    """Independent plates: arrays with a row for each."""

    def __init__(self, agents: int, seed: int):
        self.random = np.random.default_rng(seed)
        self.tilt = np.zeros((agents, 2))  # that moves the ball along x, and along z
        self.ball = np.zeros((agents, 2))  # x and z from the middle
        self.velocity = np.zeros((agents, 2))
        self.steps = np.zeros(agents, dtype=np.int64)
        self.start(np.arange(agents))

    def start(self, which: np.ndarray) -> None:
        """New episodes."""
        self.tilt[which] = self.random.uniform(-0.17, 0.17, (len(which), 2))
        self.ball[which] = self.random.uniform(-1.5, 1.5, (len(which), 2))
        self.velocity[which] = 0.0
        self.steps[which] = 0

    def step(self, actions: np.ndarray, gravity: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rewards, which balls have fallen, and which episodes are cut off."""
        self.tilt = np.clip(self.tilt + TURN * np.clip(actions, -1.0, 1.0), -STEEPEST, STEEPEST)
        self.velocity += SECONDS * ROLLING * gravity * np.sin(self.tilt)
        self.ball += SECONDS * self.velocity
        self.steps += 1
        fallen: np.ndarray = (np.abs(self.ball) > HALF_PLATE).any(axis=1)
        return np.where(fallen, -1.0, 0.1), fallen, ~fallen & (self.steps >= EPISODE_LIMIT)

    def observations(self) -> np.ndarray:
        """(agents, 8)"""
        down = np.sin(self.tilt)
        height = RADIUS - (self.ball * down).sum(axis=1)
        climb = -(self.velocity * down).sum(axis=1)
        place = [self.ball[:, 0], height, self.ball[:, 1], self.velocity[:, 0], climb, self.velocity[:, 1]]
        return np.stack([self.tilt[:, 0], self.tilt[:, 1], *place], axis=1)

    def state(self) -> dict:
        """All that decides what follows."""
        arrays = {"tilt": self.tilt, "ball": self.ball, "velocity": self.velocity, "steps": self.steps}
        return {**arrays, "random": self.random.bit_generator.state}

    def set_state(self, state: dict) -> None:
        """Continue as after `state()`."""
        self.tilt, self.ball, self.velocity, self.steps = (state[key] for key in ("tilt", "ball", "velocity", "steps"))
        self.random.bit_generator.state = state["random"]


def main() -> None:
    arguments = parse_arguments(__doc__, agents=12)
    everyone = np.arange(arguments.agents)
    plates = Plates(arguments.agents, arguments.seed)
    with Simulator(arguments.memory_path) as simulator:
        balls = simulator.behaviour("3DBall", arguments.agents, observations=[(8,)], continuous=2)
        simulator.offer_state(plates.state, plates.set_state)
        while simulator.exchange():
            if simulator.reset_wanted:
                plates.start(everyone)
                rewards = np.zeros(arguments.agents)
            else:
                rewards, fallen, cut_off = plates.step(balls.continuous, simulator.parameter("gravity", 9.81))
                ended = np.flatnonzero(fallen | cut_off)
                if len(ended):
                    balls.end(ended, [plates.observations()[ended]], rewards[ended], cut_off[ended])
                    plates.start(ended)
                    rewards[ended] = 0.0
            balls.decide(everyone, [plates.observations()], rewards)


if __name__ == "__main__":
    main()
