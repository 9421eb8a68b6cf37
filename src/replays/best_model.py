"""Which of a run's saved models plays best."""

import csv
import io
from dataclasses import dataclass
from math import inf
from pathlib import Path

from replays.run_folders import FoundRun, manifests
from utils.errors import ConfigError
from utils.regular_files import open_regular

STATISTIC = "test_return_mean"


@dataclass
class SavedModel:
    """A model in `<folder>/<step>`, and its mean test return, if it was tested."""

    folder: Path
    step: int
    test_return: float | None


def find_best_model(run: FoundRun) -> SavedModel:
    """The saved model with the best test return, the newest of equals; without tests, the newest.

    A checkpoint tells its return itself; for others, the test nearest to their step counts.

    Raises:
        ConfigError: the run has saved none.
    """
    folders = [run.results / "models" / run.token, run.results / "runs" / run.token / "checkpoints"]
    tests = _tests(run)
    told = {(folders[1], step): _told(manifest) for step, manifest in manifests(folders[1]).items()}
    models = []
    for folder in folders:
        for step in _steps(folder):
            value = told.get((folder, step))
            models.append(SavedModel(folder, step, _nearest(tests, step) if value is None else value))
    if not models:
        raise ConfigError(
            f"{run.token} has saved no models: {' and '.join(map(str, folders))} have none. Train with save_model=True."
        )
    return max(models, key=lambda model: (-inf if model.test_return is None else model.test_return, model.step))


def _told(manifest: dict) -> float | None:
    value = manifest.get(STATISTIC)
    return value if isinstance(value, int | float) and value == value else None


def _steps(folder: Path) -> list[int]:
    """Those with a model in a real folder of real files: what somebody else has made leads nowhere else by links."""
    if folder.is_symlink() or not folder.is_dir():
        return []
    return [int(path.name) for path in folder.iterdir() if path.name.isdecimal() and _holds_model(path)]


def _holds_model(folder: Path) -> bool:
    files = [] if folder.is_symlink() else list(folder.glob("*.th"))
    return bool(files) and not any(file.is_symlink() or not file.is_file() for file in files)


def _tests(run: FoundRun) -> dict[int, float]:
    """Step -> mean return of the test after it."""
    metrics = run.results / "runs" / run.token / "metrics.csv"
    if metrics.is_file() and not metrics.is_symlink():
        with io.TextIOWrapper(open_regular(metrics), encoding="utf-8", errors="replace", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row.get("key") == STATISTIC]
        tests = [_figures(row.get("t_env"), row.get("value")) for row in rows]
    else:
        pairs = zip(run.info.get(f"{STATISTIC}_T", []), run.info.get(STATISTIC, []), strict=False)
        tests = [_figures(t_env, value) for t_env, value in pairs]
    return {step: value for step, value in filter(None, tests) if value == value}


def _figures(t_env: object, value: object) -> tuple[int, float] | None:
    """None for a line that is being written just now."""
    try:
        return int(float(t_env)), float(value)
    except (TypeError, ValueError):
        return None


def _nearest(tests: dict[int, float], step: int) -> float | None:
    return tests[min(tests, key=lambda t: (abs(t - step), -t))] if tests else None
