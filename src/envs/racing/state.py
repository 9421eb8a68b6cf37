"""The data of the kernel: tracks, races and their cars, the world's constants, and the results.

Structs of plain numbers, as numba compiles them to bare loads and stores, and as a race is saved.
"""

from typing import NamedTuple

import numpy as np

from envs.compiled.structs import struct

TICK_MS = 10  # milliseconds of a tick of the physics
# the line of a track continues beyond start and finish by so many points of SPACING metres
SPACING = 0.5
BEFORE, AFTER = 20, 1000
ROW = 12  # zones from one row of the grid to the next
FIRST = 1  # the first zone with a midpoint before it
# 3 steerings x {accelerate, nothing, brake, both}
INPUTS = tuple(
    (accelerate, brake, left, right)
    for accelerate, brake in ((1, 0), (0, 0), (0, 1), (1, 1))
    for left, right in ((0, 0), (1, 0), (0, 1))
)
PREVIOUS = 5  # actions in the float view
MOST_GEARS = 8
CAR_RADIUS = 1.0  # metres
WHEELS = 4  # front left, front right, rear left, rear right
GEAR_AND_WHEELS = 32
OTHERS = 4  # numbers of another car in the float view

POINT = struct(
    [
        ("x", "f8"),  # zone centre, metres
        ("y", "f8"),
        ("mid_x", "f8"),  # midpoint before the zone
        ("mid_y", "f8"),
        ("axis_x", "f8"),  # direction from this midpoint to the next one
        ("axis_y", "f8"),
        ("length", "f8"),  # between the two
        ("metres", "f8"),  # along the midpoints from the start to this one; negative before the start
    ]
)
TRACK = struct(
    [
        ("offset", "i8"),  # of its points in the array of all tracks' points
        ("count", "i8"),
        ("start", "i8"),  # zone of the start
        ("finish", "i8"),  # zone of the finish, the last one that is entered on the way
        ("entry", "i8"),  # zone of a car that has finished
        ("metres", "f8"),  # of a car that has finished
        ("half_width", "f8"),
        ("picture", "i8"),  # offset of its raster in the array of all tracks' rasters
        ("columns", "i8"),
        ("rows", "i8"),
        ("cell", "f8"),  # metres of a side of the raster's cells
        ("left", "f8"),  # of the raster's corner, metres
        ("bottom", "f8"),
    ]
)
CAR = struct(
    [
        ("x", "f8"),
        ("y", "f8"),
        ("cos", "f8"),  # of the heading
        ("sin", "f8"),
        ("forward", "f8"),  # velocity in the car's frame, m/s
        ("left", "f8"),
        ("yaw", "f8"),  # rad/s, counter-clockwise
        ("steer", "f8"),  # angle of the front wheels
        ("rpm", "f8"),  # share of the most
        ("shifting", "i8"),  # ticks until the gear has power
        ("gear", "i8"),
        ("changes", "i8"),  # of gears so far
        ("slides", "u1", (WHEELS,)),  # which wheels slide
        ("off", "u1", (WHEELS,)),  # which wheels are on grass
        ("hits", "i8"),  # ticks of the last step in which it touched a wall or a car
        ("near", "i8"),  # zone whose centre is nearest, followed tick by tick
        ("zone", "i8"),
        ("furthest", "i8"),
        ("metres", "f8"),
        ("begun", "f8"),  # the metres at which it began
        ("idle_ms", "i8"),  # since it last entered a new furthest zone
        ("race_ms", "i8"),
        ("playing", "i8"),
        ("finished", "i8"),
        ("last", "i8", (PREVIOUS,)),  # actions, the newest last; -1 before the first
    ]
)
RACE = struct(
    [
        ("seed", "i8"),
        ("episode", "i8"),  # number of the race; -1 before the first
        ("track", "i8"),
        ("step", "i8"),
        ("ended", "i8"),
        ("whole", "i8"),  # whether it began at the start
        ("begin", "i8"),  # the zone at which it began
        ("first", "i8"),  # the car in the last slot of its grid
    ]
)
WORLD = struct(
    [
        ("ticks", "i8"),  # of a step
        ("step_limit", "i8"),
        ("cut_off_ms", "i8"),
        ("walls", "i8"),
        ("contact", "i8"),
        ("gears", "i8"),  # 0: none
        ("tops", "f8", (MOST_GEARS + 1,)),  # of gear k: its highest speed, m/s
        ("grip", "f8"),  # m/s2 that tyres hold on the road
        ("time_reward", "f8"),  # per millisecond
        ("metre_reward", "f8"),
        ("speed_reward", "f8"),  # at the finish, per m/s
        ("gain_reward", "f8"),  # per m/s gained in a step that does not end the race
        ("speedslide_reward", "f8"),  # these four as Linesight engineers them, `kernel.rewards`
        ("neoslide_reward", "f8"),
        ("kamikaze_reward", "f8"),
        ("close_reward", "f8"),
        ("point_potential", "f8"),  # of the direction along the track
        ("back_reach", "f8"),  # metres within which a zone before is gone back to
        ("zones_ahead", "i8"),
        ("zones_every", "i8"),
        ("seen_cars", "i8"),
        ("height", "i8"),  # pixels of the picture; 0: none
        ("width", "i8"),
    ]
)


class Tracks(NamedTuple):
    """All tracks of an environment."""

    tracks: np.ndarray  # [M] TRACK
    points: np.ndarray  # [P] POINT
    raster: np.ndarray  # [R] uint8: the greys of the ground


class Views(NamedTuple):
    """What observations are made with; `camera.py` has the camera."""

    mean: np.ndarray  # [F] float32
    scale: np.ndarray  # [F] float32: 1 / deviation
    ground: np.ndarray  # [pixels, 2] float32: the point on the ground that a pixel shows, forward and left


class Races(NamedTuple):
    """The state of B races."""

    race: np.ndarray  # [B] RACE
    cars: np.ndarray  # [B, n] CAR


class Outputs(NamedTuple):
    """What a step leaves, for B races of n cars."""

    floats: np.ndarray  # [B, n, F] float32, "state_float"
    frames: np.ndarray  # [B, n, height, width, 1] uint8
    legal: np.ndarray  # [B, n, 12] uint8
    present: np.ndarray  # [B, n] bool
    zone: np.ndarray  # [B, n] int64, "current_zone_idx"
    furthest: np.ndarray  # [B, n] int64, "furthest_zone_idx"
    metres: np.ndarray  # [B, n] float32, "meters_advanced_along_centerline"
    wheels: np.ndarray  # [B, n, 32] float32, "car_gear_and_wheels"
    potential: np.ndarray  # [B, n] float32
    pressed: np.ndarray  # [B, n] bool, "input_w"
    reward: np.ndarray  # [B, n] float64
    car_terminated: np.ndarray  # [B, n] bool
    car_truncated: np.ndarray  # [B, n] bool
    terminated: np.ndarray  # [B] bool
    truncated: np.ndarray  # [B] bool


def grid_metres(cars: int) -> float:
    """The length of the grid of so many cars."""
    return SPACING * ROW * ((cars - 1) // 2)


def float_size(zones_ahead: int, seen_cars: int) -> int:
    """F, the length of the float view."""
    return 64 + 3 * zones_ahead + OTHERS * seen_cars


def allocate_races(races: int, cars: int) -> Races:
    return Races(np.zeros(races, dtype=RACE), np.zeros((races, cars), dtype=CAR))


def allocate_outputs(races: int, cars: int, floats: int, picture: tuple[int, ...]) -> Outputs:
    each = (races, cars)
    return Outputs(
        np.zeros((*each, floats), np.float32),
        np.zeros((*each, *picture), np.uint8),
        np.ones((*each, len(INPUTS)), np.uint8),
        np.ones(each, bool),
        np.zeros(each, np.int64),
        np.zeros(each, np.int64),
        np.zeros(each, np.float32),
        np.zeros((*each, GEAR_AND_WHEELS), np.float32),
        np.zeros(each, np.float32),
        np.zeros(each, bool),
        np.zeros(each),
        np.zeros(each, bool),
        np.zeros(each, bool),
        np.zeros(races, bool),
        np.zeros(races, bool),
    )
