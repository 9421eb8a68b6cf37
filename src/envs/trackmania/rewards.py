"""What a step of a race pays, and the potential of where the car is."""

from typing import NamedTuple

import numpy as np

from envs.racing.kernel.rewards import engineered
from envs.racing.rules import Rules
from envs.trackmania.float_view import ZONES_EVERY
from envs.trackmania.line import ReferenceLine
from envs.trackmania.simulation_state import SimulationState

NEAR, FAR, PER_METRE = 2.0, 25.0, -0.1  # of the potential


class Standing(NamedTuple):
    """Where a race stands at a moment: milliseconds, metres along the line, metres to the zone's centre, and m/s.

    `velocity` `[3]` is left, up and forward.
    """

    time: int
    metres: float
    distance: float
    velocity: np.ndarray
    contacts: int

    @property
    def speed(self) -> float:
        return float(np.linalg.norm(self.velocity))


def standing(state: SimulationState, time: int, metres: float, distance: float) -> Standing:
    velocity = state["velocity"].astype(np.float64) @ state["rotation"].astype(np.float64)
    return Standing(time, metres, distance, velocity, int((state["wheels"]["contact"] != 0).sum()))


def reward_of(options: Rules, before: Standing, now: Standing, action: int, finished: bool, over: bool) -> float:
    """The reward of a step with this action, after which the race is finished, or over in any way."""
    reward = options.constant_reward_per_ms * (now.time - before.time)
    reward += options.reward_per_m_advanced_along_centerline * (now.metres - before.metres)
    left, _, forward = now.velocity
    if options.final_speed == "finish" and finished:
        reward += options.final_speed_reward_per_m_per_s * now.speed
    if over:
        return float(reward)
    if options.final_speed == "gain" and forward > 0:
        reward += options.final_speed_reward_per_m_per_s * (now.speed - before.speed)
    reward += engineered(
        options.engineered_speedslide_reward,
        options.engineered_neoslide_reward,
        options.engineered_kamikaze_reward,
        options.engineered_close_to_vcp_reward,
        forward,
        left,
        action,
        now.contacts,
        now.distance,
    )
    return float(reward)


def potential_of(options: Rules, state: SimulationState, line: ReferenceLine, zone: int, distance: float) -> float:
    """-0.1 for each metre to the zone's centre, of 2 to 25, and for the direction in which the car looks."""
    potential = PER_METRE * min(max(distance, NEAR), FAR)
    if options.shaped_reward_point_to_vcp_ahead:
        here, there = line.ahead(zone, 2, ZONES_EVERY)
        way = np.linalg.norm(there - here)
        cosine = (there - here) @ state["rotation"].astype(np.float64)[:, 2] / way if way else 1.0
        potential += options.shaped_reward_point_to_vcp_ahead * (cosine - 1)
    return float(potential)
