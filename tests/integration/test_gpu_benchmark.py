"""benchmarks/gpu.py on a machine without a GPU, in a process of its own, which it forks."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from utils.config.merging import config_names

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
# COMA's updates fail, and those of VDN end the process; one run is timed, and the others count as if they had been
PROGRAM = """
import os, sys
sys.path.insert(0, sys.argv.pop(1))
import gpu
from learners.coma_learner import COMALearner
from learners.q_learner import QLearner

def fails(*_):
    raise RuntimeError("several lines\\n the card is full")

def exits(self, *arguments, train=QLearner.train):
    if self.args.name == "vdn":
        print("no kernel", flush=True)
        os._exit(3)
    train(self, *arguments)

def rate(run, *words, measured=gpu.rate):
    return measured(run, *words) if run.name == "ippo 2s3z" else {"rate": 2.0, "updates": 1}

COMALearner.train, QLearner.train, gpu.rate = fails, exits, rate
sys.exit(gpu.main())
"""


def _measured(tmp_path, *words):
    """Exit code, what it printed, and its JSON file."""
    command = [sys.executable, "-c", PROGRAM, str(BENCHMARKS), "--json", str(tmp_path / "gpu.json"), *words]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env=environment)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, json.loads((tmp_path / "gpu.json").read_text())


def test_a_preset_that_fails_is_reported_and_ends_nothing_else(tmp_path):
    words = ["--presets", "coma", "vdn", "qmix", "td3", "--seconds", "0.05"]
    code, printed, found = _measured(tmp_path, *words)
    assert code == 1
    assert {row["preset"]: row["trains"] for row in found["presets"]} == {
        "coma": "RuntimeError: the card is full",
        "vdn": "its process ended with exit code 3: no kernel",
        **dict.fromkeys(("qmix", "td3"), "OK"),
    }
    assert "2 of 4 presets trained." in printed
    rates = {row["run"]: row["cpu"] for row in found["runs"]}
    assert {"ippo 2s3z", "qmix_fast 8m", "sac_discrete 3m", "pqn_vdn 8m", "iqn_race_pictures"} <= rates.keys()
    assert rates["ippo 2s3z"] > 2
    assert all(f"| {run} |" in printed for run in rates)
    assert "gradients" in found["runs"][0]["spent"]
    assert [row["shape"] for row in found["updates"]] == ["3m", "27m_vs_30m"]
    assert all(row["cpu"] > 0 for row in found["updates"])
    assert {row["map"] for row in found["simulator"] if row["rate"] > 0} == {"3m", "2s3z"}
    assert {row["figures"] for row in found["options"]} == {"needs a GPU"}


def test_every_preset_is_tried_unless_the_time_is_over(tmp_path):
    code, printed, found = _measured(tmp_path, "--minutes", "0")
    assert code == 1
    assert [row["preset"] for row in found["presets"]] == list(config_names("algs"))
    assert {row["trains"] for row in found["presets"]} == {"not in time"}
    assert "| qmix | not in time |" in printed


def test_figures_are_compared_to_rounding(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path, str(BENCHMARKS)])
    from gpu_presets import comparison

    here = {"loss": [1.0, 5.0], "grad_norm": [0.0], "mean": [float("nan")]}
    assert comparison({"loss": [1.0005], "grad_norm": [1e-6], "mean": [float("nan")]}, here) == "equal"
    assert comparison({**here, "loss": [1.01]}, here) == "loss 1.01, not 1"
    assert comparison({**here, "loss": [float("nan")]}, here) == "loss nan, not 1"
    assert comparison({"loss": [1.0]}, here) == "other statistics: grad_norm, mean"


def test_random_numbers_of_a_card_are_those_of_the_cpu(monkeypatch):
    """Here the CPU is taken for the card."""
    import torch as th

    monkeypatch.setattr(sys, "path", [*sys.path, str(BENCHMARKS)])
    from gpu_presets import SameDraws

    def drawn():
        th.manual_seed(3)
        x = th.zeros(2, 3)
        return [th.rand(4), th.randn_like(x), x.exponential_(), th.randperm(5), th.randint(9, (3,)), x.sum()]

    plain = drawn()
    with SameDraws("cpu"):
        same = drawn()
    assert all(th.equal(one, other) for one, other in zip(plain, same, strict=True))
