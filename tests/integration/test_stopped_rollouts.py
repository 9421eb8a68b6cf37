"""A signal to stop in the middle of a rollout: it takes effect at the next step, and the resumed run ends it."""

import os
import signal
import time

import pytest
import torch as th
from killed_runs import _outcome

from checkpoints.resumption import Resumption
from checkpoints.tree import load_tree
from cli.compose import compose_config
from collection import collector_pool as pool_of_collectors
from collection.collector_pool import CollectorPool
from envs import REGISTRY as environments
from experiment.loop import TrainingLoop
from run import run
from runners import started
from runners.playing import EpisodesRunner
from small_training import suited
from team_runs import alone
from trees import differences
from utils.config.merging import recursive_dict_update
from utils.processes.stop_signals import Interrupted

pytestmark = pytest.mark.slow

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
    "workers": ("vdn", *MATRIX, {"vector_env": "workers", "envs_per_worker": 2, "runner": "episodes"}),
    "continuous": ("vdn", *MATRIX, {**IN_TURN, "runner": "episodes_continuous"}),
    "rollout": ("pqn_vdn", *MATRIX, {**IN_TURN, "runner": "rollout", "minibatches": 1, "batch_size": 2}),
    "transitions": ("iqn", *MATRIX, {**IN_TURN, "runner": "rollout", "buffer_size": 500, "buffer_min": 20}),
    "a rollout's copies": (
        "iqn",
        *MATRIX,
        {**IN_TURN, "runner": "rollout", "buffer_size": 500, "buffer_min": 20, "separate_test_env": False},
    ),
    "continuous copies": ("vdn", *MATRIX, {**IN_TURN, "runner": "episodes_continuous", "separate_test_env": False}),
    "overlap": ("vdn", *MATRIX, {**IN_TURN, "runner": "episodes", "collection": "async"}),
    "halves": (
        "pqn_vdn",
        *SKIRMISH,
        {"runner": "rollout", "double_buffering": "on", "batch_size_run": 4, "minibatches": 1, "t_max": 400},
    ),
    "batched": ("qmix_fast", *SKIRMISH, {"t_max": 400, "test_interval": 300}),
}
# a game whose steps take time, in which a rollout can be stopped
SLOW = """
import time
from envs import REGISTRY
from envs.small.payoffs import MatrixGame
class Slow(MatrixGame):
    def step(self, actions):
        time.sleep(0.01)
        return super().step(actions)
REGISTRY["slow"] = Slow
"""


def config_of(folder, case):
    algorithm, environment, env_args, changes = CASES[case]
    config = compose_config(algorithm, environment).config
    suited(config, {**SETTINGS, "env_args": env_args, "local_results_path": str(folder)})
    return recursive_dict_update(config, changes)


@pytest.fixture(autouse=True)
def no_plugin_stays():
    before = dict(environments._entries)
    yield
    environments._entries = before


@pytest.fixture
def outcomes(monkeypatch):
    """Of the runs that end."""
    finish, kept = TrainingLoop._finish, []

    def keep(loop):
        finish(loop)
        kept.append(_outcome(loop))

    monkeypatch.setattr(TrainingLoop, "_finish", keep)
    return kept


def teams_of(folder, runner):
    """Self-play of two teams, with matches in tests and a new opponent for each rollout."""
    two = {"red": {"config": "ippo", "minibatches": 1}, "blue": {"config": "mappo", "minibatches": 1}}
    pool = {"opponents": "pool", "opponent_interval": 20, "opponent_pool": 2, "opponent_nepisode": 3}
    changes = {"t_max": 130, "test_interval": 50, "checkpoint_interval": 10**9, "vector_env": "in_process"}
    return alone(folder, "duel", "vdn", runner=runner, teams=two, **pool, **changes)


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


@pytest.mark.parametrize("case", list(CASES))
def test_a_run_that_is_stopped_at_any_step_ends_as_if_it_had_not_been(tmp_path, monkeypatch, outcomes, case):
    ends_the_same(tmp_path, monkeypatch, outcomes, lambda folder: config_of(folder, case), case == "overlap")


@pytest.mark.usefixtures("team_parts")
@pytest.mark.parametrize("runner", ["rollout", "episodes"])
def test_self_play_is_continued_against_the_same_opponents(tmp_path, monkeypatch, outcomes, runner):
    ends_the_same(tmp_path, monkeypatch, outcomes, lambda folder: teams_of(folder, runner))


def ends_the_same(tmp_path, monkeypatch, outcomes, config_in, in_a_thread=False):
    """Run the config in a folder, once stopped and resumed again and again; compare."""
    th.set_num_threads(1)
    run(config_in(tmp_path / "whole"))
    config, resume = config_in(tmp_path / "parts"), None
    plugins = config["plugins"]
    # in a rollout, in a test, and again in the resumed one
    for step in (3, 7, 8, 13, 21, 34):
        with monkeypatch.context() as patched:
            done = stop_at(patched, step)
            with pytest.raises(Interrupted, match="is kept"):
                run(config, resume=resume)
            assert done[0] == step or in_a_thread
        resume = Resumption.of("latest", config["local_results_path"])
        config = {**resume.config_of(resume.recorded), "plugins": plugins}
    run(config, resume=resume)
    whole, parts = outcomes
    assert whole["t_env"] >= config["t_max"]
    assert differences(whole, parts) == []


TURNS = {
    "runner": "collectors",
    "collectors": {"runner": "rollout", "processes": 2, "deterministic": True},
    "buffer_size": 500,
    "buffer_min": 20,
    "batch_size_run": 2,
    "vector_env": "in_process",
    "t_max": 150,
}


def test_collectors_that_take_turns_end_the_rollouts_that_were_stopped(tmp_path, monkeypatch, outcomes, caplog):
    caplog.set_level("INFO")
    monkeypatch.setattr(pool_of_collectors, "FIRST_REPORT", 0.0)
    th.set_num_threads(1)
    plugin = tmp_path / "slow.py"
    plugin.write_text(SLOW)
    changes = {**TURNS, "plugins": [str(plugin)], "env": "slow", "env_args": {"game": "climbing", "episode_limit": 4}}

    def config_of_turns(folder):
        config = compose_config("iqn", "matrix").config
        suited(config, {**SETTINGS, **changes, "local_results_path": str(folder)})
        return config

    run(config_of_turns(tmp_path / "whole"))
    assert caplog.text.count("Collectors are playing the first rollouts: ") == 1
    config, resume, collect = config_of_turns(tmp_path / "parts"), None, CollectorPool.collect
    for rollout in (1, 3):
        with monkeypatch.context() as patched:
            taken = [0]

            def counted(pool, *arguments, taken=taken, last=rollout):
                taken[0] += 1
                if taken[0] == last:
                    # by then, collectors are in the middle of theirs
                    while not pool.board.steps.any():
                        time.sleep(0.001)
                    os.kill(os.getpid(), signal.SIGTERM)
                return collect(pool, *arguments)

            patched.setattr(CollectorPool, "collect", counted)
            with pytest.raises(Interrupted, match="is kept"):
                run(config, resume=resume)
        resume = Resumption.of("latest", config["local_results_path"])
        assert any(state["state"]["paused"] for state in _state(resume)["acting"]["collectors"])
        config = {**resume.config_of(resume.recorded), "plugins": changes["plugins"]}
    run(config, resume=resume)
    assert differences(*outcomes) == []


def _state(resume):
    return load_tree(resume.checkpoint.folder / "state.th")


FORGETFUL = """
from envs import REGISTRY
from envs.small.payoffs import MatrixGame
class Forgetful(MatrixGame):
    def state_dict(self):
        raise NotImplementedError
REGISTRY["forgetful"] = Forgetful
"""


def test_what_cannot_be_kept_is_dropped_with_its_number_of_steps(tmp_path, monkeypatch, caplog):
    caplog.set_level("INFO")
    plugin = tmp_path / "forgetful.py"
    plugin.write_text(FORGETFUL)
    config = config_of(tmp_path, "rollout") | {"plugins": [str(plugin)], "env": "forgetful"}
    monkeypatch.setattr(started, "FIRST", 0.0)
    stop_at(monkeypatch, 5)
    with pytest.raises(Interrupted, match=r"Everything up to step 0 is kept\. Resume from"):
        run(config)
    assert "8 steps of the rollout that was being played are dropped, because its environments" in caplog.text
    assert "Playing the first rollout: 0 of up to 12 steps" in caplog.text
    monkeypatch.undo()
    resume = Resumption.of("latest", config["local_results_path"])
    run({**resume.config_of(resume.recorded), "plugins": config["plugins"]}, resume=resume)
    assert caplog.text.count("env=forgetful could not be saved where the run stopped. Its episodes begin again") == 1
