"""Observations, losses and gradients that are no longer numbers."""

import json
import math

import numpy as np
import pytest
import torch as th

from checkpoints.tree import load_tree
from cli.compose import compose_config
from envs import REGISTRY
from fakes import CountingEnv
from learners import REGISTRY as learners
from learners.q_learner import QLearner
from run import run
from utils.config.merging import recursive_dict_update
from utils.errors import MusterError

pytestmark = pytest.mark.slow

SETTINGS = {"t_max": 60, "batch_size": 2, "buffer_size": 8, "seed": 3, "test_nepisode": 1, "test_interval": 1000}
SETTINGS |= {"log_interval": 10, "learner_log_interval": 1}


class SometimesNan(CountingEnv):
    """In its third episode, agent 1 sees `value` at step 2; as text, since env_args are finite."""

    def __init__(self, value="nan", where="obs", **env_args):
        super().__init__(**env_args)
        self.value, self.where = float(value), where

    def _now(self, where):
        return self.where == where and (self.episode, self.t) == (2, 2)

    def get_obs_agent(self, agent_id):
        obs = super().get_obs_agent(agent_id)
        if self._now("obs") and agent_id == 1:
            obs[3] = self.value
        return obs

    def get_state(self):
        return super().get_state() + (self.value if self._now("state") else 0)

    def step(self, actions):
        reward, ended, info = super().step(actions)
        return (self.value if self._now("reward") else reward), ended, info


@pytest.fixture
def odd_env(monkeypatch):
    monkeypatch.setitem(REGISTRY._entries, "sometimes_nan", None)
    REGISTRY["sometimes_nan"] = SometimesNan


def config(tmp_path, algorithm="vdn", **changes):
    merged = compose_config(algorithm, "two_step").config
    return recursive_dict_update(merged, {**SETTINGS, "local_results_path": str(tmp_path), **changes})


def the_fault(tmp_path):
    (folder,) = tmp_path.glob("runs/*/faults/*")
    return folder, json.loads((folder / "fault.json").read_text())


@pytest.mark.parametrize(
    ("where", "value", "told"),
    [
        ("obs", "nan", r"obs\[2, 1, 3\] of episode 0 of the batch is nan \(1 such values\)"),
        ("obs", "-inf", r"obs\[2, 1, 3\] of episode 0 of the batch is -inf"),
        ("state", "nan", r"state\[2, 0\] of episode 0 of the batch is nan \(3 such values\)"),
        # step 2 comes after the second action
        ("reward", "inf", r"reward\[1, 0\] of episode 0 of the batch is inf"),
    ],
)
def test_observations_that_are_not_finite(tmp_path, odd_env, where, value, told):
    env_args = {"where": where, "value": value}
    with pytest.raises(MusterError, match=f"after 12 steps: {told}") as error:
        run(config(tmp_path, env="sometimes_nan", env_args=env_args))
    assert "on_non_finite=skip" in str(error.value)
    folder, fault = the_fault(tmp_path)
    assert str(folder) in str(error.value)
    assert fault["t_env"] == 12
    assert fault["episode"] == 2
    batch = load_tree(folder / "batch.th")
    assert not th.isfinite(batch[where]).all()
    assert {"agent.th", "mixer.th", "opt.th"} <= {path.name for path in folder.iterdir()}
    # everything before it is kept
    assert "Resume from the checkpoint of step 12" in str(error.value)


def test_observations_that_are_not_finite_can_be_left_out(tmp_path, odd_env):
    settings = {"env": "sometimes_nan", "env_args": {}, "on_non_finite": "skip", "checkpoint_interval": 1}
    assert run(config(tmp_path, **settings)) is not None
    _, fault = the_fault(tmp_path)
    assert fault["what"].endswith("; the rollout was left out")
    (log,) = tmp_path.glob("runs/*/metrics.csv")
    rows = [line.split(",") for line in log.read_text().splitlines()]
    skipped = [(row[0], row[4]) for row in rows if row[3] == "skipped_rollouts"]
    assert skipped[0] == ("12", "1.0")
    assert skipped[-1][1] == "1.0"
    assert all(math.isfinite(float(row[4])) for row in rows[1:])


class Overflowing(QLearner):
    """Its third loss is `factor` times what it should be."""

    factor = math.nan

    def _loss(self, td_error, mask):
        self.updates = getattr(self, "updates", 0) + 1
        loss = super()._loss(td_error, mask)
        return loss * self.factor if self.updates == 3 else loss


class Steep(QLearner):
    """The gradient of its third loss is infinite, the loss is not."""

    def _loss(self, td_error, mask):
        self.updates = getattr(self, "updates", 0) + 1
        loss = super()._loss(td_error, mask)
        if self.updates == 3:
            loss = loss + (td_error.sum() * 0).sqrt()
        return loss


@pytest.fixture
def odd_learners(monkeypatch):
    for name, learner in (("overflowing", Overflowing), ("steep", Steep)):
        monkeypatch.setitem(learners._entries, name, None)
        learners[name] = learner


@pytest.mark.parametrize(
    ("learner", "told"), [("overflowing", r"loss \(nan\)"), ("steep", r"gradient \(its norm is nan, with a loss of")]
)
def test_the_first_value_that_turned_is_reported(tmp_path, odd_learners, learner, told):
    with pytest.raises(MusterError, match=f"after 8 steps: {told}"):
        run(config(tmp_path, learner=learner))
    folder, fault = the_fault(tmp_path)
    assert fault["largest_absolute_values"]["obs"] == 1.0
    weights = th.load(folder / "agent.th", weights_only=True)
    assert all(tensor.isfinite().all() for tensor in weights.values())


@pytest.mark.parametrize("learner", ["overflowing", "steep"])
def test_an_update_can_be_left_out(tmp_path, odd_learners, learner, monkeypatch):
    """The weights after it are those before it, and training continues."""
    weights = []
    train = QLearner.train

    def watched(self, *arguments):
        train(self, *arguments)
        weights.append(self.mac.agent.state_dict()["fc2.weight"].clone())

    monkeypatch.setattr(QLearner, "train", watched)
    run(config(tmp_path, learner=learner, on_non_finite="skip", checkpoint_interval=1000))
    assert th.equal(weights[1], weights[2])
    assert not th.equal(weights[2], weights[3])
    (log,) = tmp_path.glob("runs/*/metrics.csv")
    assert ",skipped_updates,1.0" in log.read_text()
    _, fault = the_fault(tmp_path)
    assert fault["what"].endswith("; the update was skipped")


class Foreign:
    """A user's own learner, without checks of its values; its third update spoils the weights."""

    def __init__(self, mac, scheme, logger, args):
        self.mac, self.updates = mac, 0

    def train(self, batch, t_env, episode_num):
        self.updates += 1
        if self.updates == 3:
            next(iter(self.mac.parameters())).data.mul_(np.nan)

    def save_models(self, path):
        self.mac.save_models(path)


def test_weights_that_a_foreign_learner_spoils(tmp_path, monkeypatch):
    monkeypatch.setitem(learners._entries, "foreign", None)
    learners["foreign"] = Foreign
    with pytest.raises(MusterError, match="after 8 steps: weights of the agents"):
        run(config(tmp_path, learner="foreign"))
    with pytest.raises(MusterError, match=r"(?s)weights of the agents.*Resume from the checkpoint of step [46] with"):
        run(config(tmp_path, learner="foreign", checkpoint_interval=2))  # spoilt weights are not written
    with pytest.raises(MusterError, match="after 8 steps: weights of the agents"):  # nothing can be left out any more
        run(config(tmp_path, learner="foreign", on_non_finite="skip"))
