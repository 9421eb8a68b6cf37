"""Tracks from files of centre points."""

import logging
from functools import lru_cache
from pathlib import Path

import numpy as np

from envs.racing.line import distances, extended, smoothed
from envs.racing.resampling import crossings, resampled
from envs.racing.state import BEFORE, SPACING
from utils.errors import ConfigError
from utils.files.npy_files import read_npy
from utils.plain_values import quoted

log = logging.getLogger("muster")

LEAST_POINTS, MOST_POINTS = 41, 200_000  # 20 m, 100 km
MOST_BYTES = 64 * 2**20
FARTHEST = 1e6  # metres from the origin
TOLERANCE = 0.2  # of the spacing
# of the spacing, in space; lines of real maps have gaps of 0.28 to 1.02 m, the long ones where a car jumps
NEAREST_IN_SPACE, FARTHEST_IN_SPACE = 0.2, 4.0
FLAT = 0.2  # of the spacing: smoothed points that are nearer to each other are a point at which the line turns back


@lru_cache(maxsize=256)
def read_centres(path: str) -> np.ndarray:
    """The centre points `[N, 2]` of a file: `.npy`, or text with a point in each line.

    A point has two numbers, x and y in metres, `SPACING` apart with a tolerance of a fifth; or three, x, height and y,
    as reference lines of TrackMania have, about `SPACING` apart in space. Of these the height is left out; where that
    leaves other gaps, they are resampled, and the log says so.

    Raises:
        ConfigError: the file is missing, unreadable or too large, or its points are invalid; names the first that is.
    """
    where = f"the track {quoted(path)}"
    points = centres_of(points_of(path, where), where)
    points.flags.writeable = False
    return points


def centres_of(found: np.ndarray, where: str) -> np.ndarray:
    """The centre points `[N, 2]` of a track, of the points of a file; see `read_centres`. Raises ConfigError: begins
    with `where`: they are invalid."""
    points, seen = found[:, [0, -1]], ""
    gaps = distances(np.diff(points, axis=0))
    wrong = np.abs(gaps - SPACING) > TOLERANCE * SPACING
    if wrong.any() and found.shape[1] == 3:
        require_gaps_in_space(found, where)
        points, seen = resampled(points), ", seen from above,"
        _say_resampled(where, found, points)
    elif wrong.any():
        k = int(wrong.argmax())
        raise ConfigError(
            f"{where}: points {k} and {k + 1} are {gaps[k]:.3g} m apart; neighbours must be {SPACING} m apart, with a "
            f"tolerance of {TOLERANCE * SPACING:g} m."
        )
    if len(points) < LEAST_POINTS:
        raise ConfigError(f"{where} is {SPACING * (len(points) - 1):g} m long{seen or ','} which is too short.")
    flat = distances(np.diff(smoothed(extended(points)), axis=0)) < FLAT * SPACING
    if flat.any():
        k = max(int(flat.argmax()) - BEFORE, 0)
        place = f"{SPACING * k:g} m after the start" if seen else f"at point {k}"
        raise ConfigError(f"{where}{seen} turns back {place}; a car cannot follow it.")
    return points


def points_of(path: str, where: str) -> np.ndarray:
    """The points `[N, 2 or 3]` of a file, float64. Raises ConfigError: begins with `where`: the file is missing,
    unreadable or too large, or its points are too few, too many, too far away or not finite."""
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


def require_gaps_in_space(points: np.ndarray, where: str) -> None:
    """Raises: ConfigError: begins with `where`: neighbours of `[N, 3]` are too near to each other or too far apart."""
    gaps = distances(np.diff(points, axis=0))
    wrong = (gaps < NEAREST_IN_SPACE * SPACING) | (gaps > FARTHEST_IN_SPACE * SPACING)
    if wrong.any():
        k = int(wrong.argmax())
        raise ConfigError(
            f"{where}: points {k} and {k + 1} are {gaps[k]:.3g} m apart; neighbours must be about {SPACING} m apart, "
            f"from {NEAREST_IN_SPACE * SPACING:g} to {FARTHEST_IN_SPACE * SPACING:g} m."
        )


def _say_resampled(where: str, found: np.ndarray, points: np.ndarray) -> None:
    heights, in_space = found[:, 1], distances(np.diff(found, axis=0)).sum()
    places = crossings(points)
    crossing = ""
    if places:
        times = "once" if len(places) == 1 else f"{len(places)} times, first"
        crossing = (
            f" It crosses itself {times} {SPACING * places[0]:g} m after the start: there a car stays on its own part "
            "of the road, as on a bridge."
        )
    log.info(
        f"{where[0].upper()}{where[1:]} is resampled: racing is flat, and its heights, {heights.min():.4g} to "
        f"{heights.max():.4g} m, are left out. Of {in_space:.0f} m in space, {SPACING * (len(points) - 1):.0f} m are "
        f"left seen from above, in {len(points)} points {SPACING} m apart.{crossing}"
    )


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
        raise ConfigError(f"{where} is not a file of centre points: {quoted(str(error), 200).rstrip('.')}.") from None
