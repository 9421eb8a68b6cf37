"""Learning from the game's environment, on the stand-in: schedules, sources, learners, and the command line."""

import csv

import psutil
import pytest

from forked import run_command
from small_training import SCHEDULES, SOURCES, UPDATES, train
from trackmania_game.examples import PATHS, free_port
from watched_training import assert_learnt


@pytest.fixture
def games(stand_in, line_file):
    """Two games of training and two of tests, on neighbouring ports; the `env_args` that play on them."""
    port = free_port()
    games = [stand_in(port=port + number) for number in range(4)]
    args = {"map_cycle": [{"map": "A", "line": line_file}], "port": port, "game_timeout": 20.0, "time_limit": 5}
    return games, args


@pytest.mark.slow
@pytest.mark.parametrize("source", ["in_process", "shared_memory"])
@pytest.mark.parametrize("runner", SCHEDULES)
def test_every_schedule_plays_on_every_source(games, tmp_path, monkeypatch, runner, source):
    played, env_args = games
    algorithm, schedule = SCHEDULES[runner]
    changes = {
        "runner": runner,
        "batch_size_run": 2,
        **schedule,
        **SOURCES[source],
        "envs_per_worker": 1,
        "test_nepisode": 2,
    }
    assert_learnt(train(tmp_path, monkeypatch, algorithm, "trackmania", env_args=env_args, **changes), UPDATES)
    assert all(game.connections == 1 and game.names("C").count("rewind_in_place") > 10 for game in played[:2])
    assert [game.connections for game in played[2:]] == [1, 1]


@pytest.mark.slow
def test_one_game_is_trained_and_tested_on_in_turn(games, tmp_path, monkeypatch):
    played, env_args = games
    changes = {"runner": "rollout", "separate_test_env": False, "test_interval": 8, "test_nepisode": 1}
    changes |= {**SCHEDULES["rollout"][1], "vector_env": "in_process", "env_args": env_args}
    assert_learnt(train(tmp_path, monkeypatch, SCHEDULES["rollout"][0], "trackmania", **changes), UPDATES)
    assert [game.connections for game in played] == [1, 0, 0, 0]


@pytest.mark.slow
@pytest.mark.parametrize("view", ["float", "picture"])
def test_quantiles_are_learnt_from_floats_and_from_pictures(games, tmp_path, monkeypatch, view):
    played, env_args = games
    env_args |= {"view": view, "frame_width": 40, "frame_height": 40, "state": False}
    changes = {"batch_size_run": 2, "vector_env": "in_process", "env_args": env_args}
    assert_learnt(train(tmp_path, monkeypatch, "iqn", "trackmania", **changes), UPDATES)
    assert ("request_frame" in played[0].names("C")) == (view == "picture")


@pytest.mark.slow
def test_the_preset_linesight_serves_the_game(games, tmp_path, monkeypatch):
    """By the keys with which it trains on racing, among them pictures of 160 by 120."""
    played, env_args = games
    changes = {"runner": "parallel", "vector_env": "in_process", "head_dim": 8, "env_args": env_args}
    assert_learnt(train(tmp_path, monkeypatch, "linesight", "trackmania", **changes), UPDATES)
    assert "request_frame" in played[0].names("C")


@pytest.mark.slow
def test_the_command_line_trains_on_games_that_it_starts(launcher, tmp_path, monkeypatch, line_file):
    own = launcher()
    words = [
        "--config=iql",
        "--env-config=trackmania",
        "with",
        f"env_args.map_cycle=[{{'map': 'A', 'line': '{line_file}'}}]",
        f"env_args.launch={own['launch']}",
        f"env_args.port={own['port']}",
        "env_args.time_limit=20",
        "batch_size_run=2",
        "batch_size=2",
        "t_max=100",
        "test_interval=80",
        "test_nepisode=2",
        "log_interval=20",
        "learner_log_interval=1",
        f"local_results_path={tmp_path / 'results'}",
        "use_tensorboard=False",
        "runner=parallel",
        "separate_test_env=False",
    ]
    monkeypatch.setenv("PYTHONPATH", PATHS)  # of the games
    done = run_command(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    (metrics,) = (tmp_path / "results").rglob("metrics.csv")
    with metrics.open() as file:
        names = {row["key"] for row in csv.DictReader(file)}
    assert names >= {"loss", "test_race_finished_mean", "race_finished_mean", "distance_mean"}
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 2
    left = [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]
    assert psutil.wait_procs(left, timeout=10)[1] == []
