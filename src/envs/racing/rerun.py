"""A race once more, from its inputs: bit for bit the same."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from envs.racing.batch import BatchedRaces
from envs.racing.fields import outcomes
from envs.racing.results import info_of
from envs.racing.snapshots import ACTION_NAMES, scene, snapshot
from records.best_episodes import array_of, record_of
from replays.reader import Replay
from replays.writer import ReplayWriter
from utils.errors import ConfigError


def driven_again(
    actions: Sequence[Sequence[int]], race: Mapping[str, Any], env_args: Mapping[str, Any]
) -> BatchedRaces:
    """The world after these actions.

    Args:
        actions: `[T, n]`.
        race: its "track" (a name), the zone "begin", and the car "first" in the grid's last slot.
        env_args: those that it was driven with; its track may be in `map_cycle` or in `test_map_cycle`.

    Raises:
        ConfigError: the arguments have no such track, or they are invalid.
    """
    races = _set_off(race, env_args)
    for chosen in actions:
        races.step(np.asarray(chosen, dtype=np.int64).reshape(1, -1))
    return races


def _set_off(race: Mapping[str, Any], env_args: Mapping[str, Any]) -> BatchedRaces:
    cycle = [*env_args.get("map_cycle", ["seed:1"]), *env_args.get("test_map_cycle", [])]
    kept = {key: value for key, value in env_args.items() if key not in ("seed", "test_mode", "place")}
    races = BatchedRaces(1, seed=0, **{**kept, "map_cycle": cycle, "test_map_cycle": []})
    races.reset_to(str(race["track"]), int(race["begin"]), int(race["first"]))
    return races


def driven_from(replay: Replay, steps: int | None = None) -> BatchedRaces:
    """The world of a recorded race after its first `steps` steps; None: all of them. Raises ConfigError: it is no
    replay of a race that a run has recorded."""
    header = replay.header
    race, env_args = (header.get("scene") or {}).get("race"), header.get("env_args")
    if not isinstance(race, dict) or not isinstance(env_args, dict):
        raise ConfigError("This replay has no race: a run of env=racing records them with save_replay=True.")
    actions = [step["actions"] for step in replay.steps if step.get("actions") is not None]
    return driven_again(actions[:steps], race, env_args)


def driven_best(folder: str | Path, steps: int | None = None) -> BatchedRaces:
    """The world of a run's best race on a map, `runs/<token>/best_episodes/<map>`, after its first `steps` steps.
    Raises ConfigError: the folder has none of env=racing; or all of its steps are another race now."""
    record, actions = _best(folder)
    races = driven_again(actions[:steps].tolist(), record["restart"], record["env_args"])
    if steps is None:
        _require_the_same(races, record, folder)
    return races


def replay_best(folder: str | Path, target: str | Path) -> Path:
    """Drive a best race again and write its replay, `<target>/best_<map>.jsonl`; returns its path.

    Raises:
        ConfigError: the folder has none of env=racing, or it is another race now.
        OSError: it cannot be written.
    """
    record, actions = _best(folder)
    driven_best(folder)
    values, races = array_of(Path(folder), "q_values"), _set_off(record["restart"], record["env_args"])
    options, before = races.options, snapshot(races)
    header = {key: record.get(key) for key in ("env", "env_args", "seed", "t_env", "algorithm")}
    header |= {"map": record["name"], "n_agents": options.n_cars, "n_actions": len(ACTION_NAMES), "episode": 0}
    header |= {"action_names": [list(ACTION_NAMES)] * options.n_cars, "scene": scene(races)}
    writer = ReplayWriter(Path(target), f"best_{record['name']}", {**header, "episode_limit": options.time_limit})
    try:
        for t, chosen in enumerate(actions):
            outputs = races.step(chosen.reshape(1, -1))
            end: dict[str, Any] = {"terminated": bool(outputs.terminated[0]), "truncated": bool(outputs.truncated[0])}
            end["info"] = info_of(races, 0)
            reward = float(np.sum(outcomes(options, outputs)["reward"][0]))
            seen = {"actions": chosen, "avail_actions": outputs.legal[0]}
            writer.step(before, reward=reward, q_values=None if values is None else values[t], **seen, **end)
            before = snapshot(races)
        writer.end(before, **end)
    finally:
        writer.close()
    return writer.path


def _require_the_same(races: BatchedRaces, record: Mapping[str, Any], folder: str | Path) -> None:
    """Raises: ConfigError: the race does not end as it was recorded, as on a track whose file has changed."""
    time = info_of(races, 0).get("race_time")
    if time != record["least"]:
        found = "does not finish" if time is None else f"takes {time} ms"
        raise ConfigError(
            f"{folder}: driven again, the race {found}; it took {record['least']} ms. The file of its track, or the "
            "world of Muster, has changed since."
        )


def _best(folder: str | Path) -> tuple[dict[str, Any], np.ndarray]:
    """The record of a best race, and its actions `[L, n]`, of one step at least."""
    record, actions = record_of(Path(folder)), array_of(Path(folder), "actions")
    restart = record.get("restart")
    of_racing = record.get("env") == "racing" and isinstance(record.get("env_args"), dict)
    known = isinstance(restart, dict) and {"track", "begin", "first"} <= set(restart)
    if not of_racing or not known or actions is None or actions.ndim != 3:
        script = Path(folder, "race.inputs")
        hint = f" TMInterface drives it again, by {script}." if script.is_file() else ""
        raise ConfigError(f"{folder} has no race of env=racing.{hint}")
    return record, actions[..., 0].astype(np.int64)
