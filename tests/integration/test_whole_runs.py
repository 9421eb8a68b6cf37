"""Small runs from config to results: their folders, their plugins, and values that they log."""

import math
import os
from types import SimpleNamespace

import numpy as np
import pytest
import torch as th

from envs import REGISTRY
from fakes import CountingEnv
from learners.q_learner import QLearner
from records.logger import Logger
from run import run
from small_training import small_config


class ReplayEnv(CountingEnv):
    """Saves a replay where SMAC would."""

    def __init__(self, replay_dir="", seed=None):
        super().__init__(seed=seed)
        self.replay_dir = replay_dir

    def save_replay(self):
        os.makedirs(self.replay_dir)
        with open(os.path.join(self.replay_dir, "game.replay"), "w") as file:
            file.write(str(self.episode + 1))


def test_a_replay_lands_in_the_results(tmp_path, monkeypatch):
    monkeypatch.setitem(REGISTRY._entries, "replaying", None)
    REGISTRY["replaying"] = ReplayEnv
    config = small_config(tmp_path, t_max=10, save_model=True, env="replaying", env_args={"replay_dir": ""})
    run(config)
    models = str(next((tmp_path / "models").iterdir()))
    assert not (tmp_path / "replays").exists()
    run(config | {"save_replay": True, "checkpoint_path": models, "test_nepisode": 3})
    (replay,) = (tmp_path / "replays").rglob("game.replay")
    assert replay.read_text() == "3"


def test_the_folder_is_free_again_after_any_failure_at_the_end(tmp_path, monkeypatch):
    """Each of the last steps is taken, and the first error is not lost."""
    closed = []
    for name in ("close", "close_sinks"):

        def fail(logger, *_, name=name):
            raise RuntimeError(name)

        monkeypatch.setattr(Logger, name, fail)
    monkeypatch.setattr("run.RunFolder.close", lambda folder: closed.append(folder))
    with pytest.raises(RuntimeError, match="close_sinks") as error:
        run(small_config(tmp_path, t_max=10))
    assert str(error.value.__context__) == "close"
    assert len(closed) == 1


@pytest.mark.slow
def test_a_plugin_environment_travels_to_its_processes(tmp_path):
    """It cannot be imported by name there."""
    (tmp_path / "plain_game.py").write_text(
        "import numpy as np\n"
        "from envs import REGISTRY, MultiAgentEnv\n"
        "class PlainGame(MultiAgentEnv):\n"
        "    n_agents, episode_limit = 2, 3\n"
        "    def reset(self): self.t = 0\n"
        "    def step(self, actions): self.t += 1; return float(sum(actions)), self.t == 3, {}\n"
        "    def get_obs_agent(self, agent_id): return np.ones(1)\n"
        "    def get_obs_size(self): return 1\n"
        "    def get_state(self): return np.ones(2)\n"
        "    def get_state_size(self): return 2\n"
        "    def get_total_actions(self): return 2\n"
        "REGISTRY['plain'] = PlainGame\n"
    )
    config = small_config(tmp_path, t_max=20, plugins=[str(tmp_path / "plain_game.py")], env="plain", env_args={})
    assert run(config | {"runner": "parallel", "batch_size_run": 2}) is not None


def test_results_go_where_local_results_path_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(small_config(tmp_path / "deep" / "down", t_max=10, save_model=True, use_tensorboard=True))
    assert os.listdir(tmp_path) == ["deep"]
    assert sorted(os.listdir(tmp_path / "deep" / "down")) == ["models", "tb_logs"]
    (token,) = os.listdir(tmp_path / "deep" / "down" / "models")
    assert token.startswith("vdn_seed3_two_step_20")
    assert os.listdir(tmp_path / "deep" / "down" / "tb_logs") == [token]


def test_runs_started_together_share_no_folder(tmp_path):
    """PyMARL names results by the second: two runs of one second write into one folder."""
    for _ in range(3):
        run(small_config(tmp_path, t_max=1, save_model=True))
    assert len(os.listdir(tmp_path / "models")) == 3


@pytest.mark.parametrize("number", [th.tensor, np.float32])
def test_losses_that_turn_nan_are_logged_as_floats(tmp_path, monkeypatch, number):
    """Sacred would store a tensor or NumPy scalar, which a user's learner may log, as a pickled object."""
    log = QLearner._log
    monkeypatch.setattr(
        QLearner, "_log", lambda self, stats, t: log(self, {key: number(x) for key, x in stats.items()}, t)
    )
    monkeypatch.setattr("learners.q_learner.masked_mean", lambda x, mask: (x * mask).sum() / mask.sum() * float("nan"))
    scalars = []
    sacred_run = SimpleNamespace(info={}, log_scalar=lambda key, value, t: scalars.append((key, value)))
    run(small_config(tmp_path, t_max=20, on_non_finite="skip"), sacred_run)
    assert math.isnan(sacred_run.info["loss"][0])
    logged = [value for key, values in sacred_run.info.items() if key != "unique_token" for value in values]
    assert {type(value) for value in logged} == {float, int}, "values, and the steps they were logged at"
    assert {type(value) for _, value in scalars} == {float}
    assert math.isnan(dict(scalars)["loss"])
