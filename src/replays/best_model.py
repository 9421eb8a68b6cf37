"""Which of a run's saved models plays best."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path

from records.best_model import BEST, RANKED_BY, RankedModel, best_of
from replays.run_folders import FoundRun, manifests
from utils.errors import ConfigError
from utils.regular_files import open_regular


@dataclass
class SavedModel:
    """A model that `find_checkpoint(folder, step)` finds, and what its test came to."""

    folder: Path
    model: RankedModel

    @property
    def step(self) -> int:
        return self.model.step


def find_best_model(run: FoundRun) -> SavedModel:
    """The saved model that tested best (see `RankedModel.rank`); without tests, the newest.

    The folder `best/` and checkpoints tell their figures themselves; for others, the test nearest to their step counts.

    Raises:
        ConfigError: the run has saved none.
    """
    models, checkpoints = run.results / "models" / run.token, run.results / "runs" / run.token / "checkpoints"
    tests = _tests(run)
    told = {step: _told(manifest) for step, manifest in manifests(checkpoints).items()}
    found = [SavedModel(models, RankedModel(step, _nearest(tests, step))) for step in _steps(models)]
    found += [
        SavedModel(checkpoints, RankedModel(step, _nearest(tests, step) | told.get(step, {})))
        for step in _steps(checkpoints)
    ]
    if (best := best_of(models)) is not None:
        found.append(SavedModel(models / BEST, best))
    if not found:
        raise ConfigError(
            f"{run.token} has saved no models: {models} and {checkpoints} have none. Train with save_model=True."
        )
    return max(found, key=lambda saved: saved.model.rank)


def _told(manifest: dict) -> dict[str, float]:
    value = manifest.get("test_return_mean")
    return {"test_return_mean": value} if isinstance(value, int | float) and value == value else {}


def _steps(folder: Path) -> list[int]:
    """Those with a model in a real folder of real files: what somebody else has made leads nowhere else by links."""
    if folder.is_symlink() or not folder.is_dir():
        return []
    return [int(path.name) for path in folder.iterdir() if path.name.isdecimal() and _holds_model(path)]


def _holds_model(folder: Path) -> bool:
    files = [] if folder.is_symlink() else list(folder.glob("*.th"))
    return bool(files) and not any(file.is_symlink() or not file.is_file() for file in files)


def _tests(run: FoundRun) -> dict[int, dict[str, float]]:
    """Step -> the figures of the test after it."""
    metrics = run.results / "runs" / run.token / "metrics.csv"
    rows: list[tuple] = []
    if metrics.is_file() and not metrics.is_symlink():
        with io.TextIOWrapper(open_regular(metrics), encoding="utf-8", errors="replace", newline="") as file:
            rows = [(row.get("key"), row.get("t_env"), row.get("value")) for row in csv.DictReader(file)]
    else:
        for key in RANKED_BY:
            pairs = zip(run.info.get(f"{key}_T", []), run.info.get(key, []), strict=False)
            rows += [(key, t_env, value) for t_env, value in pairs]
    tests: dict[int, dict[str, float]] = {}
    for key, t_env, value in rows:
        if key in RANKED_BY and (figures := _figures(t_env, value)) is not None:
            tests.setdefault(figures[0], {})[key] = figures[1]
    return tests


def _figures(t_env: object, value: object) -> tuple[int, float] | None:
    """None for a line that is being written just now, or no number."""
    try:
        step, figure = int(float(t_env)), float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if figure != figure else (step, figure)


def _nearest(tests: dict[int, dict[str, float]], step: int) -> dict[str, float]:
    return tests[min(tests, key=lambda t: (abs(t - step), -t))] if tests else {}
