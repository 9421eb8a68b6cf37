"""One step of one race: its ticks, then zones, rewards and ends."""

from envs.racing.kernel import compiled
from envs.racing.kernel.driving import collide, tick, touch_wall
from envs.racing.kernel.rewards import engineered
from envs.racing.kernel.zones import metres_of, nearest, squared_distance, zone_of
from envs.racing.state import CAR_RADIUS, PREVIOUS, TICK_MS, WHEELS


@compiled()
def drive(car, world, points, track, action):
    """A tick of a car that does `action`, without other cars."""
    pedals, steering = action // 3, action % 3
    accelerate, brake = pedals == 0 or pedals == 3, pedals >= 2
    tick(car, world, points, track, accelerate, brake, (steering == 1) - (steering == 2) * 1.0)


@compiled()
def follow(car, world, points, track):
    """After a tick: walls, the nearest zone, the finish."""
    car.near = nearest(points, car.near, track.count - 2, car.x, car.y)
    point = points[car.near]
    if world.walls:
        touch_wall(car, point, track.half_width)
    car.race_ms += TICK_MS
    if car.near >= track.finish:
        across = (car.y - point.y) * point.axis_x - (car.x - point.x) * point.axis_y
        if abs(across) <= track.half_width + CAR_RADIUS:
            car.finished = 1
            car.playing = 0


@compiled()
def play(cars, world, points, track, actions):
    n = cars.size
    for _ in range(world.ticks):
        for i in range(n):
            if cars[i].playing:
                drive(cars[i], world, points, track, actions[i])
        if world.contact:
            for i in range(n):
                for j in range(i + 1, n):
                    if cars[i].playing and cars[j].playing:
                        collide(cars[i], cars[j])
        for i in range(n):
            if cars[i].playing:
                follow(cars[i], world, points, track)


@compiled()
def speed_of(car):
    return (car.forward * car.forward + car.left * car.left) ** 0.5


@compiled()
def style_of(car, world, points, action, before_speed):
    """The reward for how a car drives, in a step that does not end its race."""
    reward = engineered(
        world.speedslide_reward,
        world.neoslide_reward,
        world.kamikaze_reward,
        world.close_reward,
        car.forward,
        car.left,
        action,
        WHEELS,  # they never leave the ground
        squared_distance(points[car.zone], car.x, car.y) ** 0.5,
    )
    if car.forward > 0.0:
        reward += world.gain_reward * (speed_of(car) - before_speed)
    return reward


@compiled()
def settle(car, world, points, track, before_ms, step_ms):
    """The end of a step of a car that played: its zone and metres. Returns its reward, and whether it is cut off."""
    before = car.metres
    if car.finished:
        car.zone, car.metres = track.entry, track.metres
    else:
        car.zone = zone_of(points, car.zone, track.finish, car.x, car.y, world.back_reach)
        car.metres = metres_of(points, car.zone, car.x, car.y)
    car.idle_ms += step_ms
    if car.zone > car.furthest:
        car.furthest = car.zone
        car.idle_ms = 0
    reward = world.time_reward * (car.race_ms - before_ms) + world.metre_reward * (car.metres - before)
    if car.finished:
        reward += world.speed_reward * car.forward
    cut = not car.finished and car.idle_ms >= world.cut_off_ms
    if cut:
        car.playing = 0
    return reward, cut


@compiled()
def remember(car, action):
    for k in range(PREVIOUS - 1):
        car.last[k] = car.last[k + 1]
    car.last[PREVIOUS - 1] = action


@compiled()
def step(b, races, tracks, world, actions, outputs):
    """One step of race b; one that has ended stays as it is and pays nothing."""
    race, cars = races.race[b], races.cars[b]
    n = cars.size
    if race.ended:
        for i in range(n):
            outputs.reward[b, i] = 0.0
            outputs.car_terminated[b, i] = outputs.car_truncated[b, i] = False
        return
    track = tracks.tracks[race.track]
    points = tracks.points[track.offset : track.offset + track.count]
    race.step += 1
    step_ms = world.ticks * TICK_MS
    before_ms = (race.step - 1) * step_ms
    for i in range(n):
        cars[i].hits = 0
        outputs.reward[b, i] = speed_of(cars[i])  # before the step, for now
        outputs.present[b, i] = cars[i].playing  # of those that play this step, for now
    play(cars, world, points, track, actions[b])
    playing, finished = 0, 0
    for i in range(n):
        played = outputs.present[b, i]
        outputs.pressed[b, i] = played and (actions[b, i] // 3 == 0 or actions[b, i] // 3 == 3)
        before_speed, outputs.reward[b, i] = outputs.reward[b, i], 0.0
        outputs.car_terminated[b, i] = outputs.car_truncated[b, i] = False
        if played:
            remember(cars[i], actions[b, i])
            reward, cut = settle(cars[i], world, points, track, before_ms, step_ms)
            if cars[i].playing and race.step >= world.step_limit:
                cars[i].playing = 0
                cut = True
            if cars[i].playing:
                reward += style_of(cars[i], world, points, actions[b, i], before_speed)
            outputs.reward[b, i] = reward
            outputs.car_terminated[b, i] = cars[i].finished == 1
            outputs.car_truncated[b, i] = cut
        playing += cars[i].playing
        finished += cars[i].finished
    race.ended = playing == 0
    outputs.terminated[b] = race.ended == 1 and finished == n
    outputs.truncated[b] = race.ended == 1 and finished < n
