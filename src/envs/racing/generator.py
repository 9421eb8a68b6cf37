"""Tracks by seed: straights and bends in random order that do not come near each other."""

from functools import lru_cache

import numpy as np

from envs.racing.state import SPACING
from utils.errors import ConfigError

STRAIGHT = (30.0, 110.0)  # metres
RADIUS = (14.0, 60.0)  # metres of a bend
ANGLE = (0.5, 2.6)  # rad of a bend
EASE = 12  # points in which the curvature of a bend grows to its full value
COARSE = 10  # of so many points, one is compared with the others
ATTEMPTS = 30  # for a piece, before the last ones are taken back
MOST_PIECES = 20_000  # that are tried
USUAL_CLEARANCE = 22.0  # metres


@lru_cache(maxsize=4096)
def generated(seed: int, metres: float, clearance: float) -> np.ndarray:
    """The centre points `[N, 2]` of the track with this seed, `SPACING` apart.

    Args:
        metres: its length, about.
        clearance: the least distance between parts of the track that do not follow one another, metres. Bends grow
            with it beyond 22 m.

    Raises:
        ConfigError: no such track was found.
    """
    rng, wide = np.random.default_rng(seed), max(clearance / USUAL_CLEARANCE, 1.0)
    pieces, wanted = [_piece(0.0, 40.0)], int(metres / SPACING)
    attempts = 0
    for _ in range(MOST_PIECES):
        short = wanted - sum(map(len, pieces))
        if short <= 0:
            points = _points(np.concatenate(pieces))
            points.flags.writeable = False
            return points
        bend = len(pieces) % 2 == 1
        piece = _bend(rng, wide) if bend else _piece(0.0, rng.uniform(*STRAIGHT))
        piece = piece[:short]
        if _is_clear(_points(np.concatenate([*pieces, piece])), len(piece), clearance):
            pieces.append(piece)
            attempts = 0
        elif (attempts := attempts + 1) > ATTEMPTS:
            pieces, attempts = pieces[: max(len(pieces) - 3, 1)], 0
    raise ConfigError(f"env_args.map_cycle: no track of {metres:g} m was found for seed:{seed}. Choose a shorter one.")


def _piece(curvature: float, metres: float) -> np.ndarray:
    """The curvature, 1 / m, of each of its points."""
    return np.full(int(metres / SPACING), curvature)


def _bend(rng: np.random.Generator, wide: float) -> np.ndarray:
    radius, angle, side = wide * rng.uniform(*RADIUS), rng.uniform(*ANGLE), rng.choice((-1.0, 1.0))
    piece = _piece(side / radius, max(angle * radius, 2 * EASE * SPACING))
    ease = np.linspace(0, 1, EASE)
    piece[:EASE] *= ease
    piece[-EASE:] *= ease[::-1]
    return piece


def _points(curvature: np.ndarray) -> np.ndarray:
    heading = np.cumsum(curvature) * SPACING
    steps = SPACING * np.stack([np.cos(heading), np.sin(heading)], axis=1)
    return np.concatenate([np.zeros((1, 2)), np.cumsum(steps, axis=0)])


def _is_clear(points: np.ndarray, new: int, clearance: float) -> bool:
    """Whether the last `new` points keep clear of those before them that are not their neighbours."""
    coarse = points[::COARSE]
    far = int(2.5 * clearance / (SPACING * COARSE)) + 1
    if len(coarse) <= far:
        return True
    first = max(-(-(len(points) - new) // COARSE), far)
    later = np.arange(first, len(coarse))
    distance = np.hypot(*(coarse[later, None] - coarse[None, : len(coarse) - far]).transpose(2, 0, 1))
    known = np.arange(len(coarse) - far) <= later[:, None] - far
    return not (known & (distance < clearance)).any()
