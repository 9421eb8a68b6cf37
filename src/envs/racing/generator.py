"""Tracks by seed: straights and bends in random order that do not come near each other."""

from functools import lru_cache

import numpy as np

from envs.racing.state import SPACING

STRAIGHT = (30.0, 110.0)  # metres
RADIUS = (14.0, 60.0)  # metres of a bend
ANGLE = (0.5, 2.6)  # rad of a bend
EASE = 12  # points in which the curvature of a bend grows to its full value
COARSE = 10  # of so many points, one is compared with the others
ATTEMPTS = 30  # for a piece, before the last piece is taken back


@lru_cache(maxsize=4096)
def generated(seed: int, metres: float, clearance: float) -> np.ndarray:
    """The centre points `[N, 2]` of the track with this seed, `SPACING` apart.

    Args:
        metres: its length, about.
        clearance: the least distance between parts of the track that do not follow one another, metres.
    """
    rng = np.random.default_rng(seed)
    pieces, wanted = [_piece(0.0, 40.0)], int(metres / SPACING)
    attempts = 0
    while (short := wanted - sum(map(len, pieces))) > 0:
        bend = len(pieces) % 2 == 1
        piece = _bend(rng) if bend else _piece(0.0, rng.uniform(*STRAIGHT))
        piece = piece[:short]
        if _is_clear(_points(np.concatenate([*pieces, piece])), clearance):
            pieces.append(piece)
            attempts = 0
        elif (attempts := attempts + 1) > ATTEMPTS:
            pieces, attempts = pieces[: max(len(pieces) - 3, 1)], 0
    points = _points(np.concatenate(pieces))
    points.flags.writeable = False
    return points


def _piece(curvature: float, metres: float) -> np.ndarray:
    """The curvature, 1 / m, of each of its points."""
    return np.full(int(metres / SPACING), curvature)


def _bend(rng: np.random.Generator) -> np.ndarray:
    radius, angle, side = rng.uniform(*RADIUS), rng.uniform(*ANGLE), rng.choice((-1.0, 1.0))
    piece = _piece(side / radius, max(angle * radius, 2 * EASE * SPACING))
    ease = np.linspace(0, 1, EASE)
    piece[:EASE] *= ease
    piece[-EASE:] *= ease[::-1]
    return piece


def _points(curvature: np.ndarray) -> np.ndarray:
    heading = np.cumsum(curvature) * SPACING
    steps = SPACING * np.stack([np.cos(heading), np.sin(heading)], axis=1)
    return np.concatenate([np.zeros((1, 2)), np.cumsum(steps, axis=0)])


def _is_clear(points: np.ndarray, clearance: float) -> bool:
    coarse = points[::COARSE]
    far = int(2.5 * clearance / (SPACING * COARSE)) + 1
    rests = ((coarse[k + far :], coarse[k]) for k in range(len(coarse) - far))
    return all((np.hypot(*(rest - point).T) >= clearance).all() for rest, point in rests)
