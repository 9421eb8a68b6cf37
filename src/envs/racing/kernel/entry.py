"""The functions that Python calls: one step, one view of many races."""

from envs.racing.kernel import compiled
from envs.racing.kernel.floats import write_floats, write_wheels
from envs.racing.kernel.pictures import write_picture
from envs.racing.kernel.race import step
from envs.racing.kernel.zones import metres_of, pointing_of, potential_of
from envs.racing.state import PREVIOUS, ROW, WHEELS

ASIDE = 0.4  # of the road's half width, from its middle to a car on the grid


@compiled()
def write_view(b, races, tracks, world, views, outputs):
    """What the cars of race b see, and the records of their zones.

    A car whose race has just ended is not present any more, and sees where it ended; later it sees zeros.
    """
    race, cars = races.race[b], races.cars[b]
    track = tracks.tracks[race.track]
    points = tracks.points[track.offset : track.offset + track.count]
    for i in range(cars.size):
        car = cars[i]
        outputs.zone[b, i], outputs.furthest[b, i], outputs.metres[b, i] = car.zone, car.furthest, car.metres
        ahead = min(car.zone + world.zones_every, track.count - 1)
        pointing = pointing_of(points, car.zone, ahead, car.cos, car.sin)
        outputs.potential[b, i] = potential_of(points, car.zone, car.x, car.y) + world.point_potential * pointing
        write_wheels(car, world, outputs.wheels[b, i])
        sees = race.step == 0 or outputs.present[b, i]  # `step` notes who played it
        outputs.present[b, i] = car.playing
        if sees:
            write_floats(cars, i, world, points, track, outputs.wheels[b, i], views, outputs.floats[b, i])
            if world.height > 0:
                write_picture(cars, i, world, track, tracks.raster, views.ground, outputs.frames[b, i])
        else:
            outputs.floats[b, i, :] = 0.0
            outputs.frames[b, i, :] = 0
        if outputs.legal[b, i, 1] != sees:  # those that are out can do action 0
            outputs.legal[b, i, 1:] = sees


@compiled()
def step_all(races, actions, outputs, tracks, worlds, views):
    world = worlds[0]
    for b in range(races.race.size):
        ended = races.race[b].ended
        step(b, races, tracks, world, actions, outputs)
        if not ended:
            write_view(b, races, tracks, world, views, outputs)


@compiled()
def place(race, cars, tracks):
    """Put the cars of a race on the grid: two in a row, the last row at zone `begin`, where car `first` is."""
    track = tracks.tracks[race.track]
    points = tracks.points[track.offset : track.offset + track.count]
    n = cars.size
    for i in range(n):
        car = cars[i]
        slot = (i - race.first) % n
        zone = race.begin + ROW * (slot // 2)
        point = points[zone]
        aside = 0.0
        if n > 1:
            aside = ASIDE * track.half_width * (1.0 if slot % 2 == 0 else -1.0)
        car.x = point.x - aside * point.axis_y
        car.y = point.y + aside * point.axis_x
        car.cos, car.sin = point.axis_x, point.axis_y
        car.forward = car.left = car.yaw = car.steer = car.rpm = 0.0
        car.shifting = car.changes = car.hits = car.idle_ms = car.race_ms = car.finished = 0
        car.gear = car.playing = 1
        car.near = car.zone = car.furthest = zone
        car.metres = car.begun = metres_of(points, zone, car.x, car.y)
        for k in range(WHEELS):
            car.slides[k] = car.off[k] = 0
        for k in range(PREVIOUS):
            car.last[k] = -1


@compiled()
def begin(races, which, outputs, tracks, worlds, views):
    """Start the races `which[b]`, as their records say where."""
    for b in range(races.race.size):
        if which[b]:
            place(races.race[b], races.cars[b], tracks)
            write_view(b, races, tracks, worlds[0], views, outputs)
