"""Two races against each other, by the command line: best races become replays, and animations with a ghost."""

import json

import numpy as np
import pytest

import replay as command
from envs.racing.batch import BatchedRaces
from replays import frames as frames_module
from replays.reader import read_replay


def best_race(results, token, actions, track="seed:1"):
    """The folder of a run's best race with these actions, and where its car was before each of them and at the end."""
    env_args = {"map_cycle": [track], "metres": 60.0, "zones_ahead": 1}
    races = BatchedRaces(1, seed=0, **env_args)
    races.reset()
    race, places = races.state.race[0], [float(races.state.cars["x"][0, 0])]
    restart = {"track": races.map_of(0), "begin": int(race["begin"]), "first": int(race["first"])}
    for action in actions:
        races.step(np.array([[action]]))
        places.append(float(races.state.cars["x"][0, 0]))
    folder = results / "runs" / token / "best_episodes" / restart["track"]
    folder.mkdir(parents=True)
    record = {"name": restart["track"], "least": 1, "restart": restart, "env": "racing", "env_args": env_args}
    (folder / "best_episode.json").write_text(json.dumps({**record, "seed": 0, "t_env": 10, "test": False}))
    np.save(folder / "actions.npy", np.array(actions).reshape(-1, 1, 1))
    return folder, places


@pytest.fixture
def races(tmp_path, monkeypatch):
    """Of a few steps, so that they end before the finish, which no recorded one does."""
    monkeypatch.setattr("envs.racing.rerun._require_the_same", lambda *_: None)
    fast = best_race(tmp_path / "results", "fast", [0] * 12)
    slow = best_race(tmp_path / "results", "slow", [3] * 2 + [0] * 6)
    return fast, slow


def test_a_best_race_becomes_a_replay_of_its_run(races, tmp_path, capsys):
    (fast, places), _ = races
    assert command.main([str(fast)]) == 0
    path = tmp_path / "results/replays/fast/best_track_1.jsonl"
    assert capsys.readouterr().out.strip() == str(path)
    found = read_replay(path)
    assert [step["snapshot"]["units"][0]["x"] for step in found.steps] == pytest.approx(places, rel=1e-6)


def test_an_animation_shows_both_at_the_same_time(races, tmp_path, monkeypatch, capsys):
    """The ghost drives in every frame, from where it was at that time, and stays where its race ended."""
    (fast, places), (slow, others) = races
    drawn, draw = [], frames_module.draw

    def noticing(scene, snapshot, *arguments):
        drawn.append([(unit["x"], unit["team"], unit["label"]) for unit in snapshot["units"]])
        return draw(scene, snapshot, *arguments)

    monkeypatch.setattr(frames_module, "draw", noticing)
    assert command.main([str(fast), "--gif", str(tmp_path / "a.gif"), "--ghost", str(slow), "--scale", "2"]) == 0
    assert "13 frames" in capsys.readouterr().out
    for t, (own, ghost) in enumerate(drawn):
        assert own == (pytest.approx(places[t], rel=1e-6), 0, "0")
        assert ghost == (pytest.approx(others[min(t, 8)], rel=1e-6), 1, "ghost")
    assert places[12] != others[8] and len(drawn) == 13


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["FAST", "--gif", "a.gif", "--ghost", "OTHER"], "The race is on track_1, and its ghost's on track_2"),
        (["FAST", "--ghost", "OTHER"], "--ghost belongs to an animation"),
        (["FAST/best_episode.json"], "name a file for the animation"),
        (["FAST/none"], "there is no such file or folder"),
        (["RESULTS"], "is not results/runs/<token>/best_episodes/<map>"),
    ],
)
def test_what_makes_no_sense_is_refused(races, tmp_path, words, reason, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    other, _ = best_race(tmp_path / "results", "other", [0] * 3, "seed:2")
    names = {"FAST": races[0][0], "OTHER": other, "RESULTS": tmp_path / "results"}
    for name, path in names.items():
        words = [word.replace(name, str(path)) for word in words]
    assert command.main(words) == 2
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "a.gif").exists()
