"""Racing's car on a reference line in space, as the stand-in for TrackMania drives it."""

import numpy as np

from envs.racing.batch import BatchedRaces
from envs.racing.state import INPUTS
from envs.trackmania.simulation_state import HEAD, KNOWN_FLAGS

HEIGHT = 10.0  # metres; the world is flat
MOST_RPM = 10_000


class Car:
    """A car at the start of a line.

    Racing's second axis is the game's third, which makes its left the game's right.
    """

    def __init__(self, line_file):
        self._races = BatchedRaces(
            1, [0], map_cycle=[{"track": str(line_file)}], step_ms=10, time_limit=10**6, cut_off_seconds=3600.0
        )
        self._races.reset()

    @property
    def _car(self):
        return self._races.state.cars[0, 0]

    @property
    def finished(self):
        return bool(self._car["finished"])

    def tick(self, left, right, accelerate, brake):
        """Drive for 10 ms."""
        pressed = (accelerate, brake, int(right and not left), int(left and not right))
        self._races.step(np.array([[INPUTS.index(pressed)]]))

    def snapshot(self):
        return self._races.state_dict()

    def restore(self, snapshot):
        self._races.load_state_dict(snapshot)

    def write(self, head):
        """Write where it is into the head of a state."""
        car = self._car
        cos, sin = car["cos"], car["sin"]
        head["position"] = car["x"], HEIGHT, car["y"]
        head["velocity"] = cos * car["forward"] - sin * car["left"], 0, sin * car["forward"] + cos * car["left"]
        # columns: left, up and forward of the car
        head["rotation"] = [[sin, 0, cos], [0, 1, 0], [-cos, 0, sin]]
        head["angular_velocity"] = 0, -car["yaw"], 0
        head["gear"], head["rpm"], head["gearbox"] = car["gear"], MOST_RPM * car["rpm"], car["shifting"] > 0
        head["wheels"]["sliding"] = car["slides"]
        head["wheels"]["contact"], head["wheels"]["damper"], head["wheels"]["material"] = 1, 0.01, 16


def blank_head():
    head = np.zeros(1, HEAD)[0]
    head["flags"] = KNOWN_FLAGS
    return head
