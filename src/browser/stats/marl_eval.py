"""Export in the layout of marl-eval (Gorsane et al., NeurIPS 2022): environment, task, algorithm, run, step.

{"skirmish": {"3m": {"qmix": {"seed_1": {"step_0": {"step_count": 0, "test_return_mean": [1.5]}, ...,
                                         "absolute_metrics": {"test_return_mean": [19.2]}}}}}}
"""

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from browser.reading.curves import Curve
from browser.reading.session import Session
from browser.stats.outcomes import best_value, final_value
from records.absolute_metric import absolute_key


def to_marl_eval(runs: Iterable[tuple[str, Session, Mapping[str, Curve]]], keys: Iterable[str]) -> dict:
    """Runs and their curves as marl-eval's nested dictionary, for `json.dump`.

    marl-eval wants as many evaluations of every run of an environment, so the first n of each are taken, n being those
    of the shortest run; a run that lacks one of `keys`, or has no finite value of it, is left out. Its absolute metric
    is that of its curves (`absolute_return_mean` of `test_return_mean`); without one, its best value stands in.

    Args:
        runs: the algorithm's name, the run, and its curves by key.
        keys: statistics to export, e.g. ["test_return_mean", "test_battle_won_mean"].
    """
    keys = list(keys)
    chosen = [
        (algorithm, run, curves, rows) for algorithm, run, curves in runs if (rows := _rows(curves, keys)) is not None
    ]
    shortest: dict[str, int] = {}
    for _, run, _, (steps, _) in chosen:
        shortest[run.environment] = min(len(steps), shortest.get(run.environment, len(steps)))
    exported: dict = {}
    names: Counter = Counter()
    for algorithm, run, curves, (steps, columns) in chosen:
        n = shortest[run.environment]
        algorithms = exported.setdefault(run.environment or "unknown", {}).setdefault(run.map_name or "unknown", {})
        seeds = algorithms.setdefault(algorithm, {})
        name = f"seed_{run.seed}"
        place = run.environment, run.map_name, algorithm, name
        names[place] += 1
        if names[place] > 1:
            name = f"{name}_{names[place]}"
        seeds[name] = {
            f"step_{i}": {"step_count": int(steps[i]), **{key: [float(columns[key][i])] for key in keys}}
            for i in range(n)
        }
        seeds[name]["absolute_metrics"] = {key: [absolute_or_best(curves, key, columns[key][:n])] for key in keys}
    return exported


def absolute_or_best(curves: Mapping[str, Curve], key: str, tests: np.ndarray) -> float:
    """The absolute metric of a test's statistic, or, where the run has none, the greatest of its tests."""
    curve = curves.get(absolute_key(key))
    return float(np.max(tests)) if curve is None else final_value(curve)


def _rows(curves: Mapping[str, Curve], keys: list[str]) -> tuple[np.ndarray, dict[str, np.ndarray]] | None:
    """Steps at which all keys were logged with a finite value, and the values there."""
    if any(key not in curves or np.isnan(best_value(curves[key])) for key in keys) or not keys:
        return None
    finite = [curves[key].finite() for key in keys]
    steps = finite[0].steps
    for curve in finite[1:]:
        steps = np.intersect1d(steps, curve.steps)
    if not len(steps):
        return None
    columns = {key: curve.values[np.searchsorted(curve.steps, steps)] for key, curve in zip(keys, finite, strict=True)}
    return steps, columns
