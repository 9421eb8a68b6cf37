"""The examples of docs/ run as they are written, and learn what they say."""

import json

import pytest

from forked import run_command
from standins import ROOT

pytestmark = pytest.mark.slow


def _final_return(tmp_path, *words):
    done = run_command(*words, f"local_results_path={tmp_path}", cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return json.loads((tmp_path / "sacred" / "1" / "info.json").read_text())["test_return_mean"][-1]


def test_the_learner_finds_the_best_action_of_the_climbing_game(tmp_path):
    """Independent Q-learning settles for less: its agents fear the -30 beside the 11."""
    words = ["--env-config=matrix", "with", "env_args.game=climbing", "t_max=500", "lr=0.001", "seed=1"]
    assert _final_return(tmp_path / "own", "--config=docs/examples/hysteretic.yaml", *words) == 11
    assert _final_return(tmp_path / "plain", "--config=iql", *words, "epsilon_finish=1.0") < 11


def test_the_environment_can_be_learned(tmp_path):
    """Agents that do not see each other can agree on a cell; random play meets late."""
    settings = ["t_max=1000", "epsilon_anneal_time=500", "batch_size=16", "lr=0.005", "test_interval=10000", "seed=1"]
    final = _final_return(tmp_path, "--config=vdn", "--env-config=docs/examples/meeting.yaml", "with", *settings)
    assert final > 0.8
