"""Classic control as replays show it: where the parts are, from an environment's state."""

from collections.abc import Sequence
from math import cos, sin
from typing import Any

Point = tuple[float, float]


def _cartpole(state: Sequence[float]) -> list[Point]:
    """The cart, and the end of the pole."""
    return [(state[0], 0.0), (state[0] + sin(state[2]), cos(state[2]))]


def _pendulum(state: Sequence[float]) -> list[Point]:
    """The axle, and the end of the rod, which is up at the angle 0."""
    return [(0.0, 0.0), (-sin(state[0]), cos(state[0]))]


def _mountain_car(state: Sequence[float]) -> list[Point]:
    """The car, on the mountain."""
    return [(state[0], 0.45 * sin(3 * state[0]) + 0.55)]


def _acrobot(state: Sequence[float]) -> list[Point]:
    """The axle, the joint and the end, which hangs at the angles 0."""
    elbow = (sin(state[0]), -cos(state[0]))
    return [(0.0, 0.0), elbow, (elbow[0] + sin(state[0] + state[1]), elbow[1] - cos(state[0] + state[1]))]


# by the class of the environment: the parts in the order of their links, and the bounds of the picture
DRAWN = {
    "CartPoleEnv": (_cartpole, [-3.0, -0.6, 3.0, 1.6]),
    "PendulumEnv": (_pendulum, [-1.4, -1.4, 1.4, 1.4]),
    "MountainCarEnv": (_mountain_car, [-1.3, -0.1, 0.7, 1.2]),
    "Continuous_MountainCarEnv": (_mountain_car, [-1.3, -0.1, 0.7, 1.2]),
    "AcrobotEnv": (_acrobot, [-2.3, -2.3, 2.3, 2.3]),
}


def snapshot(name: str, state: Sequence[float]) -> dict[str, Any]:
    """The parts of an environment of the class `name`, each linked to the one before; see `MultiAgentEnv`."""
    parts = DRAWN[name][0]([float(number) for number in state])
    units = [{"id": i, "team": 0, "x": x, "y": y, "radius": 0.12 if i else 0.18} for i, (x, y) in enumerate(parts)]
    units[0]["agent"] = 0
    return {"units": units, "links": [{"from": i, "to": i + 1, "kind": "rod"} for i in range(len(parts) - 1)]}


def scene(name: str) -> dict[str, Any]:
    return {"bounds": DRAWN[name][1]}
