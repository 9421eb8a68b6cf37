"""COMA's updates: what they log, when targets follow, that padding spoils nothing, and what is saved of them."""

import numpy as np
import pytest
import torch as th

from controllers.basic_controller import BasicMAC
from helpers import random_batch
from small_coma import make_learner
from utils.errors import ConfigError


def test_statistics_are_plain_floats_with_pymarls_names():
    batch = random_batch([4, 2], 6)
    learner = make_learner(batch)
    told = {}
    learner.logger.log_stat = lambda key, value, t: told.update({key: type(value)})
    learner.train(batch, 1, 0)
    names = "critic_loss critic_grad_norm td_error_abs target_mean q_taken_mean advantage_mean coma_loss"
    assert told == dict.fromkeys([*names.split(), "agent_grad_norm", "pi_max"], float)


def test_nan_rewards_are_logged():
    batch = random_batch([4, 2], 6)
    learner = make_learner(batch, on_non_finite="skip")
    batch["reward"].fill_(float("nan"))
    learner.train(batch, 1, 0)
    assert np.isnan(learner.logger.last()["critic_loss"])


def test_a_controller_without_unroll_learns_the_same(monkeypatch):
    batch = random_batch([4, 2], 6)
    first, second = make_learner(batch), make_learner(batch)
    first.train(batch, 1, 0)
    monkeypatch.delattr(BasicMAC, "unroll")
    second.train(batch, 1, 0)
    assert second.logger.last() == pytest.approx(first.logger.last(), rel=1e-5)
    th.testing.assert_close(second.mac.agent.state_dict(), first.mac.agent.state_dict(), rtol=1e-4, atol=1e-6)


def test_targets_are_updated_by_critic_steps():
    batch = random_batch([4, 2], 6)
    learner = make_learner(batch, target_update_interval=8)
    updates = []
    for _ in range(5):
        learner.train(batch, 1, 0)
        updates.append(th.equal(learner.target_critic.fc1.weight, learner.critic.fc1.weight))
    assert updates == [False, True, False, True, False]


@pytest.mark.parametrize("mask_before_softmax", [True, False])
def test_padding_and_illegal_actions_leave_no_nan(mask_before_softmax):
    """The logarithm of a probability of 0, times a mask of 0, is NaN: COMA's losses in PyMARL2 turn NaN."""
    batch = random_batch([1, 5], 6, ends=["truncated", "terminated"])
    learner = make_learner(batch, mask_before_softmax=mask_before_softmax, epsilon_start=0.5)
    for _ in range(3):
        learner.train(batch, 1, 0)
    assert all(np.isfinite(list(learner.logger.last().values())))
    assert all(p.isfinite().all() for p in learner.params)


def test_models_travel_with_their_targets(tmp_path):
    batch = random_batch([3, 4], 5)
    learner, other = make_learner(batch), make_learner(batch)
    learner.train(batch, 1, 0)
    learner.save_models(str(tmp_path))
    assert {p.name for p in tmp_path.iterdir()} == {"agent.th", "critic.th", "agent_opt.th", "critic_opt.th"}
    other.load_models(str(tmp_path))
    th.testing.assert_close(other.target_critic.state_dict(), learner.critic.state_dict(), rtol=0, atol=0)
    th.testing.assert_close(other.mac.agent.state_dict(), learner.mac.agent.state_dict(), rtol=0, atol=0)


def test_state_of_another_optimiser_is_refused(tmp_path):
    batch = random_batch([3, 4], 5)
    learner = make_learner(batch)
    learner.train(batch, 1, 0)
    learner.save_models(str(tmp_path))
    with pytest.raises(ConfigError, match=r"agent_opt\.th does not fit.*another optimiser"):
        make_learner(batch, optimizer="adam").load_models(str(tmp_path))
