"""Tracks from files of centre points."""

from functools import lru_cache
from pathlib import Path

import numpy as np

from envs.racing.line import extended, smoothed
from envs.racing.state import BEFORE, SPACING
from utils.errors import ConfigError
from utils.npy_files import read_npy
from utils.plain_values import shown

LEAST_POINTS, MOST_POINTS = 41, 200_000  # 20 m, 100 km
MOST_BYTES = 64 * 2**20
FARTHEST = 1e6  # metres from the origin
TOLERANCE = 0.2  # of the spacing
FLAT = 0.2  # of the spacing: smoothed points that are nearer to each other are a point at which the line turns back


@lru_cache(maxsize=256)
def read_centres(path: str) -> np.ndarray:
    """The centre points `[N, 2]` of a file: `.npy`, or text with a point in each line.

    A point has two numbers, x and y in metres, or three, x, height and y, as reference lines of TrackMania have; the
    height is left out. They are `SPACING` apart, with a tolerance of a fifth.

    Raises:
        ConfigError: the file is missing, unreadable or too large, or its points are invalid; names the first that is.
    """
    where = f"the track {shown(path)}"
    points = points_of(path, where)[:, [0, -1]]
    gaps = np.hypot(*np.diff(points, axis=0).T)
    wrong = np.abs(gaps - SPACING) > TOLERANCE * SPACING
    if wrong.any():
        k = int(wrong.argmax())
        raise ConfigError(
            f"{where}: points {k} and {k + 1} are {gaps[k]:.3g} m apart; neighbours must be {SPACING} m apart, with a "
            f"tolerance of {TOLERANCE * SPACING:g} m."
        )
    flat = np.hypot(*np.diff(smoothed(extended(points)), axis=0).T) < FLAT * SPACING
    if flat.any():
        k = max(int(flat.argmax()) - BEFORE, 0)
        raise ConfigError(f"{where} turns back at point {k}; a car cannot follow it.")
    points.flags.writeable = False
    return points


def points_of(path: str, where: str) -> np.ndarray:
    """The points `[N, 2 or 3]` of a file, float64.

    Raises:
        ConfigError: begins with `where`: the file is missing, unreadable or too large, or its points are too few, too
            many, too far away or not finite.
    """
    points = _read(Path(path).expanduser(), where)
    if points.ndim != 2 or points.shape[1] not in (2, 3):
        raise ConfigError(f"{where} has the shape {points.shape}; it must have two or three numbers in each line.")
    if not LEAST_POINTS <= len(points) <= MOST_POINTS:
        raise ConfigError(f"{where} has {len(points)} points; it must have {LEAST_POINTS} to {MOST_POINTS}.")
    bad = ~(np.isfinite(points) & (np.abs(points) <= FARTHEST)).all(axis=1)
    if bad.any():
        k = int(bad.argmax())
        raise ConfigError(
            f"{where}: point {k} is {points[k].tolist()}; it must be finite and at most {FARTHEST:g} m away."
        )
    return points


def _read(path: Path, where: str) -> np.ndarray:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ConfigError(f"{where} has more than {MOST_BYTES // 2**20} MiB.")
        if path.suffix == ".npy":
            found = read_npy(path, MOST_BYTES)
        else:
            text = path.read_text(encoding="utf-8")
            rows = [line.replace(",", " ").split() for line in text.splitlines() if line.strip()]
            uneven = next((k for k, row in enumerate(rows) if len(row) != len(rows[0])), None)
            if uneven is not None:
                raise ValueError(f"point {uneven} has {len(rows[uneven])} numbers, and point 0 has {len(rows[0])}")
            found = np.array(rows, dtype=np.float64)
        if found.dtype.kind not in "iuf":
            raise ValueError(f"it holds {found.dtype}, and not numbers")
        return np.asarray(found, dtype=np.float64)
    except OSError as error:
        hint = " Tracks by seed are seed:7 or seeds:0-99." if ":" in path.name else ""
        raise ConfigError(f"{where} cannot be read: {error.strerror or error}.{hint}") from None
    except (ValueError, EOFError) as error:
        raise ConfigError(f"{where} is not a file of centre points: {shown(str(error), 200).rstrip('.')}.") from None
