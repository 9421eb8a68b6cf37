"""What a race has come to: the info of its steps."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from envs.racing.batch import BatchedRaces

MOST_MAPS = 32  # that have statistics each


def info_of(races: "BatchedRaces", b: int) -> dict[str, Any]:
    """The info of the last step of race b; while it is driven only the map's name.

    At its end:

        race_finished: share of the cars that finished
        race_time: milliseconds of the first that did; missing if none did, or if the race began along the track
        distance: metres along the line from where they began, mean over cars
        <map>/race_finished, <map>/race_time, <map>/distance: the same, of that map, if the cycle has 2 to 32
        end_race_stats: Linesight's, with its `race_time` in any case: that of the cut if the race was cut off
        only_of: the names above whose means are over the races that have them
        best_of: with a race_time: `runners.best_episodes` compares it on its map

    With several cars also `race_times`, milliseconds or None for each.
    """
    race, cars, name = races.state.race[b], races.state.cars[b], races.map_of(b)
    if not race["ended"]:
        return {"map": name}
    finished = cars["finished"] == 1
    info = ended_info(
        name,
        len(races.maps),
        finished,
        cars["race_ms"],
        float((cars["metres"] - cars["begun"]).mean()),
        bool(race["whole"]),
        {"begin": int(race["begin"]), "first": int(race["first"])},
    )
    if len(cars) > 1:
        info["race_times"] = [int(ms) if done else None for ms, done in zip(cars["race_ms"], finished, strict=True)]
    return info


def ended_info(
    name: str,
    maps: int,
    finished: np.ndarray,
    times: np.ndarray,
    distance: float,
    whole: bool = True,
    restart: dict[str, int] | None = None,
) -> dict[str, Any]:
    """The info of a race that has ended.

    Args:
        name: of its map, one of `maps` in the cycle.
        finished: bool `[n]`, the cars that did.
        times: milliseconds `[n]` until the finish or the cut.
        distance: see `info_of`.
        whole: whether it began at the start.
        restart: what is needed to drive it again, beside the name of its map and its actions.
    """
    figures: dict[str, float] = {"race_finished": float(finished.mean()), "distance": distance}
    if whole and finished.any():
        figures["race_time"] = int(times[finished].min())
    of_map = {f"{name}/{key}": value for key, value in figures.items()} if 1 < maps <= MOST_MAPS else {}
    end = {"end_race_stats": _end(finished, times), "only_of": ["race_time", *of_map]}
    if "race_time" in figures:
        end["best_of"] = {"name": name, "least": figures["race_time"], "restart": {"track": name, **(restart or {})}}
    return {"map": name, **figures, **of_map, **end}


def _end(finished: np.ndarray, times: np.ndarray) -> dict[str, Any]:
    ms = int(times[finished].min() if finished.any() else times.max())
    return {"race_finished": bool(finished.any()), "race_time": ms, "race_time_for_ratio": ms}
