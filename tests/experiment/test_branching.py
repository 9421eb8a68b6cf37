"""Runs that continue from another one's checkpoint, `branch_from`."""

import pytest

from checkpoints.store import newest_checkpoint
from checkpoints.tree import load_tree
from checkpoints.writer import STATE
from checks.branching import check_branch, may_differ
from checks.options import declared
from records.metric_rows import read_metric_log
from run import run
from small_training import small_config
from trees import differences
from utils.errors import ConfigError

TEST = "test_return_mean"


def trained(tmp_path, name, algorithm="vdn", **changes):
    """The folder of a run, and its final state."""
    settings = {
        "run_name": name, "t_max": 60, "test_interval": 20, "checkpoint_interval": 1000, "learner_log_interval": 1,
        "save_model": False, "target_update_interval": 7, "batch_size_run": 1,
        **({"buffer_size": 4, "batch_size_run": 4} if algorithm == "coma" else {}), **changes,
    }  # fmt: skip
    run(small_config(tmp_path, algorithm, **settings))
    folder = tmp_path / "runs" / name
    return folder, load_tree(newest_checkpoint(folder)[0].folder / STATE)


@pytest.mark.parametrize("algorithm", ["vdn", "ia2c", "coma"])
def test_a_branch_without_changes_continues_exactly(tmp_path, algorithm):
    whole, expected = trained(tmp_path, "whole", algorithm)
    trunk, begun = trained(tmp_path, "trunk", algorithm, stop_at=32)
    step = begun["acting"]["t_env"]
    branch, found = trained(tmp_path, "branch", algorithm, branch_from=str(trunk))
    for records in ("logger", "diagnostics"):
        expected.pop(records), found.pop(records)
    assert expected["loop"].pop("start_T") == 0 and found["loop"].pop("start_T") == step
    for state in (expected, found):
        state["loop"].pop("last_log_T"), state["loop"].pop("last_checkpoint_T")
    assert not differences(expected, found)
    tests = [
        [(row.t_env, row.episode, row.value) for row in read_metric_log(folder / "metrics.csv") if row.key == TEST]
        for folder in (whole, branch)
    ]
    assert 32 <= step < tests[1][0][0] and len(tests[1]) > 1 and tests[0][-len(tests[1]) :] == tests[1]


def test_a_branch_has_its_own_learning_rate(tmp_path):
    trunk, before = trained(tmp_path, "trunk", stop_at=30, lr=0.001)
    _, after = trained(tmp_path, "branch", branch_from=str(trunk), lr=1e-30, stop_at=40)
    weights = lambda state: state["mac"]["agent"]  # noqa: E731
    assert not differences(weights(before), weights(after))
    assert after["loop"]["updates"] > before["loop"]["updates"]
    _, after = trained(tmp_path, "other", branch_from=str(trunk), lr=0.002, stop_at=40)
    assert differences(weights(before), weights(after))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"rnn_hidden_dim": 8},
            "rnn_hidden_dim=8, and the run that it names has rnn_hidden_dim=64, which decides the sh",
        ),
        ({"buffer_size": 16, "batch_size_run": 2}, "batch_size_run=2"),
        ({"optimizer": "adam"}, "optimizer=adam"),
        ({"branch_from": "nothing"}, "nothing"),
        ({"checkpoint_path": "x"}, "leave checkpoint_path out"),
    ],
)
def test_what_a_branch_may_not_change(tmp_path, changes, said):
    trunk, _ = trained(tmp_path, "trunk", stop_at=20)
    with pytest.raises(ConfigError, match=said):
        trained(tmp_path, "branch", **{"branch_from": str(trunk), **changes})
    assert not (tmp_path / "runs" / "branch").exists()


def test_numbers_of_the_method_may_differ():
    config = small_config("results", "mappo")
    assert not check_branch(config, {**config, "lr": 1.0})  # read at each use
    assert check_branch(config, {**config, "entropy_coef": 0.5})
    options = declared(config)
    for key in ("lr", "gamma", "entropy_coef", "eps_clip", "epochs", "batch_size", "seed", "t_max", "double_q"):
        assert may_differ(key, options[key])
    for key in ("learner", "mixer", "optimizer", "rnn_hidden_dim", "env_args", "collection", "teams", "batch_size_run"):
        assert not may_differ(key, options[key])
