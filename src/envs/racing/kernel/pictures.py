"""The grey picture from behind the car: the ground in perspective, other cars as boxes, the speed as a bar."""

from envs.racing.kernel import compiled
from envs.racing.state import CAR_RADIUS

BEHIND, EYE = 6.0, 6.0  # metres of the camera behind the car's middle, and above ground
FOCAL = 0.55  # of the picture's width
HORIZON = 4  # a HORIZON-th of the rows is sky
SKY, GROUND, ROAD, EDGE, DASH, FINISH = 200, 60, 120, 230, 150, 255
CAR, BAR = 10, 0
BAR_ROWS = 21  # a BAR_ROWS-th of the rows is the bar
TALL = 1.2  # metres of a car's height
FASTEST = 60.0  # m/s of the longest bar
NEAR, FAR = 1.5, 100.0  # metres from the camera within which cars are drawn


@compiled()
def write_picture(cars, i, world, track, raster, ground, out):
    """The picture of car i, uint8 `[height, width, 1]`."""
    car, width, height = cars[i], world.width, world.height
    sky = height // HORIZON
    for row in range(sky):
        for column in range(width):
            out[row, column, 0] = SKY
    scale = 1.0 / track.cell
    cos, sin = car.cos * scale, car.sin * scale
    x, y = (car.x - track.left) * scale, (car.y - track.bottom) * scale
    k = 0
    for row in range(sky, height):
        for column in range(width):
            ahead, aside = ground[k, 0], ground[k, 1]
            across, up = int(x + cos * ahead - sin * aside), int(y + sin * ahead + cos * aside)
            grey = GROUND
            if 0 <= across < track.columns and 0 <= up < track.rows:
                grey = raster[track.picture + up * track.columns + across]
            out[row, column, 0] = grey
            k += 1
    bar = int(min(abs(car.forward) / FASTEST, 1.0) * width)
    for row in range(height // BAR_ROWS):
        for column in range(bar):
            out[row, column, 0] = BAR
    for j in range(cars.size):
        if j != i and cars[j].playing:
            draw_car(car, cars[j], width, height, sky, out)


@compiled()
def draw_car(car, other, width, height, sky, out):
    dx, dy = other.x - car.x, other.y - car.y
    ahead, aside = car.cos * dx + car.sin * dy + BEHIND, car.cos * dy - car.sin * dx
    if ahead < NEAR or ahead > FAR:
        return
    focal = FOCAL * width / ahead
    left = max(int(0.5 * width - focal * (aside + CAR_RADIUS)), 0)
    right = min(int(0.5 * width - focal * (aside - CAR_RADIUS)) + 1, width)
    top = max(int(sky + focal * (EYE - TALL)), 0)
    bottom = min(int(sky + focal * EYE) + 1, height)
    for row in range(top, bottom):
        for column in range(left, right):
            out[row, column, 0] = CAR
