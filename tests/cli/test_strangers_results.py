"""Results of others start, import and write nothing, by whichever program they are read, until it is named."""

import json
import sys

import numpy as np
import pytest
import torch as th

import clone
import play
import watch
from checkpoints.writer import CheckpointWriter
from main import main
from results_folders import put
from utils.config.merging import default_config

CODE = "open({marker!r}, 'w').close()\n"
# environment and its arguments; PROGRAM and MODULE leave a mark
RECORDED = {
    "executable": ("dots", {"executable": "PROGRAM", "launch_timeout": 1.0}),
    "launch": ("trackmania", {"launch": "python PROGRAM {port}", "launch_timeout": 1.0}),
    "wrappers": ("gymnasium", {"wrappers": ["MODULE:Class"]}),
    "module": ("gymnasium", {"key": "MODULE:Some-v0"}),
    "kwargs": ("gymnasium", {"kwargs": {"entry_point": "MODULE:Class"}}),
    "pettingzoo": ("pettingzoo", {"key": "MODULE"}),
    "file": ("entities", {"environment": "PROGRAM:Class"}),
    "plugins": ("two_step", {}),
}


def main_with(*words):
    settings = ["test_nepisode=1", "t_max=40"]
    return lambda results, *named: main([*words, "with", f"local_results_path={results}", *settings, *named])


def program(door, *words):
    return lambda results, *named: door.main(["first", f"--results={results}", *words, "with", *named])


# of results, and of settings that name what is in them
DOORS = {
    "--evaluate": main_with("--evaluate=first"),
    "--resume": main_with("--resume=first"),
    "print_config": main_with("--resume=first", "print_config"),
    "watch.py": program(watch, "--no-page"),
    "play.py": program(play),
}


@pytest.fixture
def marker(tmp_path, monkeypatch):
    """A file that the program and the module would leave."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "stranger", raising=False)
    marker = tmp_path / "it ran"
    put(tmp_path / "stranger.py", CODE.format(marker=str(marker)))
    return marker


def results_of(tmp_path, what):
    """Results of somebody else's run: Sacred's record, a model, and a checkpoint."""
    env, env_args = RECORDED[what]
    text = json.dumps(env_args).replace("PROGRAM", str(tmp_path / "stranger.py")).replace("MODULE", "stranger")
    plugins = [str(tmp_path / "stranger.py")] if what == "plugins" else []
    config = {**default_config(), "env": env, "env_args": json.loads(text)}
    config |= {"plugins": plugins, "seed": 1, "local_results_path": "results"}
    results = tmp_path / "results"
    put(results / "sacred" / "1" / "config.json", json.dumps(config))
    put(results / "sacred" / "1" / "info.json", json.dumps({"unique_token": "first"}))
    put(results / "models" / "first" / "10" / "agent.th")
    writer = CheckpointWriter(results / "runs" / "first", {}, keep=1)
    figures = {"t_env": 10, "token": "first", "config": config, "test_return_mean": None, "sacred_id": "1"}
    writer.begin(figures, {"steps": th.zeros(1)}, lambda folder: None)
    writer.close()
    return results


@pytest.mark.parametrize("what", RECORDED)
@pytest.mark.parametrize("door", DOORS)
def test_nothing_starts_and_nothing_is_imported(tmp_path, marker, capsys, door, what):
    results = results_of(tmp_path, what)
    before = sorted(results.rglob("*"))
    assert DOORS[door](results) == 2
    error = capsys.readouterr().err
    assert "Records may come from others" in error
    assert ("plugins=" if what == "plugins" else f"env_args.{next(iter(RECORDED[what][1]))}=") in error
    assert not marker.exists()
    assert sorted(results.rglob("*")) == before


@pytest.mark.parametrize("door", DOORS)
def test_the_words_of_the_refusal_are_taken_by_every_program(tmp_path, marker, door):
    named = f"env_args.environment={tmp_path / 'stranger.py'}:Class"
    assert DOORS[door](results_of(tmp_path, "file"), named) == 2
    assert marker.exists()  # it was imported, and has no such class


@pytest.mark.parametrize("old", ["--plugin={}:Class", "--plugin={}"])
def test_the_option_plugin_names_it_too(tmp_path, marker, old):
    results = results_of(tmp_path, "file" if old.endswith("Class") else "plugins")
    watch.main(["first", f"--results={results}", "--no-page", old.format(tmp_path / "stranger.py")])
    assert marker.exists()


def recording_of(tmp_path, env, env_args):
    header = {"format": "muster-recording", "version": 2, "env": env, "env_args": env_args}
    header |= {"groups": {"agents": 1}, "episode_limit": 1, "fields": {}, "decisions": {}}
    put(tmp_path / "recording" / "recording.json", json.dumps(header))
    ends = np.ones((2, 1), np.uint8)
    np.savez(tmp_path / "recording" / "0.npz", episode=np.arange(2), terminated=ends, truncated=0 * ends)


def test_a_recording_imports_no_environment_unasked(tmp_path, marker, capsys):
    named = f"{tmp_path / 'stranger.py'}:Class"
    recording_of(tmp_path, "entities", {"environment": named, "kwargs": {}})
    assert clone.main(["recording"]) == 2
    error = capsys.readouterr().err
    assert "The recording has settings that import code" in error and f"with env_args.environment={named}" in error
    assert not marker.exists()
    assert clone.main(["recording", "with", f"env_args.environment={named}"]) == 2
    assert marker.exists()


def test_a_recording_names_an_environment_and_no_file_of_one(tmp_path, marker, capsys):
    put(tmp_path / "evil.yaml", f"env: entities\nplugins: [{tmp_path / 'stranger.py'}]\n")
    recording_of(tmp_path, str(tmp_path / "evil.yaml"), {})
    assert clone.main(["recording"]) == 2
    assert "there is no such environment" in capsys.readouterr().err
    assert not marker.exists()
