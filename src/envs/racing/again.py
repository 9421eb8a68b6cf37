"""A race once more, from its inputs: bit for bit the same."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from envs.racing.batch import BatchedRaces
from records.best_episodes import array_of, record_of
from replays.reader import Replay
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
    cycle = [*env_args.get("map_cycle", ["seed:1"]), *env_args.get("test_map_cycle", [])]
    kept = {key: value for key, value in env_args.items() if key not in ("seed", "test_mode", "place")}
    races = BatchedRaces(1, seed=0, **{**kept, "map_cycle": cycle, "test_map_cycle": []})
    races.reset_to(str(race["track"]), int(race["begin"]), int(race["first"]))
    for chosen in actions:
        races.step(np.asarray(chosen, dtype=np.int64).reshape(1, -1))
    return races


def driven_from(replay: Replay, steps: int | None = None) -> BatchedRaces:
    """The world of a recorded race after its first `steps` steps; None: all of them.

    Raises:
        ConfigError: it is no replay of a race that a run has recorded.
    """
    header = replay.header
    race, env_args = (header.get("scene") or {}).get("race"), header.get("env_args")
    if not isinstance(race, dict) or not isinstance(env_args, dict):
        raise ConfigError("This replay has no race: a run of env=racing records them with save_replay=True.")
    actions = [step["actions"] for step in replay.steps if step.get("actions") is not None]
    return driven_again(actions[:steps], race, env_args)


def driven_best(folder: str | Path, steps: int | None = None) -> BatchedRaces:
    """The world of a run's best race on a map, `runs/<token>/best_episodes/<map>`, after its first `steps` steps.

    Raises:
        ConfigError: the folder has none of env=racing.
    """
    record, actions = record_of(Path(folder)), array_of(Path(folder), "actions")
    restart, env_args = record.get("restart"), record.get("env_args")
    if record.get("env") != "racing" or actions is None or not isinstance(restart, dict) or "begin" not in restart:
        raise ConfigError(f"{folder} has no race of env=racing.")
    return driven_again(actions[:steps, :, 0].tolist(), restart, env_args)
