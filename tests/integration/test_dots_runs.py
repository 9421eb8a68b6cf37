"""Runs on DOTS simulators: killed and resumed ones end as undisturbed ones, and faults are recovered from."""

from pathlib import Path

import pytest
from test_exact_resume import SETTINGS, resumes_exactly

from cli.compose import compose_config

pytestmark = pytest.mark.slow
SIMULATORS = Path(__file__).parents[2] / "simulators"


def test_a_killed_run_ends_as_if_it_had_not_been(tmp_path):
    config = compose_config("ppo", "dots").config | SETTINGS
    config["env_args"] |= {"executable": str(SIMULATORS / "ball_3d.py"), "time_limit": 25, "args": ["--seed", "{seed}"]}
    config |= {"t_max": 120, "batch_size_run": 2, "test_greedy": False, "minibatches": 2}
    resumes_exactly(tmp_path, config, "dots", kills=1)
