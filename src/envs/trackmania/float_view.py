"""The 184 numbers that describe a moment of a race, in Linesight's order, and the grey picture."""

from collections.abc import Sequence

import numpy as np

from envs.racing.kernel.floats import FAR, TURNING_AT, UP_AT, VELOCITY_AT, WHEELS_AT, ZONES_AT, scaling_of
from envs.racing.state import GEAR_AND_WHEELS, INPUTS, PREVIOUS, float_size
from envs.trackmania.line import ReferenceLine
from envs.trackmania.simulation_state import WHEEL_COUNT, SimulationState

ZONES_AHEAD, ZONES_EVERY = 40, 20
SIZE = float_size(ZONES_AHEAD, 0)
FORWARD = 0  # the action that stands for those before the race
# surfaces by the low 16 bits of a wheel's contact material; others belong to no group
GROUPS = ({0, 1, 16, 18, 19}, {2, 20}, {5, 6, 8, 17}, {7, 26})  # asphalt, grass, dirt, turbo
GEARBOX, GEAR, RPM, SHIFTING = range(3 * WHEEL_COUNT, 3 * WHEEL_COUNT + 4)
MATERIALS_AT = SHIFTING + 1
UP = np.array([0.0, 1.0, 0.0])
LUMA, SHIFT = (1868, 9617, 4899), 14  # of blue, green, red: 0.114, 0.587, 0.299 in 14 bits


def wheels_of(state: SimulationState, shifting: int) -> np.ndarray:
    """`car_gear_and_wheels`, float32 `[32]`; `shifting`: action steps since the gearbox began to change."""
    values = np.zeros(GEAR_AND_WHEELS, np.float32)
    wheels = state["wheels"]
    values[:WHEEL_COUNT] = wheels["sliding"] != 0
    values[WHEEL_COUNT : 2 * WHEEL_COUNT] = wheels["contact"] != 0
    values[2 * WHEEL_COUNT : 3 * WHEEL_COUNT] = wheels["damper"]
    values[[GEARBOX, GEAR, RPM, SHIFTING]] = state["gearbox"], state["gear"], state["rpm"], shifting
    for wheel, material in enumerate(wheels["material"].tolist()):
        for group, members in enumerate(GROUPS):
            values[MATERIALS_AT + len(GROUPS) * wheel + group] = material & 0xFFFF in members
    return values


def floats_of(
    state: SimulationState,
    wheels: np.ndarray,
    actions: Sequence[int],
    line: ReferenceLine,
    zone: int,
    metres: float,
) -> np.ndarray:
    """The numbers, float32 `[184]`, not scaled. Where there were fewer than `PREVIOUS` actions, the newest of which is
    the last, the car went forward."""
    values = np.zeros(SIZE, np.float32)
    last = [*[FORWARD] * PREVIOUS, *actions][-PREVIOUS:]
    values[1:WHEELS_AT] = np.ravel([INPUTS[action] for action in last])
    values[WHEELS_AT:TURNING_AT] = wheels
    # a row vector times the rotation is the transpose times the vector: from the world into the car's frame
    rotation = state["rotation"].astype(np.float64)
    values[TURNING_AT:VELOCITY_AT] = state["angular_velocity"] @ rotation
    values[VELOCITY_AT:UP_AT] = state["velocity"] @ rotation
    values[UP_AT:ZONES_AT] = UP @ rotation
    centres = line.ahead(zone, ZONES_AHEAD, ZONES_EVERY) - state["position"].astype(np.float64)
    values[ZONES_AT : ZONES_AT + 3 * ZONES_AHEAD] = (centres @ rotation).ravel()
    values[-2:] = min(line.end - metres, FAR), state["freewheeling"] != 0
    return values


def scaling() -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of each number, float32 `[184]` each: racing's, and the game's where it has another unit."""
    mean, deviation = scaling_of(ZONES_AHEAD, ZONES_EVERY, 0)
    dampers = slice(WHEELS_AT + 2 * WHEEL_COUNT, WHEELS_AT + 3 * WHEEL_COUNT)
    mean[dampers], deviation[dampers] = 0.01, 0.05
    mean[WHEELS_AT + RPM], deviation[WHEELS_AT + RPM] = 5000, 3000
    deviation[VELOCITY_AT + 1] = 4.0
    return mean, deviation


def grey_of(pixels: bytes, height: int, width: int) -> np.ndarray:
    """A frame of BGRA pixels in grey, uint8 `[height, width, 1]`."""
    coloured = np.frombuffer(pixels, np.uint8).reshape(height, width, 4)[..., :3].astype(np.uint32)
    return ((coloured @ np.array(LUMA, np.uint32) + (1 << SHIFT - 1)) >> SHIFT).astype(np.uint8)[..., None]
