"""`muster.train` and `muster.Run`: a run from Python, its record, its figures, its continuation."""

import json
import multiprocessing
import random
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
import torch as th

import muster
from envs.multiagentenv import MultiAgentEnv
from learners import REGISTRY as learners
from learners.ppo_learner import PPOLearner
from learners.q_learner import QLearner
from modules.mixers.vdn import VDNMixer
from muster.given import registered
from muster.process import process_left_alone
from standins import ROOT

SHORT = {"t_max": 60, "test_interval": 20, "test_nepisode": 2, "batch_size": 4, "seed": 1, "quiet": True}


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def short(algorithm="qmix", env="two_step", **settings):
    return muster.train(algorithm, env, **{**SHORT, **settings})


class Guess(gymnasium.Env):
    """Say what was seen."""

    observation_space, action_space = gymnasium.spaces.Box(0, 1, (2,)), gymnasium.spaces.Discrete(2)

    def __init__(self, length=3):
        self.length, self.closed = length, False

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t, self.seen = 0, self.np_random.random(2).astype(np.float32)
        return self.seen, {}

    def step(self, action):
        self.t += 1
        return self.seen, float(action), self.t == self.length, False, {}

    def close(self):
        self.closed = True


class Count(MultiAgentEnv):
    """Two agents that count to three."""

    n_agents, episode_limit = 2, 3

    def __init__(self, bonus=1, seed=None):
        self.bonus, self.t, self.closed = bonus, 0, False

    def reset(self):
        self.t = 0

    def step(self, actions):
        self.t += 1
        return float(self.bonus), self.t == 3, {}

    def get_obs(self):
        return [np.full(1, self.t, np.float32)] * 2

    def get_state(self):
        return np.full(1, self.t, np.float32)

    def get_obs_size(self):
        return 1

    def get_state_size(self):
        return 1

    def get_total_actions(self):
        return 2

    def close(self):
        self.closed = True


def count_from(bonus=1):
    return Count(bonus)


class Quick(QLearner):
    """A learner of the test's."""

    updates = 0

    def train(self, *arguments):
        Quick.updates += 1
        return super().train(*arguments)


class Summed(VDNMixer):
    """A mixer of the test's."""


def test_a_run_has_its_record_figures_and_models(tmp_path):
    run = short()
    record = json.loads((tmp_path / "results/sacred/1/run.json").read_text())
    assert (record["status"], record["result"]) == ("COMPLETED", run.result)
    assert json.loads((tmp_path / "results/sacred/1/info.json").read_text())["unique_token"] == run.name
    assert "Beginning training" in (tmp_path / "results/sacred/1/cout.txt").read_text()
    assert run.config["seed"] == 1 and run.config["t_max"] == 60
    assert (run.best_model / "agent.th").is_file() and run.folder.is_dir()
    columns = run.metrics
    assert {len(column) for column in columns.values()} == {len(columns["t_env"])}
    curve = run.curve()
    assert curve.values[-1] == run.result and (np.diff(curve.t_env) > 0).all()
    logged = ~np.isnan(columns["test_return_mean"])
    assert np.array_equal(columns["t_env"][logged], curve.t_env)
    with pytest.raises(muster.ConfigError, match="Did you mean 'test_return_mean'"):
        run.curve("test_return_men")
    assert muster.Run("latest").name == muster.Run(1).name == muster.Run(run.folder).name == run.name


def test_quiet_prints_nothing_and_the_process_stays_as_it_was(capfd):
    random.seed(3), np.random.seed(3), th.manual_seed(3)
    expected = random.random(), np.random.random(), th.rand(1).item()
    random.seed(3), np.random.seed(3), th.manual_seed(3)
    threads = th.get_num_threads()
    first, second = short(), short()
    assert first.result == second.result and first.name != second.name
    assert np.array_equal(first.metrics["loss"], second.metrics["loss"], equal_nan=True)
    assert (random.random(), np.random.random(), th.rand(1).item()) == expected
    assert th.get_num_threads() == threads
    assert "".join(capfd.readouterr()) == ""


def test_it_trains_as_the_command_line_does(tmp_path):
    from main import main

    run = short()
    words = [f"{key}={value}" for key, value in SHORT.items() if key != "quiet"]
    assert main(["--config=qmix", "--env-config=two_step", "with", *words]) == 0
    other = muster.Run("latest")
    assert other.name != run.name
    assert np.array_equal(run.metrics["loss"], other.metrics["loss"], equal_nan=True)
    ours, theirs = ({**one.config, "env_args": {}} for one in (run, other))
    assert ours == theirs


def test_a_run_resumes_and_is_evaluated(tmp_path):
    run = short(t_max=30)
    whole = short(t_max=60)
    again = run.resume(t_max=60, quiet=True)
    assert again.name == run.name and again.config["t_max"] == 60
    assert again.curve("loss").values.tolist() == whole.curve("loss").values.tolist()
    figures = run.evaluate(3)
    assert {"test_return_mean", "test_return_std", "test_ep_length_mean"} <= set(figures)
    assert json.loads((tmp_path / "results/sacred/3/info.json").read_text())["resumed_from"]["sacred_id"] == "1"
    with pytest.raises(muster.ConfigError, match="keeps its batch_size"):
        run.resume(batch_size=8)


@pytest.mark.parametrize(
    ("env", "settings"),
    [
        (Guess, {"length": 2, "time_limit": 5}),
        (Guess(), {"time_limit": 5}),
        (lambda length=2: Guess(length), {"length": 4, "time_limit": 5}),
        (Count, {"bonus": 2}),
        (Count(), {}),
        (count_from, {"bonus": 2}),
    ],
    ids=["gymnasium", "its object", "its function", "own", "own object", "own function"],
)
def test_environments_of_the_callers(env, settings):
    algorithm = "iql" if "time_limit" in settings else "qmix"
    run = short(algorithm, env, **settings)
    length = settings.get("length", 3)
    assert run.curve("test_ep_length_mean").values[-1] == length
    if "bonus" in settings:
        assert run.result == 6
    assert not getattr(env, "closed", False) or isinstance(env, type)
    assert run.evaluate(2)["test_ep_length_mean"] == length
    obs = np.zeros(2, np.float32) if algorithm == "iql" else np.zeros((2, 1), np.float32)
    assert run.load().act(obs).shape == (() if algorithm == "iql" else (2,))


@pytest.mark.parametrize("of_object", [True, False], ids=["object", "function"])
def test_the_time_limit_of_gymnasiums_own_wrapper_is_the_episodes(of_object):
    def make():
        return gymnasium.wrappers.TimeLimit(gymnasium.make("Pendulum-v1", max_episode_steps=9), 4)

    env = make()
    run = short("ppo", env if of_object else make)
    assert env.spec.id == "Pendulum-v1", "it is the caller's"
    assert set(run.curve("test_ep_length_mean").values) == {4}
    assert ("PendulumEnv" in run.name) is of_object, "not TimeLimit"


def test_an_environment_of_pettingzoo():
    env = muster.make("matrix", game="climbing")
    assert short("vdn", env, time_limit=5).result is not None
    env.reset()
    assert env.agents


def test_classes_take_the_place_of_names():
    Quick.updates = 0
    run = short(learner=Quick, mixer=Summed)
    assert Quick.updates > 0
    assert (run.config["learner"], run.config["mixer"]) == ("Quick", "Summed")
    assert run.resume(t_max=80, quiet=True).name == run.name


def test_a_subclass_has_the_keys_and_traits_of_what_it_derives_from():
    class Mine(PPOLearner):
        pass

    mine, theirs = learners.entry(registered("learner", Mine)), learners.entry("ppo_learner")
    assert (mine.traits, mine.options, mine.target) == (theirs.traits, theirs.options, Mine)
    assert registered("learner", PPOLearner) == "ppo_learner"


def test_functions_are_callbacks():
    tests, ends = [], []
    run = short(on_test=lambda run, figures: tests.append(figures["test_return_mean"]), on_end=ends.append)
    assert tests == run.curve().values.tolist()
    assert len(ends) == 1


def test_files_by_their_paths_and_numbers_of_numpy(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("mixer: vdn\n")
    run = short(file, lr=np.float64(0.25), seed=np.int64(7))
    assert (run.config["mixer"], run.config["lr"], run.config["seed"]) == ("vdn", 0.25, 7)


def test_a_moment_that_a_class_switches_off_is_not_called():
    class Ends(muster.Callback):
        on_test = None
        ended = 0

        def on_end(self, run):
            Ends.ended += 1

    short(callbacks=Ends)
    assert Ends.ended == 1


def test_runs_side_by_side_leave_the_rights_of_new_files_alone(tmp_path):
    def rights(name):
        (tmp_path / name).touch()
        return (tmp_path / name).stat().st_mode & 0o777

    usual, first, second = rights("before"), process_left_alone(), process_left_alone()
    first.__enter__(), second.__enter__(), first.__exit__(None, None, None)
    assert rights("within") == 0o600
    second.__exit__(None, None, None)
    assert rights("after") == usual


def test_a_script_that_processes_import_does_not_train_there(monkeypatch, tmp_path):
    monkeypatch.setattr(multiprocessing.current_process(), "_inheriting", True, raising=False)
    with pytest.raises(muster.ConfigError, match="if __name__ == '__main__'"):
        short()
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("qmx", "two_step"), "Did you mean 'qmix'"),
        (("qmix", "two_stp"), "Did you mean 'two_step'"),
        ((3, "two_step"), "algorithm=3: expected the name of an algorithm"),
        (("qmix", 3), "expected the name of an environment"),
        (("qmix", lambda: 3), "returns 3: expected the name of an environment"),
        (("qmix", dict), "expected the name of an environment"),
        (("qmix", "two_step", {"batch_sise": 3}), "Did you mean 'batch_size'"),
        (("qmix", "matrix", {"gam": "climbing"}), "Did you mean 'game'"),
        (("qmix", "two_step", {"mixer": "qmx"}), "Did you mean 'qmix'"),
        (("qmix", "two_step", {"lr": -1}), "lr=-1: it must be"),
        (("qmix", "two_step", {"callbacks": dict}), "has none of the methods"),
        (("qmix", Count(), {"batch_size_run": 4}), "env is one object"),
    ],
)
def test_what_is_wrong_is_refused_in_one_message(arguments, message, tmp_path):
    algorithm, env, settings = (*arguments, {})[:3]
    with pytest.raises(muster.ConfigError, match=message) as raised:
        short(algorithm, env, **settings)
    assert raised.value.__cause__ is None and raised.value.__suppress_context__
    assert not (tmp_path / "results").exists()


ALONE = """
import sys
missing = "sacred gymnasium pettingzoo numba scipy tensorboard_logger pkg_resources cloudpickle"
for name in missing.split():
    sys.modules[name] = None
import muster
assert "torch" not in sys.modules and "numpy" not in sys.modules
run = muster.train("qmix", "two_step", t_max=40, test_nepisode=2, quiet=True, seed=1)
print(muster.load("latest").act([[1.0] * run.load().spec.fields["obs"].shape[0]] * 2).shape)
"""


@pytest.mark.slow
def test_torch_numpy_and_yaml_are_enough(tmp_path):
    command = [sys.executable, "-c", ALONE]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env={"PYTHONPATH": str(ROOT / "src")})
    assert done.stdout == "(2,)\n", done.stderr[-2000:]
