"""How fast are records of runs written, and read?

python benchmarks/records.py

Writing: a heartbeat of Sacred's record of 40 metrics of 50,000 points each, with Sacred's own FileStorageObserver and
with ours, which keeps a thinned copy. Reading: 1,000 runs listed without a cache and with one, and 100 curves of 2,000
points from metric logs in which 20 statistics stand.
"""

import datetime
import json
import logging
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from sacred.observers import FileStorageObserver

from browser.reading import Results
from records.metric_log import MetricLog
from records.metric_rows import MetricRow
from records.sacred_files import RunRecorder
from utils.config.merging import default_config

METRICS, POINTS, NEW = 40, 50_000, 10
RUNS, CURVES, CURVE_POINTS, STATISTICS = 1000, 100, 2000, 20
NOW = datetime.datetime(2026, 1, 1)


def seconds(act: Callable[[], Any]) -> float:
    """How long it takes."""
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def measured(first: int, last: int) -> dict[str, dict]:
    """The arguments of an observer from Sacred for the points `first` to `last` - 1 of all metrics."""
    steps = list(range(first, last))
    values, times = [step / 7 for step in steps], [NOW] * len(steps)
    return {
        f"metric_{i}": {"name": f"metric_{i}", "steps": steps, "values": values, "timestamps": times}
        for i in range(METRICS)
    }


def heartbeat(observer_class: type, folder: Path) -> float:
    """Seconds of one heartbeat after all points were recorded; prints what lies on the disk."""
    observer = observer_class(folder / "sacred")
    experiment = {"name": "benchmark", "sources": [], "base_dir": str(folder)}
    observer.started_event(experiment, "main", {}, NOW, {}, {}, None)
    info: dict[str, list] = {}
    for name, metric in measured(0, POINTS).items():
        info[name], info[f"{name}_T"] = metric["values"], metric["steps"]
    observer.log_metrics(measured(0, POINTS), info)
    observer.heartbeat_event(info, "", NOW, None)
    new = measured(POINTS, POINTS + NEW)

    def beat() -> None:
        observer.log_metrics(new, info)
        observer.heartbeat_event(info, "", NOW, None)

    passed = seconds(beat)
    size = (folder / "sacred" / "1" / "metrics.json").stat().st_size / 1e6
    print(f"{observer_class.__name__:20} heartbeat {passed:6.2f} s   metrics.json {size:6.1f} MB", flush=True)
    return passed


def write_runs(root: Path) -> None:
    """Folders as Sacred and the metric log leave them."""
    config = default_config()
    for i in range(RUNS):
        folder = root / "sacred" / str(i + 1)
        folder.mkdir(parents=True)
        run = {"status": "COMPLETED", "experiment": {"name": "muster"}, "start_time": NOW.isoformat(), "result": 1.0}
        (folder / "run.json").write_text(json.dumps(run))
        (folder / "config.json").write_text(json.dumps({**config, "seed": i}))
        curves = {f"statistic_{k}": [0.123456] * 20 for k in range(STATISTICS)}
        (folder / "info.json").write_text(json.dumps({"unique_token": f"run_{i}", **curves}))
    keys = ["test_return_mean", *(f"statistic_{k}" for k in range(STATISTICS - 1))]
    for i in range(CURVES):
        log = MetricLog(logging.getLogger())
        log.open(str(root / "runs" / f"run_{i}" / "metrics.csv"))
        for t in range(CURVE_POINTS):
            for key in keys:
                log.append(MetricRow(100 * t, t, t / 2, key, t * 0.123456789))
        log.flush()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        ours = heartbeat(RunRecorder, Path(folder) / "ours")
        theirs = heartbeat(FileStorageObserver, Path(folder) / "theirs")
        print(f"Sacred's own / ours: {theirs / ours:.0f}")
        root, cache = Path(folder) / "results", Path(folder) / "cache.json"
        write_runs(root)
        cold = seconds(lambda: Results(root, cache=cache).runs())
        warm = seconds(lambda: Results(root, cache=cache).runs())
        print(f"{RUNS} runs listed in {cold:.2f} s, from the cache in {warm:.2f} s ({cold / warm:.1f} times as fast)")
        results = Results(root, cache=None)
        runs = [run for run in results.runs() if int(run.token.removeprefix("run_")) < CURVES]
        passed = seconds(lambda: [results.curves(run, ["test_return_mean"]) for run in runs])
        print(f"{len(runs)} curves of {CURVE_POINTS} points read in {passed:.2f} s")


if __name__ == "__main__":
    main()
