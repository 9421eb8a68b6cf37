"""PQN: its targets by hand, its updates, and that it learns what needs memory across the ends of rollouts."""

from itertools import chain

import numpy as np
import pytest
import torch as th

from checks import check_config
from components.episode_buffer import EpisodeBatch
from components.scheme import scheme_of
from controllers.basic_controller import BasicMAC
from envs import REGISTRY, MultiAgentEnv
from envs.contract.fields import pymarl_spec
from fakes import RecordingLogger
from helpers import fill, make_args, random_batch
from learners.pqn_learner import PQNLearner
from run import run
from utils.config.merging import config_path, default_config, recursive_dict_update
from utils.errors import ConfigError
from utils.files.yaml_files import load_yaml


class TableMAC:
    """Values of both agents' actions by the number that they observe; remembers nothing."""

    def __init__(self, table):
        self.table = th.nn.Parameter(th.tensor(table))  # [observation, action]
        self.seen = []

    def init_hidden(self, batch_size):
        self.hidden_states = th.zeros(batch_size, 2, 1)

    def forward(self, batch, t, test_mode=False):
        self.seen.append(batch["state"][:, t, 0].tolist())
        return self.table[batch["obs"][:, t, :, 0].long()]

    def parameters(self):
        return [self.table]


def rollout(steps, ends):
    """A rollout whose entry b observes the step's number, gets the reward t + 1, and ends in step 1 as `ends[b]` says.

    Agents take action 0; the third action, whose value is the largest, is illegal.
    """
    scheme, groups, preprocess = scheme_of(
        pymarl_spec({"state_shape": 1, "obs_shape": 1, "n_actions": 3, "n_agents": 2})
    )
    before = {"group": "agents", "episode_const": True}
    scheme |= {"hidden_before": {"vshape": (1,), **before}, "last_actions_before": {"vshape": (3,), **before}}
    batch = EpisodeBatch(scheme, groups, len(ends), steps, preprocess=preprocess)
    for entry, end in enumerate(ends):
        for t in range(steps):
            seen = {"obs": [[t], [t]], "state": [entry], "avail_actions": [[1, 1, 0]] * 2, "actions": [0, 0]}
            batch.update(seen, bs=entry, ts=t)
            if t < steps - 1 and t != 2:
                over = {key: t == 1 and end == key for key in ("terminated", "truncated")}
                batch.update({"reward": [t + 1.0], **over}, bs=entry, ts=t)
    return batch


# of each observation: value of the action taken, the best legal value, an illegal one
TABLE = [[0.5, 0.1, 9.0], [1.0, 1.5, 9.0], [5.0, 2.0, 9.0], [2.5, 2.0, 9.0], [1.0, 3.5, 9.0]]
# of both agents together V = (1, 3, 10, 5, 7); gamma 0.9, lambda 0.5; step 2 is the closing state
TARGETS = {
    "terminated": [1 + 0.9 * (0.5 * 3 + 0.5 * 2), 2.0, 0.0, 4 + 0.9 * 7],
    "truncated": [1 + 0.9 * (0.5 * 3 + 0.5 * 11), 2 + 0.9 * 10, 0.0, 4 + 0.9 * 7],
}
TAKEN = [1.0, 2.0, None, 5.0]


def make_learner(mac, **changes):
    changes = {"mixer": "vdn", "gamma": 0.9, "td_lambda": 0.5, "learner_log_interval": 1, **changes}
    return PQNLearner(mac, {}, RecordingLogger(), make_args(**changes))


@pytest.mark.parametrize("end", TARGETS)
def test_targets_and_loss_by_hand(end):
    learner = make_learner(TableMAC(TABLE))
    learner.train(rollout(5, [end]), t_env=10, episode_num=0)
    errors = [q - g for q, g in zip(TAKEN, TARGETS[end], strict=True) if q is not None]
    last = learner.logger.last()
    assert last["loss"] == pytest.approx(sum(e * e for e in errors) / 3)
    assert last["td_error_abs"] == pytest.approx(sum(map(abs, errors)) / 3)
    assert last["target_mean"] == pytest.approx(sum(TARGETS[end]) / 3 / 2)
    assert last["q_taken_mean"] == pytest.approx((1 + 2 + 5) / 3 / 2)
    # d loss / d table: each of the two agents' chosen values moves all of the team's; only what was taken
    expected = th.zeros(5, 3)
    expected[[0, 1, 3], 0] = th.tensor(errors) * 2 / 3 * 2
    th.testing.assert_close(learner.mac.table.grad, expected * min(1, 10 / expected.norm()), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("minibatches", "sizes"), [(1, [5]), (2, [3, 2]), (3, [2, 2, 1]), (5, [1] * 5)])
def test_each_epoch_is_once_over_all_environments(minibatches, sizes):
    """In parts as equal as may be."""
    mac = TableMAC(TABLE)
    make_learner(mac, epochs=3, minibatches=minibatches).train(rollout(5, ["terminated"] * 5), t_env=10, episode_num=0)
    targets, *updates = mac.seen[:: len(TABLE)]
    assert targets == [0, 1, 2, 3, 4]
    assert [len(seen) for seen in updates] == sizes * 3
    epochs = [list(chain(*updates[i : i + minibatches])) for i in range(0, len(updates), minibatches)]
    assert all(sorted(seen) == [0, 1, 2, 3, 4] for seen in epochs)
    assert len({tuple(seen) for seen in epochs}) > 1, "in a newly drawn order"


def test_targets_stay_those_of_the_networks_before_the_rollout():
    losses = []
    for epochs in (1, 2):
        mac = TableMAC(TABLE)
        learner = make_learner(mac, epochs=epochs, lr=0.1, optimizer="adam")
        learner.train(rollout(5, ["truncated"]), t_env=10, episode_num=0)
        losses.append(learner.logger.last())
    assert losses[1]["target_mean"] == losses[0]["target_mean"]
    assert losses[1]["loss"] < losses[0]["loss"]


@pytest.mark.parametrize(
    ("finish", "rates"), [(0.002, [0.01, 0.006, 0.002, 0.002]), (0, [0.01, 0.005, 0, 0]), (None, [0.01] * 4)]
)
def test_the_learning_rate_falls_to_its_end(finish, rates):
    learner = make_learner(TableMAC(TABLE), lr=0.01, lr_finish=finish, t_max=1000)
    for t_env, rate in zip((0, 500, 1000, 1100), rates, strict=True):
        learner.train(rollout(5, ["terminated"]), t_env=t_env, episode_num=0)
        assert learner.optimiser.param_groups[0]["lr"] == pytest.approx(rate)


@pytest.mark.parametrize("mixer", [None, "vdn", "qmix"])
def test_whole_episodes_are_rollouts_too_and_a_checkpoint_is_complete(mixer, tmp_path):
    batch = random_batch([3, 5, 2], 6, ends=["terminated", "truncated", "terminated"])
    args = make_args(mixer=mixer, agent="rnn_layernorm", rnn_hidden_dim=8, learner_log_interval=1)
    learners = []
    for seed in (0, 1):
        mac = BasicMAC(batch.scheme, batch.groups, args)
        fill(mac.parameters(), seed=seed)
        learners.append(PQNLearner(mac, batch.scheme, RecordingLogger(), args))
    learners[0].train(batch, 10, 3)
    learners[0].save_models(str(tmp_path))
    learners[1].load_models(str(tmp_path))
    for learner in learners:
        np.random.seed(0)
        learner.train(batch, 20, 6)
    first, second = (learner.logger.values for learner in learners)
    assert first["loss"][1] == second["loss"][0]
    assert all(np.isfinite(value) for values in first.values() for _, value in values)


class Recall(MultiAgentEnv):
    """Each of two agents is shown a 0 or 1 in the first of four steps, and must choose it in the last."""

    n_agents, episode_limit, length = 2, 4, 4

    def __init__(self, seed=0):
        self.copies = RecallBatch(1, seed=seed)

    def get_env_info(self):
        return self.copies.get_env_info()


class RecallBatch:
    n_agents, episode_limit = Recall.n_agents, Recall.episode_limit

    def __init__(self, batch_size, seed=0):
        self.rng = np.random.default_rng(seed)
        self.cue, self.t = np.zeros((batch_size, 2), dtype=int), np.zeros(batch_size, dtype=int)

    def reset(self, which=None):
        which = np.ones(len(self.t), dtype=bool) if which is None else which
        self.cue[which], self.t[which] = self.rng.integers(2, size=(int(which.sum()), 2)), 0

    def step(self, actions):
        playing = self.t < Recall.length
        self.t += playing
        ended = self.t == Recall.length
        reward = ((actions == self.cue).all(axis=1) & playing & ended).astype(float)
        return reward, ended, np.zeros_like(ended)

    def observed(self):
        obs = np.zeros((len(self.t), 2, 3), dtype=np.float32)
        obs[..., 0] = np.where(self.t[:, None] == 0, 2 * self.cue - 1, 0)
        obs[..., 1] = self.t[:, None] == 0
        obs[..., 2] = self.t[:, None] == Recall.length - 1
        return {"obs": obs, "state": obs.reshape(len(self.t), 6), "avail_actions": np.ones((len(self.t), 2, 2))}

    def info(self, b):
        return {}

    def get_env_info(self):
        return {"state_shape": 6, "obs_shape": 3, "n_actions": 2, "n_agents": 2, "episode_limit": self.episode_limit}

    def close(self):
        pass


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["pqn_vdn", "pqn_qmix"])
def test_it_learns_to_remember(algorithm, monkeypatch, tmp_path):
    """Rollouts of five steps cut the episodes of four everywhere; without memory the return is a quarter at best."""
    monkeypatch.setitem(REGISTRY._entries, "recall", None)
    REGISTRY.declare("recall", Recall, "recall", batched=RecallBatch)
    config = recursive_dict_update(default_config(), load_yaml(config_path(algorithm, "algs")))
    sizes = {"batch_size_run": 32, "batch_size": 32, "buffer_size": 32, "rollout_steps": 5, "rnn_hidden_dim": 16}
    changes = {"epochs": 2, "minibatches": 2, "lr": 0.005, "epsilon_anneal_time": 6000, "test_nepisode": 64}
    experiment = {"env": "recall", "t_max": 12000, "test_interval": 20000, "seed": 1}
    recursive_dict_update(config, {**sizes, **changes, **experiment, "local_results_path": str(tmp_path)})
    assert run(config) > 0.9


def test_replay_is_refused():
    config = recursive_dict_update(default_config(), {"learner": "pqn_learner", "buffer": "episodes"})
    with pytest.raises(ConfigError, match=r"buffer=episodes does not go with learner=pqn_learner.*buffer=rollout"):
        check_config(config)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [{"batch_size": 2, "buffer_size": 2}, {"batch_size": 32, "buffer_size": 5000}, {}])
def test_sizes_of_a_replay_buffer_do_not_matter(sizes, tmp_path):
    """Configs from before the buffer `rollout` state both sizes."""
    settings = {"learner": "pqn_learner", "batch_size_run": 2, "runner": "parallel", "t_max": 40, "seed": 1}
    usual = {"test_nepisode": 2, "test_interval": 20, "local_results_path": str(tmp_path)}
    learned = run({**settings, **usual, **sizes})
    assert learned == run({**settings, **usual, "buffer": "rollout"})
