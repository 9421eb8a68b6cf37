"""Reference lines from races that were driven: `replay.py RACE --line OUT.npy`, and in the game, `--game PORT`."""

import os
import tempfile
from pathlib import Path

import numpy as np

from utils.errors import ConfigError

NOT_FINISHED = "its race was not finished, and a line ends at the finish"


def write_line(race: Path | None, out: Path, port: int = 0, game_map: str = "") -> None:
    """Write the line of a race and say how it is used.

    Args:
        race: a replay of env=racing, or the folder of a best race of env=racing or env=trackmania; None: the race that
            is driven next in the game on `port`, after `game_map` was loaded, if one is named.

    Raises:
        ConfigError: it has no finished race, its way is no line, or `out` cannot be written.
        MusterError: the game is gone.
    """
    from envs.racing.resampling import line_of_race
    from envs.racing.track_files import centres_of
    from envs.trackmania.line import line_through
    from utils.plain_values import quoted

    if out.suffix != ".npy":
        raise ConfigError(f"--line={quoted(str(out))}: the file of a line ends with .npy.")
    if not out.parent.is_dir():
        raise ConfigError(f"--line={quoted(str(out))}: there is no folder {quoted(str(out.parent))}.")
    if race is not None:
        way, where = way_of(race), f"the way of {quoted(str(race))}"
    else:
        from envs.trackmania.recording import recorded_way

        if '"' in game_map or not (game_map.isprintable() or not game_map):
            raise ConfigError(f"--map={quoted(game_map)}: the console quotes it, so it has no quotes.")
        print(
            f"Waiting for TrackMania on port {port}. Then drive from the start to the finish; a restart begins again."
        )
        way, where = recorded_way(port, game_map), "the way of the race"
    line = line_of_race(way)
    (centres_of if line.shape[1] == 2 else line_through)(line, where)
    _save(line, out)
    metres = np.linalg.norm(np.diff(line, axis=0), axis=1).sum()
    print(f"{out}: {len(line)} points along {metres:.0f} m")
    if line.shape[1] == 2:
        print(f"  --env-config=racing with env_args.map_cycle=\"['{out}']\"")
    else:
        print(
            f"  --env-config=trackmania with env_args.map_cycle=\"[{{'map': '{game_map or 'MAP'}', 'line': '{out}'}}]\""
        )


def way_of(race: Path) -> np.ndarray:
    """Where the car of a race that was recorded was, from its start to its finish: `[T, 2]`, or `[T, 3]` in the game.

    Raises:
        ConfigError: see `write_line`.
    """
    from records.best_episodes import array_of, record_of
    from replays.reader import read_replay

    if not race.is_dir():
        return _way_of_replay(read_replay(race), race)
    if record_of(race).get("env") == "trackmania":
        way = array_of(race, "positions")
        if way is None or way.ndim != 2 or way.shape[1] != 3 or not len(way):
            raise ConfigError(f"{race} has no positions of its race, as of a run of an older version.")
        return way.astype(np.float64)

    from envs.racing.rerun import replay_best

    with tempfile.TemporaryDirectory() as folder:
        return _way_of_replay(read_replay(replay_best(race, folder)), race)


def _way_of_replay(replay, race: Path) -> np.ndarray:
    """Of the first car that finished."""
    try:
        seen = [step["snapshot"]["units"] for step in replay.steps]
        if replay.header.get("env") != "racing" or not seen:
            raise ConfigError(f"{race} is no replay of env=racing: it has no way of a car.")
        times = {i: car["time"] for i, car in enumerate(seen[-1]) if car["finished"]}
        if not times:
            raise ConfigError(f"{race}: {NOT_FINISHED}.")
        first = min(times, key=times.__getitem__)
        return np.array([[cars[first]["x"], cars[first]["y"]] for cars in seen], dtype=np.float64)
    except (LookupError, TypeError, ValueError):
        raise ConfigError(f"{race} is damaged: its cars have no places.") from None


def _save(line: np.ndarray, out: Path) -> None:
    """Whole or not at all."""
    unfinished = out.with_name(f".{out.stem}.{os.getpid()}.npy")
    try:
        try:
            np.save(unfinished, line)
            os.replace(unfinished, out)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"--line={out} cannot be written: {error.strerror or error}.") from None
