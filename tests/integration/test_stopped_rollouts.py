"""A signal to stop in the middle of a rollout: it takes effect at the next step, and the resumed run ends it."""

import os
import signal

import pytest
import torch as th
from killed_runs import _outcome

from checkpoints.resumption import Resumption
from cli.compose import compose_config
from experiment.loop import TrainingLoop
from run import run
from runners.playing import EpisodesRunner
from small_training import suited
from trees import differences
from utils.config import recursive_dict_update
from utils.stop_signals import Interrupted

SETTINGS = {
    "batch_size": 4,
    "buffer_size": 12,
    "seed": 5,
    "test_nepisode": 3,
    "test_interval": 60,
    "log_interval": 30,
    "runner_log_interval": 10,
    "learner_log_interval": 1,
    "rnn_hidden_dim": 8,
    "rollout_steps": 6,
    "epsilon_anneal_time": 300,
    "batch_size_run": 2,
    "t_max": 130,
    "checkpoint_interval": 10**9,
}
MATRIX = ("matrix", {"game": "climbing", "episode_limit": 4})
SKIRMISH = ("skirmish", {"map_name": "3m"})
IN_TURN = {"vector_env": "in_process"}
# algorithm, environment and its arguments, changes
CASES = {
    "episodes": ("vdn", *MATRIX, {**IN_TURN, "runner": "episodes"}),
    "tests on the same copies": ("vdn", *MATRIX, {**IN_TURN, "runner": "episodes", "separate_test_env": False}),
    "workers": ("vdn", *MATRIX, {"vector_env": "workers", "runner": "episodes"}),
    "continuous": ("vdn", *MATRIX, {**IN_TURN, "runner": "episodes_continuous"}),
    "rollout": ("pqn_vdn", *MATRIX, {**IN_TURN, "runner": "rollout", "minibatches": 1, "batch_size": 2}),
    "transitions": ("iqn", *MATRIX, {**IN_TURN, "runner": "rollout", "buffer_size": 500, "buffer_min": 20}),
    "overlap": ("vdn", *MATRIX, {**IN_TURN, "runner": "episodes", "acting": "ahead"}),
    "native": ("qmix_fast", *SKIRMISH, {"t_max": 400, "test_interval": 300}),
}


def config_of(folder, case):
    algorithm, environment, env_args, changes = CASES[case]
    config = compose_config(algorithm, environment).config
    suited(config, {**SETTINGS, "env_args": env_args, "local_results_path": str(folder)})
    return recursive_dict_update(config, changes)


@pytest.fixture
def outcomes(monkeypatch):
    """Of the runs that end."""
    finish, kept = TrainingLoop._finish, []

    def keep(loop):
        finish(loop)
        kept.append(_outcome(loop))

    monkeypatch.setattr(TrainingLoop, "_finish", keep)
    return kept


def stop_at(monkeypatch, step):
    """Send SIGTERM before the step of that number, in each process that this one is."""
    before, done = EpisodesRunner._before_step, [0]

    def counted(runner, copies):
        done[0] += 1
        if done[0] == step:
            os.kill(os.getpid(), signal.SIGTERM)
        before(runner, copies)

    monkeypatch.setattr(EpisodesRunner, "_before_step", counted)
    return done


@pytest.mark.slow
@pytest.mark.parametrize("case", list(CASES))
def test_a_run_that_is_stopped_at_any_step_ends_as_if_it_had_not_been(tmp_path, monkeypatch, outcomes, case):
    th.set_num_threads(1)
    run(config_of(tmp_path / "whole", case))
    config, resume = config_of(tmp_path / "parts", case), None
    # in a rollout, in a test, and again in the resumed one
    for step in (3, 7, 8, 13, 21):
        with monkeypatch.context() as patched:
            done = stop_at(patched, step)
            with pytest.raises(Interrupted, match="is kept"):
                run(config, resume=resume)
            assert done[0] <= step + 1 or case == "overlap"
        resume = Resumption.of("latest", config["local_results_path"])
        config = {**resume.config, "plugins": []}
    run(config, resume=resume)
    whole, parts = outcomes
    assert whole["t_env"] >= config["t_max"]
    assert differences(whole, parts) == []
