"""The examples of docs/ run as they are written, and learn what they say."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def _final_return(tmp_path, *words):
    command = [sys.executable, str(ROOT / "src" / "main.py"), *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return json.loads((tmp_path / "sacred" / "1" / "info.json").read_text())["test_return_mean"][-1]


def test_the_learner_finds_the_best_action_of_the_climbing_game(tmp_path):
    """Independent Q-learning settles for less: its agents fear the -30 beside the 11."""
    settings = ["with", "env_args.game=climbing", "t_max=2500", "seed=1", f"local_results_path={tmp_path}"]
    words = ["--config=docs/examples/hysteretic.yaml", "--env-config=matrix", *settings]
    assert _final_return(tmp_path, *words) == 11
    plain = tmp_path / "plain"
    words = ["--config=iql", "--env-config=matrix", *settings[:-1], "epsilon_finish=1.0", f"local_results_path={plain}"]
    assert _final_return(plain, *words) < 11


def test_the_environment_can_be_learned(tmp_path):
    """Agents that do not see each other can agree on a cell; random play meets late."""
    settings = ["t_max=12000", "epsilon_anneal_time=6000", "seed=1", f"local_results_path={tmp_path}"]
    final = _final_return(tmp_path, "--config=vdn", "--env-config=docs/examples/meeting.yaml", "with", *settings)
    assert final > 0.8
