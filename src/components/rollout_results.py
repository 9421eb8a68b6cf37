"""Linesight's dictionary of a race, `rollout_results`, and its `end_race_stats`, from batches of races."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from components.episode_batch import EpisodeBatch
from components.joined_episodes import JoinedEpisode, JoinedEpisodes
from utils.tensors.schemes import shape_of

# (batch entry, time step) of the last step of an episode -> its last info
Infos = Mapping[tuple[int, int], Mapping[str, Any]]
VIEWS = ("frames", "state_float")
RECORDS: dict[str, Callable] = {
    "current_zone_idx": int,
    "meters_advanced_along_centerline": float,
    "furthest_zone_idx": int,
    "car_gear_and_wheels": np.float32,
}
DECISIONS = ("action_was_greedy", "q_values")


@dataclass
class RaceResults:
    """A race of one car: the car, the row of the batch in which it ended, and its two dictionaries."""

    row: int
    car: int
    rollout_results: dict[str, Any]
    end_race_stats: dict[str, Any]


class RolloutResults:
    """The races that end in batches of `env=racing` or `env=trackmania`.

    `rollout_results` has these lists with an entry for each step: `current_zone_idx` and
    `meters_advanced_along_centerline` (numbers), `input_w` (bool), `actions` (int), `car_gear_and_wheels` (float32
    `[32]`); where the view has them, `frames` (uint8 `[1, H, W]`) and `state_float` (float32); where decisions came
    with them, `action_was_greedy` (bool) and `q_values` (float32 `[n_actions]`). `furthest_zone_idx` is one number.
    If the car finished, all lists but `state_float` and `q_values` have one more entry: zone and metres of the finish,
    and NaN; and `race_time` has the milliseconds, if the race's info was given.

    `end_race_stats` is that of the info, and from the first Q-values `value_starting_frame`, the largest, and
    `q_value_<i>_starting_frame`.

    Args:
        scheme: of the batches.
    """

    def __init__(self, scheme: Mapping[str, Any]):
        views = {name: f"obs/{name}" for name in VIEWS if f"obs/{name}" in scheme}
        if "obs" in scheme:
            views["frames" if len(shape_of(scheme["obs"])) == 3 else "state_float"] = "obs"
        own = [name for name in ("input_w", "actions", *RECORDS, *DECISIONS) if name in scheme]
        ends = [path for path in ("agents/terminated", "agents/truncated") if path in scheme]
        self._paths = {**views, **{name: name for name in own}}
        self._joined = JoinedEpisodes([*self._paths.values(), *ends])

    def take(self, batch: EpisodeBatch, infos: Infos | None = None) -> list[RaceResults]:
        """The races that end in a batch: whole episodes, or the rollout after the last one.

        Args:
            infos: the last info of each episode (`runners.base.BaseRunner.last_infos`).
        """
        found = []
        for episode in self._joined.take(batch):
            info = (infos or {}).get((episode.entry, episode.step), {})
            for car in range(episode.values["actions"].shape[1]):
                found.append(self._race(episode, car, info))
        return found

    def _race(self, episode: JoinedEpisode, car: int, info: Mapping[str, Any]) -> RaceResults:
        steps, finished = _end_of(episode, car)
        values = {name: episode.values[path][: steps + 1, car] for name, path in self._paths.items()}
        results: dict[str, Any] = {}
        if "frames" in values:
            results["frames"] = [np.moveaxis(frame, -1, 0) for frame in values["frames"][:steps]]
        for name, convert in (("input_w", bool), ("actions", int), ("action_was_greedy", bool)):
            if name in values:
                results[name] = [convert(value[0]) for value in values[name][:steps]]
        for name, kind in RECORDS.items():
            entries = values[name]
            results[name] = list(entries[:steps]) if kind is np.float32 else [kind(entry[0]) for entry in entries]
        results["furthest_zone_idx"] = results["furthest_zone_idx"][-1]
        for name in ("q_values", "state_float"):
            if name in values:
                results[name] = list(values[name][:steps])
        if finished:
            for name in ("frames", "input_w", "actions", "action_was_greedy", "car_gear_and_wheels"):
                if name in results:
                    results[name].append(np.nan)
            time = _time_of(info, car)
            if time is not None:
                results["race_time"] = time
        else:  # the closing state is no step
            for name in ("current_zone_idx", "meters_advanced_along_centerline"):
                del results[name][-1]
        return RaceResults(episode.entry, car, results, _stats(info, results.get("q_values", ())))


def _end_of(episode: JoinedEpisode, car: int) -> tuple[int, bool]:
    """The steps of a car's race, and whether it finished."""
    if "agents/terminated" not in episode.values:
        return len(episode.values["actions"]) - 1, episode.terminated
    finished, cut = (episode.values[f"agents/{end}"][:-1, car].ravel() > 0 for end in ("terminated", "truncated"))
    over = finished | cut  # in a race that was lost, no car has an end
    last = int(over.argmax()) if over.any() else len(over) - 1
    return last + 1, bool(finished[last])


def _time_of(info: Mapping[str, Any], car: int) -> int | None:
    if "race_times" in info:
        return info["race_times"][car]
    return info.get("end_race_stats", {}).get("race_time")


def _stats(info: Mapping[str, Any], q_values: Any) -> dict[str, Any]:
    stats = dict(info.get("end_race_stats", {}))
    if len(q_values):
        stats["value_starting_frame"] = float(max(q_values[0]))
        stats |= {f"q_value_{i}_starting_frame": float(value) for i, value in enumerate(q_values[0])}
    return stats
