"""Which of a run's saved models plays best."""

from pathlib import Path
from typing import Any

from records.best_model import RANKED_BY, RankedModel, SavedModel, best_of, last_test_in, reason_to_play, to_play
from records.find_run import FoundRun
from records.layout import BEST, CHECKPOINTS, METRICS
from records.limits import LARGEST_LOG
from records.metric_rows import read_rows, whole_lines
from records.recorded import manifests
from utils.errors import ConfigError
from utils.files.regular_files import read_regular
from utils.nearest import suggestion
from utils.plain_values import quoted

MODELS = ("best", "newest")
BOTH = "--model=newest or load_step=STEP picks another"


def find_model(run: FoundRun, which: str | None = None, how: str = BOTH) -> tuple[SavedModel, str]:
    """The saved model that is played, and why this one, in a sentence that may be empty.

    The best is the one that tested best (`records.best_model.to_play`). The folder `best/` has its figures, and a
    checkpoint those of the last test before it; for others, the test nearest to their step counts.

    Args:
        which: "newest", or "best", which needs no reason; None: the best.
        how: another one can be picked.

    Raises:
        ConfigError: the run has saved none, or `which` is neither.
    """
    if which not in (None, *MODELS):
        raise ConfigError(f"model is '{quoted(which)}'.{suggestion(str(which), MODELS)}")
    found = _saved_models(run)
    if which == "newest":
        return max(found, key=lambda saved: saved.step), ""
    return to_play(found), "" if which else reason_to_play(found, how)


def _saved_models(run: FoundRun) -> list[SavedModel]:
    models, checkpoints = run.models, run.folder / CHECKPOINTS
    tests = _tests(run)
    last_tests = {step: last_test_in(manifest) for step, manifest in manifests(checkpoints).items()}
    found = [SavedModel(models, RankedModel(step, _nearest(tests, step)), step in tests) for step in _steps(models)]
    found += [
        SavedModel(checkpoints, RankedModel(step, _nearest(tests, step) | last_tests.get(step, {})), step in tests)
        for step in _steps(checkpoints)
    ]
    if (best := best_of(models)) is not None:
        found.append(SavedModel(models / BEST, best))
    if not found:
        raise ConfigError(
            f"{run.token} has no saved models in {models} and {checkpoints}. A run that is recorded keeps its last and "
            "best ones, unless save_model=False; save_model=True keeps others, too."
        )
    return found


def _steps(folder: Path) -> list[int]:
    """Those with a model in a real folder of real files, without links, which could lead anywhere."""
    if folder.is_symlink() or not folder.is_dir():
        return []
    return [int(path.name) for path in folder.iterdir() if path.name.isdecimal() and _holds_model(path)]


def _holds_model(folder: Path) -> bool:
    files = [] if folder.is_symlink() else list(folder.glob("*.th"))
    return bool(files) and not any(file.is_symlink() or not file.is_file() for file in files)


def _tests(run: FoundRun) -> dict[int, dict[str, float]]:
    """Step -> the figures of the test after it: those of the metric log if it can be read, else those Sacred kept."""
    try:
        log = read_regular(run.folder / METRICS, LARGEST_LOG)
    except OSError:
        log = None
    if log is not None:
        found = read_rows(whole_lines(log) or b"", RANKED_BY)
        series = {key: zip(rows.t_env, rows.value, strict=True) for key, rows in found.items()}
    else:
        info = run.info()
        series = {key: zip(info.get(f"{key}_T", []), info.get(key, []), strict=False) for key in RANKED_BY}
    tests: dict[int, dict[str, float]] = {}
    for key, points in series.items():
        for t_env, value in points:
            if (figures := _figures(t_env, value)) is not None:
                tests.setdefault(figures[0], {})[key] = figures[1]
    return tests


def _figures(t_env: Any, value: Any) -> tuple[int, float] | None:
    """Both as numbers, or None; Sacred's record may come from others."""
    try:
        step, figure = int(float(t_env)), float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if figure != figure else (step, figure)


def _nearest(tests: dict[int, dict[str, float]], step: int) -> dict[str, float]:
    return tests[min(tests, key=lambda t: (abs(t - step), -t))] if tests else {}
