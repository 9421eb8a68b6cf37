"""Rewards that Linesight engineers for ways of driving: slides, risks, closeness to the line."""

from envs.racing.kernel import compiled
from envs.racing.state import WHEELS

# friction that tyres have across, in Linesight's units, at 0 km/h, 100, 200, ...
ACROSS = (80.0, 80.0, 75.0, 67.0, 60.0, 55.0)
PER_SPEED = 20.0  # of the same units, for each m/s across
SLIDES = 2.0  # m/s across from which on a car slides
NEAREST, FARTHEST = 5.0, 25.0  # metres to the zone's centre that count
ONE_WHEEL = 1
ONLY_ACCELERATE = 2  # actions up to this press nothing else but steer


@compiled()
def slide_quality(left, forward):
    """0: no slide; 1: the best speedslide; above, the car loses speed. Speeds in m/s."""
    place = min(max(forward * 3.6 / 100.0, 0.0), 5.0)
    before = min(int(place), 4)
    across = ACROSS[before] + (place - before) * (ACROSS[before + 1] - ACROSS[before])
    return max(PER_SPEED * abs(left) - across, 0.0) / across


@compiled()
def engineered(speedslide, neoslide, kamikaze, close, forward, left, action, contacts, distance):
    """The reward of a step by its weights.

    Args:
        forward: m/s, as `left`, at the end of the step.
        action: of the step.
        contacts: wheels that touch the ground.
        distance: metres to the centre of the car's zone.
    """
    reward = 0.0
    if contacts == WHEELS:
        reward += speedslide * max(0.0, 1.0 - abs(slide_quality(left, forward) - 1.0))
    if abs(left) >= SLIDES:
        reward += neoslide
    if action <= ONLY_ACCELERATE or contacts <= ONE_WHEEL:
        reward += kamikaze
    return reward + close * min(max(distance, NEAREST), FARTHEST)
