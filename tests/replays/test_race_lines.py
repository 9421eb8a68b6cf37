"""Reference lines from races that were driven: a replay, a best race, a race in the game."""

import json
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import replay as command
from envs.racing.batch import BatchedRaces
from envs.racing.line import distances
from envs.racing.rerun import driven_again
from envs.racing.resampling import line_of_race
from envs.racing.results import info_of
from envs.racing.track_files import read_centres
from envs.trackmania.line import read_line
from scripted_driver import Driver
from trackmania_game.examples import straight_line
from trackmania_game.server import StandIn

TRACK = {"map_cycle": ["seed:3"], "metres": 150.0, "zones_ahead": 1}


def test_a_line_has_the_spacing_and_the_finish_of_a_reference_line():
    along = np.array([0, 0, 0.3, 1.1, 7.0, 30.2])
    line = line_of_race(np.stack([along, 0.5 * along, 0 * along], axis=1))
    assert distances(np.diff(line, axis=0)) == pytest.approx(np.full(len(line) - 1, 0.5), abs=0.005)
    assert line[0].tolist() == [0, 0, 0]
    assert line[-2:].mean(axis=0) == pytest.approx([30.2, 15.1, 0])


@pytest.fixture
def best_race(tmp_path):
    """The folder of a best race, as a run keeps it, and its actions."""
    races = BatchedRaces(1, seed=0, **TRACK)
    races.reset()
    restart = {"track": races.map_of(0), "begin": int(races.state.race["begin"][0]), "first": 0}
    driver, actions = Driver(races), []
    while not races.state.race["ended"][0]:
        actions.append(driver.actions())
        races.step(actions[-1])
    folder = tmp_path / "results" / "runs" / "token" / "best_episodes" / "track_3"
    folder.mkdir(parents=True)
    record = {"name": "track_3", "least": info_of(races, 0)["race_time"], "restart": restart, "env": "racing"}
    (folder / "best_episode.json").write_text(json.dumps({**record, "env_args": TRACK, "seed": 0}))
    np.save(folder / "actions.npy", np.array(actions).reshape(-1, 1, 1))
    return folder


@pytest.mark.parametrize("form", ["best race", "replay"])
def test_the_way_of_a_race_becomes_a_track(best_race, tmp_path, capsys, form):
    source = best_race
    if form == "replay":
        assert command.main([str(best_race)]) == 0
        source = capsys.readouterr().out.strip()
    out = tmp_path / "line.npy"
    assert command.main([str(source), "--line", str(out)]) == 0
    text = capsys.readouterr().out
    centres = read_centres(str(out))
    assert f"{len(centres)} points" in text and f"map_cycle=\"['{out}']\"" in text
    record = json.loads((best_race / "best_episode.json").read_text())
    actions = np.load(best_race / "actions.npy")[..., 0]
    car = driven_again(actions, record["restart"], TRACK).state.cars[0, 0]
    assert centres[-2:].mean(axis=0) == pytest.approx([car["x"], car["y"]], abs=1e-3)
    races = BatchedRaces(1, seed=0, map_cycle=[str(out)])
    races.reset()
    driver = Driver(races)
    while not races.state.race["ended"][0]:
        races.step(driver.actions())
    assert races.state.cars[0, 0]["finished"] == 1


def best_of_the_game(folder, **arrays):
    folder.mkdir(parents=True)
    record = {"name": "A", "least": 900, "restart": {"track": "A"}, "env": "trackmania", "env_args": {}}
    (folder / "best_episode.json").write_text(json.dumps(record))
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    return str(folder)


def test_the_way_of_a_best_race_in_the_game_becomes_a_line_in_space(tmp_path, capsys):
    way = straight_line(60)[::5] * [1, 1, 1] + np.linspace(0, 4, 24)[:, None] * [0, 1, 0]
    assert command.main([best_of_the_game(tmp_path / "A", positions=way), "--line", str(tmp_path / "a.npy")]) == 0
    assert read_line(str(tmp_path / "a.npy")).geometry.centres.shape[1] == 3
    assert "{'map': 'MAP', 'line': '" in capsys.readouterr().out


@pytest.mark.slow
def test_a_race_that_somebody_drives_in_the_game_becomes_a_line(tmp_path, capsys):
    """The person rewinds and finishes, which is no whole race, and drives again from the start, which is."""
    np.save(tmp_path / "straight.npy", straight_line())
    game = StandIn({"A": str(tmp_path / "straight.npy")})
    out = tmp_path / "line.npy"

    def person():
        game.inputs = (0, 0, 1, 0)
        while game.time < 1000:
            time.sleep(0.001)
        game.time = 500
        while not game.stuck:
            time.sleep(0.001)
        game.begin_race()

    driving = threading.Thread(target=person, daemon=True)
    driving.start()
    try:
        assert command.main(["--game", str(game.port), "--map", "A", "--line", str(out)]) == 0
    finally:
        game.close()
        driving.join(5)
    line = read_line(str(out))
    assert line.end == pytest.approx(59.5, abs=1.0)
    assert game.commands == ['map "A"'] and game.names("S").count("checkpoint_count") == 2
    assert not {"set_inputs", "rewind", "give_up", "prevent_finish"} & set(game.names("C"))
    assert "{'map': 'A', 'line'" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--line", "a.npy"], "Name a FILE, or the port"),
        (["race", "--game", "8478", "--line", "a.npy"], "Name a FILE, or the port"),
        (["--game", "8478", "--gif", "a.gif"], "belong to --line"),
        (["race", "--line", "a.txt"], "ends with .npy"),
        (["race", "--line", "no/folder/a.npy"], "there is no folder no/folder"),
        (["missing", "--line", "a.npy"], "missing cannot be read"),
        (["game", "--line", "a.npy"], "game has no positions of its race"),
        (["game"], "has no race of env=racing. TMInterface drives it again, by "),
        (["still", "--line", "a.npy"], "The car moved 0 m"),
        (["back", "--line", "a.npy"], "the way of back turns back"),
        (["--game", "8478", "--map", 'a"b', "--line", "a.npy"], "no quotes"),
    ],
)
def test_what_is_no_race_is_refused(tmp_path, monkeypatch, capsys, words, message):
    monkeypatch.chdir(tmp_path)
    Path(best_of_the_game(tmp_path / "results/runs/token/best_episodes/A"), "race.inputs").touch()
    Path("game").symlink_to("results/runs/token/best_episodes/A")
    best_of_the_game(tmp_path / "still", positions=np.ones((30, 3)))
    there = straight_line(60)
    best_of_the_game(tmp_path / "back", positions=np.concatenate([there, there[::-1]]))
    assert command.main(words) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert error.startswith("error: ") and message in error
    assert not (tmp_path / "a.npy").exists()


def test_a_race_that_was_not_finished_is_no_line(best_race, tmp_path, capsys):
    assert command.main([str(best_race)]) == 0
    lines = Path(capsys.readouterr().out.strip()).read_text().splitlines(keepends=True)
    (tmp_path / "cut.jsonl").write_text("".join(lines[:30]))
    assert command.main([str(tmp_path / "cut.jsonl"), "--line", str(tmp_path / "a.npy")]) == 2
    assert "was not finished" in " ".join(capsys.readouterr().err.split())
