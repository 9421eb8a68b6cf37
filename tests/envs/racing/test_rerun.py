"""Recorded races are driven again from their inputs."""

import numpy as np
import pytest

from cli.compose import compose_config
from envs.racing.batch import BatchedRaces
from envs.racing.rerun import driven_from
from replays.reader import read_replay
from run import run
from utils.errors import ConfigError


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A replay of the second of two test tracks, of two cars, by a run that began anywhere in training."""
    folder = tmp_path_factory.mktemp("results")
    config = compose_config("iql", "racing").config
    config["env_args"] |= {"n_cars": 2, "time_limit": 60, "metres": 100.0, "start_anywhere": 0.5}
    config["env_args"] |= {"map_cycle": ["seed:1"], "test_map_cycle": ["seed:5", "seed:6"], "walls": False}
    config |= {"runner": "episode", "batch_size": 2, "buffer_size": 2, "t_max": 100, "test_nepisode": 2, "seed": 3}
    config |= {"save_replay": True, "replay_episodes": 2, "local_results_path": str(folder)}
    run(config)
    paths = sorted(folder.glob("replays/*/*.jsonl"))
    return [read_replay(path) for path in paths]


def test_a_recorded_race_is_driven_again_bit_for_bit(recorded):
    assert [replay.header["scene"]["race"]["track"] for replay in recorded] == ["track_5", "track_6"]
    for replay in recorded:
        for t in (0, 1, len(replay.steps) // 2, len(replay.steps) - 1):
            races = driven_from(replay, t)
            for unit, car in zip(replay.steps[t]["snapshot"]["units"], races.state.cars[0], strict=True):
                # replays have 7 digits
                assert [unit[key] for key in ("x", "y", "metres")] == pytest.approx(
                    [car[key] for key in ("x", "y", "metres")], rel=1e-6
                )
                assert (unit["zone"], unit["time"] * 1000) == (car["zone"], pytest.approx(car["race_ms"]))
        assert races.state.race["ended"][0] == 1


def test_races_can_begin_where_it_is_asked():
    races = BatchedRaces(2, seed=1, metres=100.0, map_cycle=["seed:5", "seed:6"], n_cars=2)
    races.reset_to("track_6", 60, 1)
    assert [races.map_of(b) for b in range(2)] == ["track_6"] * 2
    assert races.state.cars["zone"].tolist() == [[60, 60]] * 2
    zones = races.state.cars[0].copy()
    races.reset_to("track_6", 60, 0)
    assert np.allclose([zones["x"][0], zones["y"][0]], [races.state.cars["x"][0, 1], races.state.cars["y"][0, 1]])


@pytest.mark.parametrize(
    ("name", "begin", "said"), [("track_7", None, "no track 'track_7'"), ("track_1", 9999, "zone 9999")]
)
def test_other_beginnings_are_refused(name, begin, said):
    with pytest.raises(ConfigError, match=said):
        BatchedRaces(1, seed=1, metres=100.0).reset_to(name, begin)


def test_other_replays_are_refused(recorded):
    replay = recorded[0]
    replay.header["scene"].pop("race")
    with pytest.raises(ConfigError, match="has no race"):
        driven_from(replay)
