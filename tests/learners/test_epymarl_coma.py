"""The options by which COMA becomes EPyMARL's: critic steps by batch, standardised targets, rewards by agent."""

import pytest
import torch as th

from components.episode_buffer import EpisodeBatch
from components.scheme import scheme_of
from envs.contract.fields import pymarl_spec
from helpers import SIZES, random_batch
from learners.standardisation import Standardisation
from small_learners import coma_learner as make_learner
from utils.rl_utils import n_step_returns, terminations, valid_transitions


def batch_for_epymarl():
    return random_batch([4, 2, 5], 6, ends=["terminated", "truncated", "truncated"])


def test_one_step_of_the_critic_for_all_time_steps():
    """Errors of a step's agents are added; the policy's step has the entropy's share in it."""
    batch = batch_for_epymarl()
    settings = {"critic_steps": "batch", "q_nstep": 2, "entropy_coef": 0.3, "entropy_in_pg_loss": True}
    learner = make_learner(batch, mask_before_softmax=True, **settings)
    mask = valid_transitions(batch)
    actions = batch["actions"][:, :-1]
    with th.no_grad():
        q, pi = learner.critic(batch)[:, :-1], learner.mac.unroll(batch)[0][:, :-1]
        following = learner.target_critic(batch).gather(3, batch["actions"]).squeeze(3)[:, 1:]
        ends = batch["terminated"][:, :-1].float()
        targets = n_step_returns(batch["reward"][:, :-1], ends, mask, following, 0.9, 2)
        taken = q.gather(3, actions).squeeze(3)
        steps, each = mask.sum(), mask.expand(-1, -1, 2) > 0
        errors = ((taken - targets) * mask).abs()
        advantages = taken - (pi * q).sum(3)
        entropy = -(pi * pi.clamp(min=1e-12).log()).sum(3)
        gains = advantages * pi.gather(3, actions).squeeze(3).log() + 0.3 * entropy
    learner.train(batch, 1, 0)
    assert learner.critic_training_steps == 1
    expected = {
        "critic_loss": float((errors**2).sum() / steps),
        "td_error_abs": float(errors.sum() / steps),
        "target_mean": float((targets * mask).sum() / steps),
        "q_taken_mean": float((taken * mask).sum() / steps),
        "coma_loss": -float(gains[each].mean()),
    }
    logged = learner.logger.last()
    assert {key: logged[key] for key in expected} == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("key", ["standardise_rewards", "standardise_returns"])
def test_targets_are_standardised(key):
    """As of a batch with standardised rewards, or standardised themselves; one each for the agents' returns."""
    batch = batch_for_epymarl()
    plain, learner = make_learner(batch), make_learner(batch, **{key: True})
    mask = valid_transitions(batch)
    if key == "standardise_rewards":
        found = _targets(learner, batch, mask)
        batch["reward"][:, :-1] = Standardisation(batch.scheme, learner.args, 2).rewards(batch, mask)
        expected = _targets(plain, batch, mask)
    else:
        found = _targets(learner, batch, mask)
        expected = Standardisation(batch.scheme, learner.args, 2).returns(_targets(plain, batch, mask), mask)
    th.testing.assert_close(found[mask[..., 0] > 0], expected[mask[..., 0] > 0])
    assert not th.allclose(found, _targets(make_learner(batch), batch, mask)) or key == "standardise_rewards"
    assert set(learner.networks) == {"critic", "reward_norm" if key == "standardise_rewards" else "return_norm"}


def _targets(learner, batch, mask):
    rewards, terminated = learner.standardised.rewards(batch, mask), terminations(batch, by_agent=True)
    return learner._targets(batch, rewards, terminated, batch["actions"], mask)


def test_agents_with_separate_rewards():
    """The second agent's reward changes its targets only."""
    scheme, groups, preprocess = scheme_of(pymarl_spec(SIZES))
    del scheme["reward"]
    batch = random_batch([4, 2], 6)
    scheme["reward"] = {"vshape": (1,), "group": "agents"}
    own = EpisodeBatch(scheme, groups, 2, 6, preprocess=preprocess)
    for key in (k for k in batch.scheme if k != "reward"):
        own[key].copy_(batch[key])
    own["reward"].copy_(batch["reward"].unsqueeze(2).expand(-1, -1, 2, -1))
    mask = valid_transitions(batch)
    learner = make_learner(own)
    expected = _targets(make_learner(batch), batch, mask)
    th.testing.assert_close(_targets(learner, own, mask), expected)
    own["reward"][:, :, 1] += 1
    found = _targets(learner, own, mask)
    th.testing.assert_close(found[..., 0], expected[..., 0])
    assert (found[..., 1] > expected[..., 1])[mask[..., 0] > 0].all()
    learner.train(own, 1, 0)
