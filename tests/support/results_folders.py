"""Results folders, written without the code under test."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def naive(time):
    """A time as Sacred writes it: UTC without saying so."""
    return time.astimezone(UTC).replace(tzinfo=None).isoformat()


def alive():
    """A start so late that `write_run`'s heartbeat, a minute after it, is a few seconds old."""
    return datetime.now(UTC) - timedelta(seconds=65)


def write_run(
    results,
    run_id,
    *,
    config=None,
    status="COMPLETED",
    info=None,
    metrics=None,
    started=START,
    cout="",
    bulk=1,
    **changes,
):
    """Write Sacred's folder of one run, as its file observer lays it out, and return it.

    Args:
        bulk: how many repositories and sources run.json lists, which is what makes real ones long.
        changes: to run.json.
    """
    folder = Path(results) / "sacred" / str(run_id)
    folder.mkdir(parents=True)
    record = {
        "artifacts": [],
        "command": "my_main",
        "experiment": {
            "base_dir": "src",
            "mainfile": "cli/experiment.py",
            "name": "muster",
            "repositories": [{"commit": "c0ffee", "dirty": False, "url": "somewhere"}] * bulk,
            "sources": [[f"part_{i}.py", f"_sources/part_{i}_0123456789abcdef.py"] for i in range(bulk)],
        },
        "heartbeat": naive(started + timedelta(seconds=60)),
        "host": {"hostname": "box", "os": ["Linux", "Linux-6"], "cpu": "a cpu", "python_version": "3.11.7"},
        "meta": {"options": {"--beat-interval": None}},
        "result": 8.0,
        "start_time": naive(started),
        "status": status,
        "stop_time": naive(started + timedelta(seconds=65)),
        **changes,
    }
    _dump(folder / "run.json", record)
    _dump(folder / "config.json", {"env": "two_step", "name": "qmix", "seed": 1, **(config or {})})
    if info is not None:
        _dump(folder / "info.json", info)
    if metrics is not None:
        _dump(folder / "metrics.json", metrics)
    (folder / "cout.txt").write_text(cout)
    return folder


def write_log(results, token, rows):
    """Write a metric log of (t_env, episode, seconds, key, value) rows, and return its path."""
    folder = Path(results) / "runs" / token
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["t_env,episode,seconds,key,value", *(",".join(map(str, row)) for row in rows)]
    (folder / "metrics.csv").write_text("\n".join(lines) + "\n")
    return folder / "metrics.csv"


def write_seeds(results, scores, key="test_return_mean", steps=(0, 1000, 2000)):
    """Write a run per (algorithm, map, seed), whose curve rises from 0 to its score.

    Args:
        scores: {algorithm: {map: [score per seed]}}.
    """
    run_id = 0
    for algorithm, maps in scores.items():
        for map_name, values in maps.items():
            for seed, score in enumerate(values):
                run_id += 1
                token = f"{algorithm}_seed{seed}_{map_name}_{run_id}"
                config = {"name": algorithm, "seed": seed, "env": "skirmish", "env_args": {"map_name": map_name}}
                write_run(results, run_id, config=config, info={"unique_token": token})
                n = len(steps) - 1
                write_log(results, token, [(t, t // 10, t / 100, key, score * i / n) for i, t in enumerate(steps)])


def write_checkpoint(results, token, step, **manifest):
    """Write a checkpoint that has its manifest and an empty model."""
    folder = Path(results) / "runs" / token / "checkpoints" / str(step)
    put(folder / "agent.th")
    put(folder / "manifest.json", json.dumps(manifest))


def put(path, content=""):
    """Write a file and the folders above it, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def _dump(path, value):
    path.write_text(json.dumps(value, sort_keys=True, indent=2))
