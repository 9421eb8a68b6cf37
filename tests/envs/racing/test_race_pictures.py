"""Pictures from behind the car are those of a ray through each pixel."""

import numpy as np
import pytest

from envs.racing.batch import BatchedRaces
from envs.racing.kernel.pictures import BAR, BEHIND, CAR, DASH, EDGE, EYE, FINISH, FOCAL, GROUND, HORIZON, ROAD, SKY
from envs.racing.line import line_of
from envs.racing.tracks import raster_of
from scripted_driver import Driver

OPTIONS = {"map_cycle": ["seed:3"], "metres": 120.0}


def driven(steps, **options):
    made = BatchedRaces(1, seed=1, **OPTIONS, **{"view": "picture", **options})
    made.reset()
    driver = Driver(made)
    for _ in range(steps):
        made.step(driver.actions())
    return made


def grey_at(raster, x, y):
    """The grey of the ground at a place."""
    row, column = int(np.floor((y - raster.bottom) / raster.cell)), int(np.floor((x - raster.left) / raster.cell))
    inside = 0 <= row < raster.cells.shape[0] and 0 <= column < raster.cells.shape[1]
    return raster.cells[row, column] if inside else GROUND


@pytest.mark.parametrize(
    ("shape", "steps"), [((42, 42), 1), ((42, 42), 45), ((84, 84), 45), ((120, 160), 45), ((30, 16), 45)]
)
def test_every_pixel_is_what_its_ray_hits(shape, steps):
    height, width = shape
    made = driven(
        steps, **{"picture_size": width} if height == width else {"frame_height": height, "frame_width": width}
    )
    car, picture = made.state.cars[0, 0], made.outputs.frames[0, 0, :, :, 0]
    raster, sky, heading = raster_of(made.maps[0].line()), height // HORIZON, np.arctan2(car["sin"], car["cos"])
    bar = int(min(abs(car["forward"]) / 60, 1) * width)
    assert picture.shape == shape
    assert (picture[: height // 21, :bar] == BAR).all() and (picture[: height // 21, bar:] == SKY).all()
    assert (picture[height // 21 : sky] == SKY).all()
    wrong = 0
    for row in range(sky, height):
        for column in range(width):
            down, right = (row - sky + 0.5) / (FOCAL * width), (column + 0.5 - width / 2) / (FOCAL * width)
            depth = EYE / down
            ahead, aside = depth - BEHIND, -right * depth
            x = car["x"] + np.cos(heading) * ahead - np.sin(heading) * aside
            y = car["y"] + np.sin(heading) * ahead + np.cos(heading) * aside
            wrong += picture[row, column] != grey_at(raster, x, y)
    assert wrong <= 0.002 * height * width, "but for rounding at the borders of cells"
    assert {ROAD, EDGE, GROUND} <= set(np.unique(picture))


def test_the_ground_is_the_road_its_edges_its_middle_and_the_finish():
    made = driven(0)
    line = made.maps[0].line()
    raster, points = raster_of(line), line.points
    for zone in range(25, line.finish - 2, 7):
        point = points[zone]
        for aside, greys in (
            (0.0, {ROAD, DASH}),
            (4.0, {ROAD}),
            (-7.0, {ROAD}),
            (8.0, {EDGE}),
            (-8.0, {EDGE}),
            (10.0, {GROUND}),
        ):
            place = point["x"] - aside * point["axis_y"], point["y"] + aside * point["axis_x"]
            assert grey_at(raster, *place) in greys
    end = points[line.finish + 2]
    assert grey_at(raster, end["x"] - 3 * end["axis_y"], end["y"] + 3 * end["axis_x"]) == FINISH


def test_a_car_ahead_is_a_box_and_one_behind_is_not_seen():
    made = driven(1, n_cars=2)
    cars = made.state.cars[0]
    for key in ("cos", "sin"):
        cars[key][1] = cars[key][0]
    cars["forward"] = 0
    for ahead, seen in ((12.0, True), (-5.0, False), (-8.0, False)):
        cars["x"][1] = cars["x"][0] + ahead * cars["cos"][0]
        cars["y"][1] = cars["y"][0] + ahead * cars["sin"][0]
        made.step(np.full((1, 2), 3))
        boxes = made.outputs.frames[0, 0, :, :, 0] == CAR
        assert boxes.any() == seen
        if seen:
            rows, columns = (np.flatnonzero(boxes.any(axis=axis)) for axis in (1, 0))
            assert abs(columns.mean() - 20.5) <= 1, "in the middle"
            focal = FOCAL * 42 / (12 + BEHIND)
            assert (rows[0], rows[-1]) == (int(42 // HORIZON + focal * (EYE - 1.2)), int(42 // HORIZON + focal * EYE))
            assert boxes[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].all()


def test_a_huge_track_has_a_coarser_raster():
    way = np.arange(0, 3000, 0.5) * np.sqrt(0.5)
    raster = raster_of(line_of(np.stack([way, way], axis=1), 8.0))
    assert raster.cell > 0.7
    assert raster.cells.size <= 2**23 * 1.01
