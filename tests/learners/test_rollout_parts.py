"""Parts of rollouts: acting and learning see the same policy, from whole rows and from pieces of them."""

import pytest
import torch as th
from test_pqn_learner import Recall, RecallBatch

from checks import check_config
from cli.compose import compose_config
from envs import REGISTRY
from fakes import RecordingLogger
from learners.ppo_learner import PPOLearner
from random_rollouts import random_rollout
from run import run
from utils.config.merging import config_path, default_config, recursive_dict_update
from utils.errors import ConfigError
from utils.files.yaml_files import load_yaml


@pytest.mark.parametrize(
    ("changes", "shapes"),
    [
        ({}, [(3, 8)]),
        ({"epochs": 2, "minibatches": 3}, [(1, 8)] * 6),
        ({"chunk_length": 4, "minibatches": 2}, [(3, 4)] * 2),
        ({"chunk_length": 4, "burn_in": 2}, [(6, 6)]),
    ],
)
def test_updates_see_the_parts_that_the_config_asks_for(changes, shapes):
    batch, mac, args = random_rollout(**changes)
    learner = PPOLearner(mac, batch.scheme, RecordingLogger(), args)
    update, seen = learner._update, []
    learner._update = lambda part, *rest: seen.append((part.batch_size, part.max_seq_length)) or update(part, *rest)
    learner.train(batch, 10, 0)
    assert seen == shapes


@pytest.mark.parametrize("chunk_length", [0, 1, 2, 4, 8])
@pytest.mark.parametrize(
    ("agent", "critic"), [("rnn", {}), ("ff", {}), ("rnn", {"critic_rnn": True, "critic_layer_norm": True})]
)
def test_learning_sees_the_policy_that_acted(agent, critic, chunk_length):
    """Also from parts of a rollout: their memory and last actions are those that acting had there."""
    batch, mac, args = random_rollout(agent, batch_size_run=3, **critic)
    learner = PPOLearner(mac, batch.scheme, RecordingLogger(), args)
    if critic:  # not the first rollout
        learner.estimates(batch)
        learner.finish(batch)
        assert learner.state_values.fields_before(batch)["critic_before"].any()
    sample = learner.sample(batch, learner.estimates(batch), chunk_length)
    length = chunk_length or 8
    assert (sample.batch_size, sample.max_seq_length) == (3 * 8 // length, length)
    now = learner.evaluate_actions(sample)
    th.testing.assert_close(now.log_prob, sample["old_log_prob"], rtol=1e-4, atol=1e-5)
    th.testing.assert_close(now.values, sample["old_values"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("burn_in", [1, 3])
def test_a_burn_in_is_seen_and_not_learned_from(burn_in):
    batch, mac, args = random_rollout()
    learner = PPOLearner(mac, batch.scheme, RecordingLogger(), args)
    estimates = learner.estimates(batch)
    sample = learner.sample(batch, estimates, 4, burn_in)
    assert (sample.batch_size, sample.max_seq_length) == (6, 4 + burn_in)
    now = learner.evaluate_actions(sample)
    th.testing.assert_close(now.log_prob, sample["old_log_prob"], rtol=1e-4, atol=1e-5)
    # the first part starts where the rollout does, the second so many before step 4
    for part, learned in ((0, slice(0, 4)), (1, slice(burn_in, None))):
        inside = th.zeros(4 + burn_in, 1)
        inside[learned] = 1
        mask = sample["mask"][part::2]
        assert (mask * (1 - inside)).sum() == 0
        assert th.equal(mask[:, learned], estimates["mask"][:, 4 * part : 4 * part + 4])
    assert th.equal(sample["mask"].sum(), estimates["mask"].sum())


def test_the_same_gradient_from_chunks_of_length_one_without_memory():
    """A feed-forward policy learns the same from steps as from rows."""
    grads = []
    for chunk_length in (0, 1):
        batch, mac, args = random_rollout("ff")
        learner = PPOLearner(mac, batch.scheme, RecordingLogger(), args)
        sample = learner.sample(batch, learner.estimates(batch), chunk_length)
        learner._update(sample, 0.2, 0.01)
        grads.append([p.grad.clone() for p in mac.parameters()])
    for one, other in zip(*grads, strict=True):
        th.testing.assert_close(one, other, rtol=1e-3, atol=1e-6)


def test_chunks_that_do_not_divide_a_rollout_are_refused():
    config = compose_config("mappo", "skirmish").config | {"chunk_length": 5}
    with pytest.raises(ConfigError, match="chunk_length=5 does not divide rollout_steps=32"):
        check_config(config)
    with pytest.raises(ConfigError, match=r"burn_in=25: .* a part has 24 steps before it"):
        check_config(config | {"chunk_length": 8, "burn_in": 25})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "changes"),
    [("ippo", {"t_max": 8000}), ("mappo", {"t_max": 45000, "chunk_length": 3, "agent": "lstm"})],
)
def test_it_learns_to_remember(algorithm, changes, monkeypatch, tmp_path):
    """Rollouts of six steps, and parts of three, cut the episodes of four; without memory a quarter is the best."""
    monkeypatch.setitem(REGISTRY._entries, "recall", None)
    REGISTRY.declare("recall", Recall, "recall", batched=RecallBatch)
    config = recursive_dict_update(default_config(), load_yaml(config_path(algorithm, "algs")))
    sizes = {"batch_size_run": 32, "rollout_steps": 6, "rnn_hidden_dim": 16, "lr": 0.002, "critic_lr": 0.002}
    experiment = {"env": "recall", "test_interval": 20000, "test_nepisode": 64, "seed": 1}
    recursive_dict_update(config, {**sizes, **experiment, **changes, "local_results_path": str(tmp_path)})
    assert run(config) > 0.9
