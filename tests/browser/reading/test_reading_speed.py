"""A thousand runs and a hundred curves, beside what Python takes to parse their files."""

import csv
import json
import os
import shutil
import time

import pytest

from browser.reading import Results
from results_folders import write_log, write_run

pytestmark = pytest.mark.slow


def best_of(times, action):
    """The shortest of several times, in seconds of this process: a busy machine is not a failure."""
    taken = []
    for _ in range(times):
        start = time.process_time()
        action()
        taken.append(time.process_time() - start)
    return min(taken)


def test_a_thousand_runs_are_listed_in_time(tmp_path):
    config = {f"key_{i}": i for i in range(95)}
    statistics = {name: [0.125] * 20 for i in range(20) for name in (f"stat_{i}", f"stat_{i}_T")}
    info = {**statistics, "unique_token": "token_of_one"}
    first = write_run(tmp_path, 0, config={**config, "seed": 12345}, info=info, bulk=60)
    texts = {name: (first / name).read_text() for name in ("run.json", "config.json", "info.json")}
    shutil.rmtree(first)
    for i in range(1000):
        folder = tmp_path / "sacred" / str(i)
        folder.mkdir()
        for name, text in texts.items():
            (folder / name).write_text(text.replace("12345", str(i)).replace("token_of_one", f"token_{i}"))
            os.utime(folder / name, (1e9, 1e9))
    cache = tmp_path / "cache.json"

    def cold():
        cache.unlink(missing_ok=True)
        assert len(Results(tmp_path, cache).sessions()) == 1000

    def parse():
        for folder in (tmp_path / "sacred").iterdir():
            for name in texts:
                json.loads((folder / name).read_bytes())

    parsing = best_of(2, parse)
    assert best_of(2, cold) < 6 * parsing
    # with what the cache remembers, no file is parsed again
    assert best_of(3, lambda: Results(tmp_path, cache).sessions()) < parsing
    results = Results(tmp_path, cache)
    results.sessions()
    assert best_of(3, results.sessions) < parsing


def test_a_hundred_curves_of_2000_points_are_read_in_time(tmp_path):
    rows = [(t * 100, t, t / 3, key, t / 7) for t in range(2000) for key in ("loss", "test_return_mean", "epsilon")]
    text = write_log(tmp_path, "token_0", rows).read_bytes()
    for i in range(100):
        write_run(tmp_path, i, info={"unique_token": f"token_{i}"})
        (tmp_path / "runs" / f"token_{i}").mkdir(exist_ok=True)
        (tmp_path / "runs" / f"token_{i}" / "metrics.csv").write_bytes(text)

    def read():
        results = Results(tmp_path, cache=None)
        curves = [results.curves(run, ["test_return_mean"])["test_return_mean"] for run in results.sessions()]
        assert [len(curve.steps) for curve in curves] == [2000] * 100

    def parse():
        for log in (tmp_path / "runs").glob("*/metrics.csv"):
            cells = csv.reader(log.read_text().splitlines()[1:])
            assert len([(int(t_env), float(seconds), float(value)) for t_env, _, seconds, _, value in cells]) == 6000

    assert best_of(2, read) < 1.5 * best_of(2, parse)
