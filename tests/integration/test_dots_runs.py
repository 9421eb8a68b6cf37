"""Runs on DOTS simulators: killed and resumed ones end as undisturbed ones, and faults are recovered from."""

from pathlib import Path

import pytest
from killed_runs import resumes_exactly
from test_exact_resume import SETTINGS

from cli.compose import compose_config
from forked import run_command

pytestmark = pytest.mark.slow
SIMULATORS = Path(__file__).parents[2] / "simulators"


# each agent asks in about a third of the turns, so decisions are open when rollouts and checkpoints come
RESTING = """
import numpy as np
from dots_simulator import Simulator, parse_arguments
arguments = parse_arguments(__doc__, agents=3)
dice, values, asking = np.random.default_rng(arguments.seed), np.zeros(3), np.arange(3)
def save():
    return {"dice": dice.bit_generator.state, "values": values.copy(), "asking": asking}
def load(state):
    global asking
    dice.bit_generator.state, asking = state["dice"], state["asking"]
    values[:] = state["values"]
with Simulator(arguments.memory_path) as simulator:
    agents = simulator.behaviour("Resting", 3, [(1,)], discrete=(3,))
    simulator.offer_state(save, load)
    while simulator.exchange():
        if simulator.reset_wanted:
            asking = np.arange(3)
        else:
            values[asking] += agents.discrete[:, 0] - 1
            asking = np.flatnonzero(dice.random(3) < 0.35)
        agents.decide(asking, [values[asking, None].astype(np.float32)], -np.abs(values[asking]))
"""


def test_a_killed_run_ends_as_if_it_had_not_been(tmp_path):
    simulator = tmp_path / "resting.py"
    simulator.write_text(RESTING)
    config = compose_config("ppo", "dots").config | SETTINGS
    config["env_args"] |= {"executable": str(simulator), "time_limit": 25, "args": ["--seed", "{seed}"]}
    config |= {"t_max": 120, "batch_size_run": 2, "test_greedy": False, "minibatches": 2}
    config["agent"] = "rnn"  # whose memory belongs to streams
    resumes_exactly(tmp_path, config, "dots")


CRASHING = """
import os
import numpy as np
from dots_simulator import Simulator
with Simulator() as simulator:
    one = simulator.behaviour("One", 3, [(2,)], discrete=(2,))
    turns = 0
    while simulator.exchange():
        turns += 1
        if turns == 60:
            print("no fuel left")
            os._exit(7)
        one.decide(np.arange(3), [np.ones((3, 2))], np.ones(3))
"""


def test_a_simulator_that_ends_is_started_again_and_its_episode_dropped(tmp_path):
    simulator = tmp_path / "crashing.py"
    simulator.write_text(CRASHING)
    words = ["--config=ppo", "--env-config=dots", "with", f"env_args.executable={simulator}", "env_args.time_limit=40"]
    words += ["batch_size_run=1", "rollout_steps=32", "t_max=200", "test_interval=1000000", "test_nepisode=1"]
    ran = run_command(*words, "minibatches=1", cwd=tmp_path)
    said = ran.stdout + ran.stderr
    assert ran.returncode == 0, said
    assert "exit code 7" in said and "  no fuel left" in said and "restart 2 of max_worker_restarts=10" in said


def test_teams_learn_from_parts_of_streams(tmp_path):
    """Rollouts by stream are longer than `rollout_steps`; teams cut them into parts of their own length."""
    team = {"config": "ppo", "agent": "rnn", "chunk_length": 16}
    settings = {
        "env_args.executable": SIMULATORS / "soccer.py",
        "env_args.time_limit": 60,
        "teams": {"SoccerBlue": team, "SoccerPurple": team},
        "batch_size_run": 1,
        "rollout_steps": 64,
        "t_max": 60,
        "test_nepisode": 1,
    }
    words = [f"{key}={value}" for key, value in settings.items()]
    done = run_command("--config=ppo", "--env-config=dots", "with", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
