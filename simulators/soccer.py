#!/usr/bin/env python3
"""Soccer: one against one on small pitches, after ML-Agents' SoccerTwos; two behaviours with opposed rewards.

SoccerBlue plays towards positive x, SoccerPurple towards negative; each sees the pitch from its own side, so that one
set of weights can play both. An agent sees 12 floats: its place and velocity, the ball's place, velocity and way from
the agent, and the way to its opponent. Two discrete actions of three choices push it back, not at all or ahead, and
right, not at all or left. A goal gives 1 to one side and -1 to the other and ends the episode; moving the ball ahead by
the length of the pitch gives 0.5 and costs the other side as much. An episode is cut off after 200 steps.
Statistics: Blue/scored, 1 if Blue scored and 0 if Purple did, of each episode that a goal has ended.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from dots_simulator import Simulator, parse_arguments

SECONDS = 0.1  # of a step
HALF_LENGTH, HALF_WIDTH, HALF_GOAL = 4.0, 2.5, 1.2  # metres
PLAYER, BALL = 0.4, 0.3  # radii, metres
PUSH = 12.0  # metres a second squared
PLAYER_DRAG, BALL_DRAG = 0.7, 0.96  # share of the speed left after a step
KICK = 4.0  # metres a second that a touch gives at least
ADVANCE = 0.5  # reward of the whole length
EPISODE_LIMIT = 200
SIDES = np.array([1.0, -1.0])  # blue, purple: the direction of their play


class Pitches:
    """Independent pitches: arrays with a row for each; of players, blue and then purple."""

    def __init__(self, pitches: int, seed: int):
        self.random = np.random.default_rng(seed)
        self.players = np.zeros((pitches, 2, 2))
        self.speeds = np.zeros((pitches, 2, 2))
        self.ball = np.zeros((pitches, 2))
        self.roll = np.zeros((pitches, 2))
        self.steps = np.zeros(pitches, dtype=np.int64)
        self.start(np.arange(pitches))

    def start(self, which: np.ndarray) -> None:
        """New episodes."""
        count = len(which)
        away = self.random.uniform(1.0, 3.0, (count, 2)) * -SIDES
        across = self.random.uniform(-1.5, 1.5, (count, 2))
        self.players[which] = np.stack([away, across], axis=2)
        self.speeds[which] = 0.0
        self.ball[which] = self.random.uniform([-0.3, -1.5], [0.3, 1.5], (count, 2))
        self.roll[which] = 0.0
        self.steps[which] = 0

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """One step.

        Args:
            actions: (pitches, 2 players, 2 branches).

        Returns:
            rewards (pitches, 2), which side has scored (pitches,): 1 blue, -1 purple, 0; and who is cut off.
        """
        pushes = (actions - 1.0) * SIDES[None, :, None]
        self.speeds = PLAYER_DRAG * self.speeds + SECONDS * PUSH * pushes
        border = np.array([HALF_LENGTH - PLAYER, HALF_WIDTH - PLAYER])
        self.players = np.clip(self.players + SECONDS * self.speeds, -border, border)
        before = self.ball[:, 0]
        self._touch()
        self.roll *= BALL_DRAG
        self.ball = self.ball + SECONDS * self.roll
        scored = self._bounce()
        self.steps += 1
        ahead = ADVANCE * (np.clip(self.ball[:, 0], -HALF_LENGTH, HALF_LENGTH) - before) / (2 * HALF_LENGTH)
        rewards = (scored + ahead)[:, None] * SIDES
        return rewards, scored, (scored == 0) & (self.steps >= EPISODE_LIMIT)

    def _touch(self) -> None:
        """Players move the ball away from them."""
        for player in range(2):
            way = self.ball - self.players[:, player]
            distance = np.maximum(np.linalg.norm(way, axis=1), 1e-6)
            touches = distance < PLAYER + BALL
            way = way / distance[:, None]
            speed = np.maximum((self.speeds[:, player] * way).sum(axis=1) * 1.2, KICK)
            self.roll[touches] = (way * speed[:, None])[touches]
            self.ball[touches] = (self.players[:, player] + way * (PLAYER + BALL))[touches]

    def _bounce(self) -> np.ndarray:
        """The ball meets the border, or a goal: (pitches,) as `step` returns it."""
        in_goal = (np.abs(self.ball[:, 0]) > HALF_LENGTH) & (np.abs(self.ball[:, 1]) < HALF_GOAL)
        border = np.array([HALF_LENGTH, HALF_WIDTH])
        over = np.abs(self.ball) > border
        over[in_goal] = False
        self.roll[over] *= -0.7
        self.ball = np.where(over, np.clip(self.ball, -border, border), self.ball)
        return np.where(in_goal, np.sign(self.ball[:, 0]), 0.0)

    def observations(self) -> np.ndarray:
        """(pitches, 2, 12): everything is turned round for purple."""
        ball, roll = self.ball[:, None], np.broadcast_to(self.roll[:, None], self.players.shape)
        parts = [
            self.players / HALF_LENGTH,
            self.speeds / 4.0,
            np.broadcast_to(ball / HALF_LENGTH, self.players.shape),
            roll / KICK,
            (ball - self.players) / 2.0,
            (self.players[:, ::-1] - self.players) / 2.0,
        ]
        return np.concatenate(parts, axis=2) * SIDES[None, :, None]

    def state(self) -> dict:
        """All that decides what follows."""
        names = ("players", "speeds", "ball", "roll", "steps")
        return {**{name: getattr(self, name) for name in names}, "random": self.random.bit_generator.state}

    def set_state(self, state: dict) -> None:
        """Continue as after `state()`."""
        self.random.bit_generator.state = state.pop("random")
        vars(self).update(state)


def main() -> None:
    arguments = parse_arguments(__doc__, agents=8)
    pitches, everyone = Pitches(arguments.agents, arguments.seed), np.arange(arguments.agents)
    with Simulator(arguments.memory_path) as simulator:
        teams = [
            simulator.behaviour(name, arguments.agents, observations=[(12,)], discrete=(3, 3))
            for name in ("SoccerBlue", "SoccerPurple")
        ]
        simulator.offer_state(pitches.state, pitches.set_state)
        while simulator.exchange():
            if simulator.reset_wanted:
                pitches.start(everyone)
                rewards = np.zeros((arguments.agents, 2))
            else:
                actions = np.stack([team.discrete for team in teams], axis=1)
                rewards, scored, cut_off = pitches.step(actions)
                ended = np.flatnonzero((scored != 0) | cut_off)
                for pitch in np.flatnonzero(scored):
                    simulator.send_statistic("Blue/scored", float(scored[pitch] > 0))
                if len(ended):
                    seen = pitches.observations()[ended]
                    for side, team in enumerate(teams):
                        ids = ended + side * arguments.agents
                        team.end(ids, [seen[:, side]], rewards[ended, side], cut_off[ended])
                    pitches.start(ended)
                    rewards[ended] = 0.0
            seen = pitches.observations()
            for side, team in enumerate(teams):
                team.decide(everyone + side * arguments.agents, [seen[:, side]], rewards[:, side])


if __name__ == "__main__":
    main()
