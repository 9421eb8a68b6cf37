"""Sacred's record of a run, on disks that are full and in folders that vanish."""

import datetime
import errno
import json
import logging
import os
import shutil
import stat
import time

import numpy as np
import pytest
from sacred import Experiment
from sacred.observers import FileStorageObserver

from helpers import fill_disk, small_disk
from records.sacred_files import PastSacredError, RunRecorder, check_run_id
from utils.errors import ConfigError

NOW = datetime.datetime(2026, 1, 2, 3, 4, 5)
CONSOLE = logging.getLogger("test")


def _start(observer, tmp_path, run_id=None, cls=RunRecorder):
    source = tmp_path / "source.py"
    source.write_text("pass\n")
    experiment = {"name": "test", "sources": [["source.py", "digest"]], "base_dir": str(tmp_path)}
    return observer.started_event(experiment, "main", {"os": "x"}, NOW, {"seed": 1}, {"comment": "c"}, run_id)


def _metrics(first, last, keys=("loss",)):
    steps = list(range(first, last))
    return {
        key: {"name": key, "steps": steps, "values": [step / 7 for step in steps], "timestamps": [NOW] * len(steps)}
        for key in keys
    }


def _beat(observer, info=None, text="", metrics=None):
    observer.log_metrics(metrics or {}, info or {})
    observer.heartbeat_event(info or {}, text, NOW, None)


def _load(path):
    return json.loads(path.read_text())


def test_the_files_equal_sacreds_own(tmp_path):
    info = {
        "loss": [0.5, float("inf")],
        "loss_T": [1, 2],
        "token": "x",
        "array": np.arange(3),
        "tuple": (1, 2),
        "scalars": [np.float32(0.5), np.float64(0.25)],
        7: {"a": {1: 2}},
    }
    metrics = {"x": {"name": "x", "steps": [1], "values": [0.1], "timestamps": [NOW]}}
    written = []
    for cls in (FileStorageObserver, RunRecorder):
        root = tmp_path / cls.__name__
        observer = cls(root)
        assert _start(observer, tmp_path) == "1"
        for beat in range(2):
            observer.log_metrics({**metrics, **_metrics(10 * beat, 10 * beat + 10)}, info)
            observer.heartbeat_event(info, "line\n" * (beat + 1), NOW, 3.5)
        observer.resource_event(str(tmp_path / "source.py"))
        observer.artifact_event("copy.py", str(tmp_path / "source.py"))
        observer.completed_event(NOW, 4.5)
        observer.join()
        files = {p.name: p.read_text() for p in (root / "1").iterdir()}
        texts = {name: files.pop(name) for name in ("cout.txt", "copy.py")}
        written.append(({name: json.loads(text) for name, text in files.items()}, texts, os.listdir(root / "_sources")))
        written[-1][0]["run.json"]["resources"] = len(written[-1][0]["run.json"]["resources"])
    assert str(written[0]) == str(written[1])
    assert set(written[1][0]) == {"run.json", "config.json", "info.json", "metrics.json"}


def test_everything_is_for_the_user_alone(tmp_path):
    observer = RunRecorder(tmp_path / "sacred")
    _start(observer, tmp_path)
    _beat(observer, {"a": 1}, "text", _metrics(0, 3))
    folder = tmp_path / "sacred" / "1"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert len(list(folder.iterdir())) == 5


def test_a_heartbeat_of_a_long_run_is_quick_and_small(tmp_path):
    """Sacred's own takes seconds at 40 metrics of 50,000 points each."""
    observer = RunRecorder(tmp_path)
    _start(observer, tmp_path)
    keys = [f"statistic_number_{i}" for i in range(40)]
    steps = [*range(0, 50_000_000, 1000)]
    values = np.random.default_rng(0).normal(size=50_000).tolist()
    info = {}
    for key in keys:
        info[key], info[f"{key}_T"] = list(values), list(steps)
    _beat(observer, info, "", _metrics(0, 50_000, keys))
    begin = time.process_time()  # the machine may be busy
    _beat(observer, info, "", _metrics(50_000, 50_010, keys))
    assert time.process_time() - begin < 1.0
    for name in ("metrics.json", "info.json"):
        assert (tmp_path / "1" / name).stat().st_size < 10e6
    metrics, thin = _load(tmp_path / "1" / "metrics.json"), _load(tmp_path / "1" / "info.json")
    assert set(metrics) == set(keys)
    for series in metrics.values():
        assert 500 < len(series["steps"]) <= 1001
        assert len(series["steps"]) == len(series["values"]) == len(series["timestamps"])
        assert (series["steps"][0], series["steps"][-1]) == (0, 50_009)
        assert series["values"] == [step / 7 for step in series["steps"]]
    assert thin[keys[0]][-1] == values[-1]


def test_a_reader_never_sees_half_a_file(tmp_path, monkeypatch):
    observer = RunRecorder(tmp_path)
    _start(observer, tmp_path)
    _beat(observer, {"a": 1}, "", _metrics(0, 3))
    replace = os.replace

    def looking(source, target):
        for name in ("run.json", "metrics.json", "info.json"):
            _load(tmp_path / "1" / name)
        replace(source, target)

    monkeypatch.setattr(os, "replace", looking)
    _beat(observer, {"a": 2}, "", _metrics(3, 2000))
    assert _load(tmp_path / "1" / "info.json") == {"a": 2}


def test_a_full_disk_is_reported_once_and_recovered_from(tmp_path, caplog):
    caplog.set_level("INFO")
    with small_disk(tmp_path / "disk", "256k") as disk:
        observer = RunRecorder(disk / "sacred", CONSOLE)
        _start(observer, tmp_path)
        text = "line 0\n"
        _beat(observer, {"a": [1]}, text, _metrics(0, 3))
        filler = fill_disk(disk)
        for i in range(1, 60):
            text += f"line {i} {'x' * 200}\n"
            _beat(observer, {"a": [1] * 300}, text, _metrics(3 * i, 3 * i + 3))
            if i == 30:
                observer.resource_event(str(tmp_path / "source.py"))
        folder = disk / "sacred" / "1"
        for name in ("run.json", "metrics.json", "info.json", "config.json"):
            _load(folder / name)
        assert text.startswith((folder / "cout.txt").read_text())
        assert len(caplog.messages) == 2, caplog.messages  # the JSON files, and what was captured
        assert all("No space left on device" in message for message in caplog.messages)
        observer.join()
        assert "ends incomplete" in caplog.messages[-1]
        filler.unlink()
        observer.completed_event(NOW, 1.5)
        assert (folder / "cout.txt").read_text() == text
        assert _load(folder / "metrics.json")["loss"]["steps"] == list(range(180))
        run = _load(folder / "run.json")
        assert (run["status"], run["result"], len(run["resources"])) == ("COMPLETED", 1.5, 1)
        assert len(_load(folder / "info.json")["a"]) == 300


def test_the_json_files_of_a_vanished_folder_are_made_again(tmp_path):
    """Captured output is not re-created: it grows, and nothing keeps its past."""
    observer = RunRecorder(tmp_path / "sacred", CONSOLE)
    _start(observer, tmp_path)
    _beat(observer, {"a": 1}, "one\n", _metrics(0, 3))
    shutil.rmtree(tmp_path / "sacred")
    _beat(observer, {"a": 2}, "one\ntwo\n", _metrics(3, 5))
    folder = tmp_path / "sacred" / "1"
    assert _load(folder / "metrics.json")["loss"]["steps"] == [0, 1, 2, 3, 4]
    assert _load(folder / "config.json") == {"seed": 1}
    assert _load(folder / "run.json")["status"] == "RUNNING"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    shutil.rmtree(folder)
    observer.interrupted_event(NOW, "INTERRUPTED")
    assert _load(folder / "run.json")["status"] == "INTERRUPTED"
    assert sorted(os.listdir(folder)) == ["config.json", "info.json", "metrics.json", "run.json"]


def _no_space(*arguments, **options):
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))


@pytest.mark.parametrize("what", ["os.mkdir", "os.replace", "os.makedirs"])
def test_a_folder_that_cannot_be_written_is_one_clear_error(tmp_path, monkeypatch, caplog, what):
    observer = RunRecorder(tmp_path / "sacred", CONSOLE)
    (tmp_path / "sacred").mkdir()
    with monkeypatch.context() as patch, pytest.raises(PastSacredError, match=r"cannot be written under .*Read-only"):
        patch.setattr(what, _no_space)
        _start(observer, tmp_path)
    observer.failed_event(NOW, [])
    observer.join()
    assert not (tmp_path / "sacred" / "1").exists()
    assert caplog.messages == []


@pytest.mark.parametrize("run_id", ["../up", "a/b", ".hidden", "..", "a b", "x\n", "é", ""])
def test_an_id_is_a_plain_name(run_id):
    with pytest.raises(ConfigError, match="it names a folder"):
        check_run_id(run_id)
    check_run_id("My_run-1.2")


def test_an_id_that_is_taken(tmp_path):
    _start(RunRecorder(tmp_path), tmp_path, "mine")
    (tmp_path / "mine" / "notes").write_text("keep")
    with pytest.raises(PastSacredError, match="mine exists already") as error:
        _start(RunRecorder(tmp_path), tmp_path, "mine")
    assert isinstance(error.value.__cause__, ConfigError)
    assert (tmp_path / "mine" / "notes").read_text() == "keep"


def test_copies_that_cannot_be_made(tmp_path, caplog):
    observer = RunRecorder(tmp_path / "sacred", CONSOLE)
    _start(observer, tmp_path)
    observer.artifact_event("gone", str(tmp_path / "gone"))
    observer.artifact_event("run.json", str(tmp_path / "source.py"))
    observer.join()
    assert len(caplog.messages) == 2
    assert _load(tmp_path / "sacred" / "1" / "run.json")["artifacts"] == []


def test_values_without_json_do_not_end_the_record(tmp_path, caplog):
    class Odd:
        def __getstate__(self):
            raise ValueError("no state")

    observer = RunRecorder(tmp_path, CONSOLE)
    _start(observer, tmp_path)
    _beat(observer, {"odd": Odd()}, "text", _metrics(0, 2))
    observer.completed_event(NOW, 1)
    assert _load(tmp_path / "1" / "run.json")["status"] == "COMPLETED"
    assert "no state" in caplog.text


def test_a_learner_may_append_to_info_while_it_is_written(tmp_path):
    """The heartbeat is another thread's."""
    experiment = Experiment("test", base_dir=str(tmp_path), save_git_info=False)
    experiment.logger = CONSOLE
    experiment.observers.append(RunRecorder(tmp_path / "sacred", CONSOLE))

    @experiment.main
    def main(_run):
        _run.info["mine"] = []
        for i in range(30_000):
            _run.info["mine"].append(i)
            _run.info[f"key{i % 500}"] = {"nested": list(range(i % 7))}
            _run.log_scalar("loss", i, i)

    run = experiment._create_run()
    run.beat_interval = 0.001
    run()
    assert run._failed_observers == []
    info = _load(tmp_path / "sacred" / "1" / "info.json")
    assert (info["mine"][0], info["mine"][-1], len(info)) == (0, 29_999, 501)
    assert _load(tmp_path / "sacred" / "1" / "metrics.json")["loss"]["steps"][-1] == 29_999
