"""A tick of one car: engine and gears, tyres, walls.

A car is a bicycle: each axle carries half of it, and holds it across by a force that grows with the slip of its tyres
and then saturates. Braking takes grip from the rear axle; with the accelerator down it takes more, and the car drifts.
"""

from envs.racing.kernel import compiled
from envs.racing.state import CAR_RADIUS, TICK_MS

DT = TICK_MS / 1000
AXLE = 1.3  # metres from the middle to each axle
TRACK = 0.8  # metres from the middle to the wheels of a side
INERTIA = 1.8  # squared radius of gyration, m2
STIFFNESS = 12.0  # slips of 1 / STIFFNESS rad give 0.7 of the grip
SLIDING = 1.5  # times that slip: tyres are said to slide
PULL, POWER = 10.0, 220.0  # m/s2 at low speed; W/kg
DRAG, ROLLING = 0.00132, 0.15  # per metre; m/s2
BRAKING = 16.0  # m/s2, as far as tyres hold
REVERSE, SLOWEST = 6.0, -8.0  # m/s2, m/s
MOST_STEER, STEER_RATE = 0.45, 4.0  # rad, rad/s
SLOW = 5.0  # m/s, below which slips are those at this speed
BRAKED_REAR, DRIFTING_REAR = 0.7, 0.5  # of the rear axle's grip
SHIFT_UP, SHIFT_DOWN, SHIFT_TICKS = 0.95, 0.8, 10
GRASS_GRIP, GRASS_DRAG = 0.45, 0.35  # share of grip; per second
RESTITUTION, WALL_FRICTION, TURNING = 0.2, 0.3, 0.3  # TURNING: share of the torque of a blow at an axle


@compiled()
def shift(car, world):
    if world.gears == 0:
        car.rpm = min(abs(car.forward) / world.tops[1], 1.0)
        return
    if car.shifting > 0:
        car.shifting -= 1
    elif car.gear < world.gears and car.forward > SHIFT_UP * world.tops[car.gear]:
        car.gear += 1
        car.changes += 1
        car.shifting = SHIFT_TICKS
    elif car.gear > 1 and car.forward < SHIFT_DOWN * world.tops[car.gear - 1]:
        car.gear -= 1
        car.changes += 1
        car.shifting = SHIFT_TICKS
    car.rpm = min(abs(car.forward) / world.tops[car.gear], 1.0)


@compiled()
def pull(car, world, accelerate, brake, grip):
    """The acceleration along the car that engine, brakes and air give, m/s2."""
    speed = car.forward
    gain = -DRAG * speed * abs(speed)
    gain -= ROLLING * min(max(speed, -1.0), 1.0)
    if brake and speed > 1.0:
        gain -= min(BRAKING, grip)
    elif brake and not accelerate:
        if speed > SLOWEST:
            gain -= REVERSE
    elif accelerate and car.shifting == 0:
        power = min(PULL, POWER / max(speed, 1.0))
        if world.gears > 0:
            power *= 0.8 + 0.6 * car.rpm * (1.0 - car.rpm)
        gain += power
    return gain


@compiled()
def hold(slip, grip):
    """The acceleration across an axle, of half the car."""
    s = STIFFNESS * slip
    return 0.5 * grip * s / (1.0 + s * s) ** 0.5


@compiled()
def roll(car, world, accelerate, brake, steering, grip, drag):
    """Move a car by a tick; `steering` is 1 to the left, -1 to the right."""
    shift(car, world)
    speed = abs(car.forward)
    # full steering asks for a little more than the tyres can hold, at any speed
    full = min(MOST_STEER, 1.0 / STIFFNESS + 2.2 * AXLE * world.grip / max(speed * speed, 1.0))
    change = steering * full - car.steer
    car.steer += min(max(change, -STEER_RATE * DT), STEER_RATE * DT)
    flow = max(speed, SLOW)
    slip_front = (car.left + AXLE * car.yaw - car.forward * car.steer) / flow
    slip_rear = (car.left - AXLE * car.yaw) / flow
    braking = brake and car.forward > 1.0
    rear_grip = grip * (DRIFTING_REAR if accelerate else BRAKED_REAR) if braking else grip
    front, rear = hold(slip_front, grip), hold(slip_rear, rear_grip)
    car.forward += DT * (pull(car, world, accelerate, brake, grip) + front * car.steer - drag * car.forward)
    car.left -= DT * (front + rear + drag * car.left)
    car.yaw += DT * AXLE * (rear - front) / INERTIA
    slides = abs(slip_front) * STIFFNESS > SLIDING, abs(slip_rear) * STIFFNESS > SLIDING
    car.slides[0] = car.slides[1] = slides[0]
    car.slides[2] = car.slides[3] = slides[1]
    turn = DT * car.yaw
    cos, sin = 1.0 - 0.5 * turn * turn, turn
    short = 1.5 - 0.5 * (cos * cos + sin * sin)
    cos *= short
    sin *= short
    # the velocity stays, the frame turns
    car.forward, car.left = cos * car.forward + sin * car.left, cos * car.left - sin * car.forward
    car.cos, car.sin = cos * car.cos - sin * car.sin, sin * car.cos + cos * car.sin
    short = 1.5 - 0.5 * (car.cos * car.cos + car.sin * car.sin)
    car.cos *= short
    car.sin *= short
    car.x += DT * (car.cos * car.forward - car.sin * car.left)
    car.y += DT * (car.sin * car.forward + car.cos * car.left)


@compiled()
def push(car, nx, ny, speed):
    """Change a car's velocity by `speed` along (nx, ny)."""
    car.forward += speed * (car.cos * nx + car.sin * ny)
    car.left += speed * (car.cos * ny - car.sin * nx)


@compiled()
def touch_wall(car, point, half_width):
    """Keep a car between the walls: it bounces off, and loses speed along the wall."""
    across = (car.y - point.y) * point.axis_x - (car.x - point.x) * point.axis_y
    room = half_width - CAR_RADIUS
    if abs(across) <= room:
        return
    side = 1.0 if across > 0.0 else -1.0
    nx, ny = -point.axis_y * side, point.axis_x * side  # outwards
    over = abs(across) - room
    car.x -= over * nx
    car.y -= over * ny
    car.hits += 1
    vx, vy = car.cos * car.forward - car.sin * car.left, car.sin * car.forward + car.cos * car.left
    out = vx * nx + vy * ny
    if out <= 0.0:
        return
    stop = (1.0 + RESTITUTION) * out
    along = vx * point.axis_x + vy * point.axis_y
    rub = min(WALL_FRICTION * stop, abs(along))
    push(car, nx, ny, -stop)
    push(car, point.axis_x, point.axis_y, -rub if along > 0.0 else rub)
    # the end that touches is the one that heads outwards, and turns the car along the wall
    heading = car.cos * nx + car.sin * ny
    lever = AXLE if heading > 0.0 else -AXLE
    car.yaw -= TURNING * lever * stop * (car.cos * ny - car.sin * nx) / INERTIA


@compiled()
def off_road(car, point, half_width):
    """How many wheels are on grass; notes which."""
    across = (car.y - point.y) * point.axis_x - (car.x - point.x) * point.axis_y
    along = car.cos * point.axis_x + car.sin * point.axis_y
    turned = car.sin * point.axis_x - car.cos * point.axis_y
    count = 0
    for wheel in range(4):
        ahead = AXLE if wheel < 2 else -AXLE
        aside = TRACK if wheel % 2 == 0 else -TRACK
        off = abs(across + ahead * turned + aside * along) > half_width
        car.off[wheel] = off
        count += off
    return count


@compiled()
def tick(car, world, points, track, accelerate, brake, steering):
    grip, drag = world.grip, 0.0
    if not world.walls:
        share = 0.25 * off_road(car, points[car.near], track.half_width)
        grip *= 1.0 - (1.0 - GRASS_GRIP) * share
        drag = GRASS_DRAG * share
    roll(car, world, accelerate, brake, steering, grip, drag)


@compiled()
def collide(one, other):
    """Two cars, as discs, bounce off each other."""
    dx, dy = other.x - one.x, other.y - one.y
    squared = dx * dx + dy * dy
    if squared >= 4.0 * CAR_RADIUS * CAR_RADIUS or squared == 0.0:
        return
    distance = squared**0.5
    nx, ny = dx / distance, dy / distance
    over = 0.5 * (2.0 * CAR_RADIUS - distance)
    one.x -= over * nx
    one.y -= over * ny
    other.x += over * nx
    other.y += over * ny
    one.hits += 1
    other.hits += 1
    vx = one.cos * one.forward - one.sin * one.left - other.cos * other.forward + other.sin * other.left
    vy = one.sin * one.forward + one.cos * one.left - other.sin * other.forward - other.cos * other.left
    closing = vx * nx + vy * ny
    if closing > 0.0:
        change = 0.5 * (1.0 + RESTITUTION) * closing
        push(one, nx, ny, -change)
        push(other, nx, ny, change)
