"""Results folders: what is read, and what is read when something is missing, broken or being written."""

import json
import os
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from sacred import SETTINGS, Experiment
from sacred.observers import FileStorageObserver

from browser.reading import PROBABLY_DEAD, OutsideResultsError, Results, UnknownRunError
from browser.reading.files import inside
from results_folders import START, naive, write_log, write_run
from utils.errors import ConfigError

CURVE = {"test_return_mean": [1.0, 2.0, 3.0], "test_return_mean_T": [0, 100, 200]}


def open_results(path):
    return Results(path, cache=None)


def write_usual(results, run_id=1, **changes):
    info = {"unique_token": "token", **CURVE, "episode": [0.0, 20.0], "episode_T": [0, 200]}
    return write_run(results, run_id, **{"info": info, **changes})


def test_sacreds_own_files_are_read(tmp_path, monkeypatch):
    monkeypatch.setitem(SETTINGS, "CAPTURE_MODE", "sys")
    experiment = Experiment("muster", save_git_info=False)
    experiment.observers.append(FileStorageObserver(tmp_path / "sacred"))
    experiment.add_config({"env": "matrix", "env_args": {"game": "climbing"}, "seed": 7, "name": "vdn"})
    artifact = tmp_path / "note.txt"
    artifact.write_text("a note")

    @experiment.main
    def main(_run):
        _run.info["unique_token"] = "vdn_seed7"
        for t in range(3):
            _run.info.setdefault("loss", []).append(np.float64(t / 2))
            _run.info.setdefault("loss_T", []).append(t)
            _run.log_scalar("return_mean", 10 * t, t)
        _run.add_artifact(artifact)
        print("hello")
        return 11.0

    # another test may have set up logging, which Sacred would then capture
    experiment.run(options={"--beat-interval": 2.5, "--loglevel": "ERROR"})
    results = open_results(tmp_path)
    (run,) = results.sessions()
    assert (run.id, run.name, run.map_name, run.seed, run.status, run.result) == (
        *("1", "vdn", "climbing", 7, "COMPLETED", 11.0),
    )
    assert run.config["env_args.game"] == "climbing" and run.token == "vdn_seed7"
    assert run.started <= run.heartbeat and abs(run.started - datetime.now(UTC)) < timedelta(minutes=5)
    assert run.beat_seconds == 2.5 and run.host.python and run.problems == ()
    assert results.log_text(run).strip() == "hello"
    assert [found.path for found in results.artifacts(run)] == [Path("sacred/1/note.txt")]
    curves = results.curves(run)
    assert sorted(curves) == ["loss", "return_mean"] == results.metric_keys(run)
    assert curves["loss"].steps.tolist() == [0, 1, 2] and curves["loss"].values.tolist() == [0, 0.5, 1]
    assert curves["return_mean"].values.tolist() == [0, 10, 20] and (curves["return_mean"].seconds >= 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["run.json", "config.json", "info.json"])
def test_a_file_cut_at_any_byte_is_read_as_far_as_it_goes_or_as_it_last_was(tmp_path, name):
    folder = write_usual(tmp_path)
    data = (folder / name).read_bytes()
    keeping = open_results(tmp_path)
    (good,) = keeping.sessions()
    curve = keeping.curves(good, ["test_return_mean"])["test_return_mean"]
    for cut in range(len(data)):
        (folder / name).write_bytes(data[:cut])
        (kept,) = keeping.sessions()
        assert kept.problems and kept.__dict__ | {"problems": ()} == good.__dict__
        assert keeping.curves(kept, ["test_return_mean"])["test_return_mean"].steps.tolist() == curve.steps.tolist()
        fresh = open_results(tmp_path)
        (run,) = fresh.sessions()
        assert run.id == "1" and run.problems
        assert run.status in ("UNKNOWN", "COMPLETED") and run.config.items() <= good.config.items()
        assert run.token in (None, "token")
        for read in fresh.curves(run).values():
            if read.key == "test_return_mean":
                n = len(read.steps)
                assert read.steps.tolist() == [0, 100, 200][:n] and read.values.tolist() == [1, 2, 3][:n]
    (folder / name).write_bytes(data)
    assert keeping.sessions() == [good]


def test_metrics_cut_at_any_byte_keep_the_last_good_curve(tmp_path):
    times = [naive(START + timedelta(seconds=s)) for s in (1, 2, 3)]
    metrics = {"loss": {"steps": [0, 10, 20], "values": [3.5, float("nan"), 1.5], "timestamps": times}}
    folder = write_run(tmp_path, 1, metrics=metrics)
    data = (folder / "metrics.json").read_bytes()
    keeping = open_results(tmp_path)
    good = keeping.curves("1")["loss"]
    assert good.seconds.tolist() == [1, 2, 3] and np.isnan(good.values[1]) and good.source == "metrics.json"
    for cut in range(len(data)):
        (folder / "metrics.json").write_bytes(data[:cut])
        assert keeping.curves("1", ["loss"])["loss"].steps.tolist() == [0, 10, 20]
        for curve in open_results(tmp_path).curves("1").values():
            assert curve.steps.tolist() == [0, 10, 20][: len(curve.steps)]


def test_running_without_a_heartbeat_for_three_beats_is_probably_dead(tmp_path):
    write_run(tmp_path, 1, status="RUNNING", stop_time=None)
    options = {"options": {"--beat-interval": "60"}}
    write_run(tmp_path, 2, status="RUNNING", stop_time=None, meta=options)
    write_run(tmp_path, 3, status="RUNNING", stop_time=None, heartbeat=None)
    write_run(tmp_path, 4, status="TIMEOUT")
    runs = {run.id: run for run in open_results(tmp_path).sessions()}
    beat = START + timedelta(seconds=60)
    assert runs["1"].status_at(beat + timedelta(seconds=30)) == "RUNNING"
    assert runs["1"].status_at(beat + timedelta(seconds=31)) == PROBABLY_DEAD == runs["1"].status_at()
    assert runs["2"].status_at(beat + timedelta(seconds=31)) == "RUNNING"
    assert runs["2"].status_at(beat + timedelta(seconds=181)) == PROBABLY_DEAD
    assert runs["3"].status_at(START + timedelta(seconds=31)) == PROBABLY_DEAD
    assert runs["4"].status_at() == "TIMEOUT"


def test_folders_of_other_programs_are_left_alone(tmp_path):
    write_usual(tmp_path)
    for name, files in {
        "_sources": {"run.json": "{}"},
        "_resources": {"x": ""},
        "notes": {"todo.txt": "-"},
        "another": {"run.json": '{"workflow": "ci"}'},
        "list": {"run.json": "[1, 2]"},
        ".git": {"run.json": '{"status": "RUNNING"}'},
    }.items():
        (tmp_path / "sacred" / name).mkdir()
        for file, text in files.items():
            (tmp_path / "sacred" / name / file).write_text(text)
    (tmp_path / "sacred" / "binary").mkdir()
    (tmp_path / "sacred" / "binary" / "run.json").write_bytes(b"\xff\xfe\x00{" * 9)
    assert sorted(run.id for run in open_results(tmp_path).sessions()) == ["1", "binary"]


def test_epymarls_and_pymarls_own_folders_open_too(tmp_path):
    """EPyMARL nests runs by algorithm and map; PyMARL stores NumPy scalars as wrapped objects."""
    wrapped = [{"dtype": "float64", "py/object": "numpy.float64", "value": 0.5}, {"py/id": 4}, 2]
    write_run(tmp_path, "qmix/lbf/1", info={"loss": wrapped, "loss_T": [10, 20, 30]}, metrics={})
    for root in (tmp_path, tmp_path / "sacred", tmp_path / "sacred" / "qmix"):
        results = open_results(root)
        (run,) = results.sessions()
        assert run.id == str((tmp_path / "sacred/qmix/lbf/1").relative_to(results.root)).removeprefix("sacred/")
        curve = results.curves(run)["loss"]
        assert curve.steps.tolist() == [10, 20, 30]
        np.testing.assert_array_equal(curve.values, [0.5, np.nan, 2])
        assert run.token is None and curve.source == "info.json"
    (run,) = open_results(tmp_path / "sacred" / "qmix" / "lbf" / "1").sessions()
    assert run.id == "1"


def test_a_folder_named_sacred_beside_runs_stands_for_its_parent(tmp_path):
    write_usual(tmp_path)
    write_log(tmp_path, "token", [(0, 0, 0.0, "loss", 1.0)])
    assert open_results(tmp_path / "sacred").curves("1")["loss"].source == "metrics.csv"


def test_the_metric_log_is_preferred(tmp_path):
    write_usual(tmp_path)
    write_log(tmp_path, "token", [(t, t // 10, t / 4, "test_return_mean", t * 2) for t in (0, 50, 100)])
    results = open_results(tmp_path)
    curve = results.curves("1")["test_return_mean"]
    assert curve.source == "metrics.csv" and curve.steps.tolist() == [0, 50, 100]
    assert curve.values.tolist() == [0, 100, 200] and curve.seconds.tolist() == [0, 12.5, 25]
    assert curve.episodes.tolist() == [0, 5, 10]
    assert results.latest("1", ["test_return_mean", "loss"]) == (100, {"test_return_mean": 200.0})


def test_without_it_episodes_come_from_their_own_curve(tmp_path):
    write_usual(tmp_path)
    results = open_results(tmp_path)
    assert results.curves("1", ["test_return_mean"])["test_return_mean"].episodes.tolist() == [0, 10, 20]
    assert results.latest("1", ["test_return_mean"]) == (200, {"test_return_mean": 3.0})


def test_a_runs_artifacts_are_found(tmp_path):
    write_usual(tmp_path, artifacts=["notes.txt", "../../secret"])
    for folder in ("models/token/1000", "models/token/200", "replays/token", "tb_logs/token"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "replays/token/episode.jsonl").write_text("{}")
    found = [(artifact.kind, artifact.name, artifact.t_env) for artifact in open_results(tmp_path).artifacts("1")]
    assert found == [
        ("artifact", "notes.txt", None),
        *(("model", "200", 200), ("model", "1000", 1000)),
        *(("replay", "episode.jsonl", None), ("tensorboard", "token", None)),
    ]


@pytest.mark.parametrize(
    "name", ["../secret", "/etc/passwd", "sacred/../../secret", "a\0b", "link", "link/../../secret"]
)
def test_no_path_leaves_the_folder(tmp_path, name):
    root = tmp_path / "results"
    write_usual(root)
    (tmp_path / "secret").write_text("secret")
    (root / "link").symlink_to(tmp_path)
    results = open_results(root)
    with pytest.raises(OutsideResultsError):
        inside(root, name)
    with pytest.raises(UnknownRunError):
        results.curves(name)


def test_a_token_or_link_of_a_run_leads_nowhere_else(tmp_path):
    root = tmp_path / "results"
    write_log(tmp_path, "evil", [(0, 0, 0, "loss", 1)])
    for run_id, token in enumerate(("../../runs/evil", "..", "a/b", "linked"), start=1):
        write_run(root, run_id, info={"unique_token": token}, started=START + timedelta(hours=run_id))
    (root / "runs").mkdir()
    (root / "runs" / "linked").symlink_to(tmp_path / "runs" / "evil")
    (tmp_path / "secret").write_text("secret")
    (root / "sacred" / "1" / "cout.txt").unlink()
    (root / "sacred" / "1" / "cout.txt").symlink_to(tmp_path / "secret")
    results = open_results(root)
    for run in results.sessions():
        assert results.curves(run) == {} and "secret" not in results.log_text(run)


def test_an_unknown_run_is_answered_with_the_nearest(tmp_path):
    write_run(tmp_path, "qmix/3m/1")
    with pytest.raises(UnknownRunError, match=r"no run 'qmix/3m/2' .* Did you mean 'qmix/3m/1'"):
        open_results(tmp_path).session("qmix/3m/2")
    with pytest.raises(ConfigError, match="There is no results folder"):
        open_results(tmp_path / "resluts")


def test_unchanged_files_come_from_the_cache_and_it_can_be_rebuilt(tmp_path):
    folder, cache = write_usual(tmp_path / "results"), tmp_path / "cache.json"
    for file in folder.iterdir():
        os.utime(file, (1e9, 1e9))
    good = Results(tmp_path / "results", cache).sessions()
    entries = json.loads(cache.read_text())
    config = folder / "config.json"
    size = config.stat().st_size
    config.write_text("x" * size)
    os.utime(config, (1e9, 1e9))
    assert Results(tmp_path / "results", cache).sessions() == good, "same size and time: not read again"
    os.utime(config, (1e9, 1e9 + 1))
    (kept,) = Results(tmp_path / "results", cache).sessions()
    assert kept.config == good[0].config and "last good" in kept.problems[0]
    for broken in ("", "{", "[]", '{"version": 1}', '{"version": 1, "entries": {"a": 3}}', '{"version": 0}'):
        cache.write_text(broken)
        (run,) = Results(tmp_path / "results", cache).sessions()
        assert run.status == "COMPLETED" and run.config == {}
    assert json.loads(cache.read_text())["version"] == entries["version"]
    (tmp_path / "results" / "sacred" / "1").rename(tmp_path / "results" / "sacred" / "2")
    assert [run.id for run in Results(tmp_path / "results", cache).sessions()] == ["2"]
    assert all("sacred/2" in name for name in json.loads(cache.read_text())["entries"])


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path):
    write_usual(tmp_path / "results")
    (tmp_path / "file").write_text("")
    assert len(Results(tmp_path / "results", tmp_path / "file" / "cache.json").sessions()) == 1


def test_reading_while_a_run_writes(tmp_path):
    """Sacred truncates a file and rewrites it; every reading is a whole version, and never an older one."""
    folder = write_usual(tmp_path)
    path = write_log(tmp_path, "token", [(0, 0, 0, "loss", 0)])
    record = json.loads((folder / "run.json").read_text())
    results, stop, written = open_results(tmp_path), threading.Event(), 0
    results.sessions()

    def write():
        nonlocal written
        while not stop.is_set():
            written += 1
            record["result"] = written
            with open(folder / "run.json", "w") as file:
                json.dump(record, file, indent=2, sort_keys=True)
            with open(path, "a") as file:
                file.write(f"{written},0,0,lo")
                file.flush()
                file.write(f"ss,{written}\n")

    thread = threading.Thread(target=write)
    thread.start()
    last_result, last_step = 0, 0
    try:
        for _ in range(300):
            (run,) = results.sessions()
            curve = results.curves(run, ["loss"])["loss"]
            assert run.token == "token" and run.status == "COMPLETED"
            assert run.result == 8.0 or run.result >= last_result
            assert curve.values.tolist() == list(range(len(curve.steps))) and curve.steps[-1] >= last_step
            last_result, last_step = 0 if run.result == 8.0 else run.result, curve.steps[-1]
    finally:
        stop.set()
        thread.join()
    assert written > 1 and len(curve.steps) > 1
