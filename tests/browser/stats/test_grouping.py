"""Groups of runs by config keys, and what single runs came to."""

from datetime import UTC, datetime

import numpy as np
import pytest

from browser.reading import Curve, Run, Session, differences, varying_keys
from browser.stats import best_value, final_value, group_runs, reached, repeated_seeds, to_marl_eval
from utils.errors import ConfigError


def run(run_id, **config):
    return Session(str(run_id), config={"name": "qmix", "seed": run_id, **config})


def curve(steps, values, seconds=None):
    return Curve("x", np.array(steps), np.array(values, dtype=float), None, seconds)


def test_runs_are_grouped_by_any_keys_but_the_seed():
    runs = [run(1, lr=10), run(2, lr=9), run(3, lr=10), run(4, name="vdn")]
    groups = group_runs(runs, ["name", "lr"])
    found = [(group.label, [member.id for member in group.runs]) for group in groups]
    assert found == [("qmix · 9", ["2"]), ("qmix · 10", ["1", "3"]), ("vdn · –", ["4"])]
    assert [group.label for group in group_runs(runs, [])] == ["all runs"]
    with pytest.raises(ConfigError, match="repetitions over seeds"):
        group_runs(runs, ["seed"])
    with pytest.raises(ConfigError, match="Did you mean 'name'"):
        group_runs(runs, ["nam"])


def test_runs_are_grouped_by_their_newest_session():
    resumed = Run((run(1, lr=1), run(2, lr=2)))
    (group,) = group_runs([resumed], ["lr"])
    assert group.label == "2" and group.runs == (resumed,)


def test_without_a_name_the_experiments_counts():
    runs = [
        Session("1", experiment="net", config={"lr": 1}),
        Session("2", experiment="net", config={"name": "own"}),
        Session("3"),
    ]
    assert [(group.label, len(group.runs)) for group in group_runs(runs, ["name"])] == [
        ("net", 1),
        ("own", 1),
        ("–", 1),
    ]


def test_repeated_seeds_are_found_with_the_newest_first():
    times = (datetime(2026, 1, day, tzinfo=UTC) for day in (3, 1, 2, 4, 5, 6))
    seeds = (1, 2, 1, 1, None, None)
    runs = [
        Run((Session(str(i), started=time, config={"seed": s}),))
        for i, (time, s) in enumerate(zip(times, seeds, strict=True))
    ]
    found = {seed: [run.id for run in alike] for seed, alike in repeated_seeds(runs).items()}
    assert found == {1: ["3", "0", "2"]}


def test_keys_that_vary_leave_out_seeds_and_places():
    named = [{"local_results_path": name, "run_name": name, "message": name} for name in "ab"]  # as suites name runs
    runs = [run(1, lr=1, gamma=0.9, **named[0]), run(2, lr=2, gamma=0.9, extra=1, **named[1])]
    assert varying_keys(runs) == ["extra", "lr"]
    found = differences(runs)
    assert found["lr"] == [1, 2] and found["seed"] == [1, 2] and str(found["extra"][0]) == "–"


def test_final_best_and_first_above_a_threshold():
    rising = curve([0, 10, 20, 30, 40], [0, 0.9, np.nan, 0.2, 0.4], np.array([0.0, 1, 2, 3, 4]))
    assert final_value(rising) == 0.4 and final_value(rising, last=2) == pytest.approx(0.3)
    assert best_value(rising) == 0.9
    assert (reached(rising, 0.9).steps, reached(rising, 0.9).seconds) == (10, 1.0)
    assert reached(rising, 0.5, smoothing=3).steps == 40 and reached(rising, 0, smoothing=5) is None
    assert reached(rising, 0.91) is None
    assert reached(curve([0, 5], [0, 1]), 1).seconds is None
    empty = curve([], [])
    assert np.isnan(final_value(empty)) and np.isnan(best_value(empty)) and reached(empty, 0) is None


def test_the_export_has_the_absolute_metric_of_runs_that_played_it():
    curves = {"test_won": curve([0, 10], [1, 5]), "absolute_won": curve([11], [3])}
    (found,) = to_marl_eval([("vdn", run(2, env="skirmish"), curves)], ["test_won"])["skirmish"].values()
    assert found["vdn"]["seed_2"]["absolute_metrics"] == {"test_won": [3.0]}


def test_the_export_has_marl_evals_layout():
    skirmish = {"env": "skirmish", "env_args.map_name": "3m"}
    runs = [
        ("qmix", run(1, **skirmish), {"x": curve([0, 10, 20], [1, 5, 3]), "y": curve([0, 20, 30], [7, 8, 9])}),
        ("qmix", run(1, **skirmish), {"x": curve([0, 11], [1, 2]), "y": curve([0, 11], [3, 4])}),
        ("vdn", run(2, **skirmish), {"x": curve([0], [1])}),
    ]
    assert to_marl_eval(runs, ["x", "y"]) == {
        "skirmish": {
            "3m": {
                "qmix": {
                    "seed_1": {
                        "step_0": {"step_count": 0, "x": [1.0], "y": [7.0]},
                        "step_1": {"step_count": 20, "x": [3.0], "y": [8.0]},
                        "absolute_metrics": {"x": [3.0], "y": [8.0]},
                    },
                    "seed_1_2": {
                        "step_0": {"step_count": 0, "x": [1.0], "y": [3.0]},
                        "step_1": {"step_count": 11, "x": [2.0], "y": [4.0]},
                        "absolute_metrics": {"x": [2.0], "y": [4.0]},
                    },
                }
            }
        }
    }
