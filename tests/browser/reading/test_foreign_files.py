"""Anything else in place of a run's file: it is not opened, the run's row reports it, and nothing hangs."""

import json
import os
import resource

import pytest

from browser.reading import Results
from browser.reading.limits import MOST_CONFIG_KEYS
from records.limits import LARGEST, MOST_METRICS
from results_folders import write_log, write_run

SECRET = {
    "unique_token": "SECRET",
    "name": "SECRET",
    "status": "SECRET",
    "experiment": {"name": "SECRET"},
    "loss": {"steps": [1], "values": [12345.0], "timestamps": []},
}


def pipe(path):
    os.mkfifo(path)


def endless(path):
    path.symlink_to("/dev/zero")


def elsewhere(path):
    outside = path.parents[3] / "elsewhere"
    outside.write_text(json.dumps(SECRET))
    path.symlink_to(outside)


def beside(path):
    """A link that stays within the results folder."""
    (path.parent / "other").write_text(json.dumps(SECRET))
    path.symlink_to("other")


def folder(path):
    path.mkdir()


def sparse(path):
    with open(path, "wb") as file:
        file.truncate(2**40)


KINDS = {
    pipe: "a pipe",
    endless: "a link",
    elsewhere: "a link",
    beside: "a link",
    folder: "a folder",
    sparse: "1.0 TiB",
}
NAMES = ("run.json", "config.json", "info.json", "metrics.json", "cout.txt", "metrics.csv", "manifest.json")


@pytest.fixture
def root(tmp_path):
    """Two runs; the files of the first are what a test replaces."""
    root = tmp_path / "results"
    for number, token in ((1, "first"), (2, "second")):
        info = {"unique_token": token, "loss": [1.0], "loss_T": [7]}
        write_run(root, number, info=info, metrics={}, cout="printed")
        write_log(root, token, [(7, 1, 1.0, "loss", 1.0)])
        checkpoint = root / "runs" / token / "checkpoints" / "7"
        checkpoint.mkdir(parents=True)
        (checkpoint / "manifest.json").write_text('{"episode": 1}')
    return root


def place(root, name):
    return {
        "metrics.csv": root / "runs" / "first" / name,
        "manifest.json": root / "runs" / "first" / "checkpoints" / "7" / name,
    }.get(name, root / "sacred" / "1" / name)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("name", NAMES)
def test_it_is_left_alone_and_reported(root, name, make):
    place(root, name).unlink()
    make(place(root, name))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    results = Results(root, cache=None)
    runs = {run.id: run for run in results.sessions()}
    # without info.json the run's token is unknown
    assert runs.keys() == {"1", "2", *(["runs/first"] if name == "info.json" else [])} and runs["2"].problems == ()
    run = runs["1"]
    if name == "cout.txt" and make is sparse:  # only the end of a run's output is read, whatever its length
        assert run.problems == () and len(results.log_text(run)) < 100_000
    elif name == "manifest.json":
        (checkpoint,) = (found for found in results.artifacts(run) if found.kind == "checkpoint")
        assert results.manifest(checkpoint) == {}
    else:
        (problem,) = run.problems
        assert f"{name} is not read: " in problem and KINDS[make] in problem
    assert "SECRET" not in repr(run) + results.log_text(run) and results.metric_keys(run) in (["loss"], [])
    assert 12345.0 not in [value for curve in results.curves(run).values() for value in curve.values.tolist()]
    results.latest(run, ["loss"]), results.provenance(run), results.runs()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 100_000, "kilobytes"


@pytest.mark.parametrize(
    "linked", ["runs", "runs/first", "sacred", "models", "replays/first", "runs/first/checkpoints"]
)
def test_linked_folders_are_not_followed(root, tmp_path, linked):
    for path in ("models/first/7", "replays/first"):
        (root / path).mkdir(parents=True)
    (root / "replays" / "first" / "1_0.jsonl").write_text("{}")
    target = tmp_path / "moved"
    (root / linked).rename(target)
    (root / linked).symlink_to(target)
    results = Results(root, cache=None)
    runs = results.sessions()
    assert [run.id for run in runs if run.folder] == ([] if linked == "sacred" else ["2", "1"])
    for run in runs:
        found = [str(artifact.path) for artifact in results.artifacts(run)]
        assert not [path for path in found if path.startswith(linked)]
        behind = linked == "runs" or linked == f"runs/{run.token}"
        assert results.curves(run)["loss"].source == ("info.json" if behind else "metrics.csv")
        assert (f"runs/{run.token}/metrics.csv is not read: a link is on its path." in run.problems) == behind


def test_a_file_that_is_one_byte_too_long_is_not_read(root, monkeypatch):
    for name in ("run.json", "config.json", "metrics.csv"):
        monkeypatch.setitem(LARGEST, name, place(root, name).stat().st_size)
    assert Results(root, cache=None).session("1").problems == ()
    for name in ("run.json", "config.json", "metrics.csv"):
        with open(place(root, name), "ab") as file:
            file.write(b"\n")
    assert [problem.partition(" is")[0] for problem in Results(root, cache=None).session("1").problems] == [
        *("run.json", "config.json", "runs/first/metrics.csv")
    ]


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "text",
    [
        '{"artifacts": 5, "status": "RUNNING", "heartbeat": "2026-01-02T03:04:05", "meta": {"options": '
        '{"--beat-interval": 1e300}}}',
        '{"status": ["a"], "host": {"os": [["x"]], "gpus": {"gpus": [7]}}, "experiment": {"repositories": {"0": 1}}}',
        '{"status": "\\ud800", "experiment": {"name": "\\udfff"}, "result": "\\ud800", "fail_trace": [1, "\\ud800"]}',
        '{"status": "x", "result": ' + "[" * 900 + "]" * 900 + "}",
        '{"status": "x", "host": ' + '{"a":' * 900 + "1" + "}" * 901,
        '{"status": "x", "start_time": "' + "9" * 100_000 + '"}',
        '{"status": "' + "x" * 1_000_000 + '", "fail_trace": ["' + "y" * 1_000_000 + '", "the end"]}',
    ],
)
def test_odd_records_are_runs_of_bounded_size(root, text):
    (root / "sacred" / "1" / "run.json").write_text(text)
    run = Results(root, cache=None).session("1")
    run.status_at(), run.seconds()
    assert len(json.dumps(repr(run))) < 70_000 and repr(run).encode()
    assert "the end" in run.fail_trace or "the end" not in text


def test_a_config_of_any_size_keeps_the_keys_that_name_the_run(root):
    config = {f"key_{i:06}": i for i in range(30_000)} | {"long": "x" * 10_000, "also": ["y" * 10_000] * 2}
    config |= {"name": "qmix", "seed": 5, "env_args": {"map_name": "3m"}, "k" * 100_000: {"deep": 1}}
    for folder, other in (("1", "a"), ("2", "b")):
        late = config | {"also": [other * 10_000]}
        (root / "sacred" / folder / "config.json").write_text(json.dumps(late, sort_keys=True))
    runs = Results(root, cache=None).sessions()
    for run in runs:
        assert (run.name, run.seed, run.map_name) == ("qmix", 5, "3m") and len(run.config) < MOST_CONFIG_KEYS + 10
        assert len(repr(run)) < 300_000 and max(map(len, run.config)) < 400
        (problem,) = run.problems
        assert "28,0" in problem and "more keys than the 2,000 that are shown" in problem
    first, second = (run.config["also"] for run in runs)
    assert first != second and "10,004 characters" in first


def test_logs_of_any_size_have_a_bounded_number_of_statistics(root):
    write_log(root, "first", [(i, i, i, f"key_{i}", 1.0) for i in range(3 * MOST_METRICS)])
    results = Results(root, cache=None)
    assert len(results.metric_keys("1")) == MOST_METRICS == len(results.curves("1"))
    place(root, "metrics.csv").unlink()
    info = {f"{name}{end}": [1.0] for name in map(str, range(3 * MOST_METRICS)) for end in ("", "_T")}
    (root / "sacred" / "1" / "info.json").write_text(json.dumps(info | {"unique_token": "first"}, indent=2))
    assert len(results.metric_keys("1")) <= MOST_METRICS


@pytest.mark.parametrize(
    "row", ["inf,1,1,loss,1", "nan,1,1,loss,1", "1e300,1,1,loss,1", "1,1,1,loss," + "1" * 100_000, "," * 100_000]
)
def test_odd_rows_are_no_steps(root, row):
    with open(place(root, "metrics.csv"), "a") as file:
        file.write(f"{row}\n")
    for info in ({"unique_token": "first"}, {"unique_token": "first", "resumed_from": {"sacred_id": "0", "t_env": 3}}):
        (root / "sacred" / "1" / "info.json").write_text(json.dumps(info))
        results = Results(root, cache=None)
        assert results.curves("1", ["loss"])["loss"].steps.tolist() in ([1], [7])
        results.latest("1", ["loss"])
