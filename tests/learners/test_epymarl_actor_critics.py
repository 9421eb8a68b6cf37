"""The options by which A2C and PPO become EPyMARL's: n-step returns, target critics, epochs, statistics."""

import numpy as np
import pytest
import torch as th

from components.episode_buffer import EpisodeBatch
from controllers.basic_controller import BasicMAC
from controllers.inputs import actions_before
from fakes import RecordingLogger
from helpers import fill, make_args, random_batch
from learners.a2c_learner import A2CLearner
from learners.ppo_learner import PPOLearner
from learners.standardisation import Standardisation
from random_rollouts import random_rollout
from utils.rl_utils import episode_starts, n_step_returns, valid_transitions

SETTINGS = {
    "agent_output_type": "pi_logits",
    "action_selector": "soft_policies",
    "critic": "own",
    "rnn_hidden_dim": 8,
    "critic_hidden_dim": 8,
    "learner_log_interval": 1,
    "gamma": 0.9,
    "q_nstep": 2,
    "target_update_interval_or_tau": 0.25,
    "normalise_values": False,
    "normalise_advantages": False,
    "use_rollout_log_probs": False,
    "value_clip": False,
}


def make_learner(kind, batch, **changes):
    args = make_args(**{**SETTINGS, **changes})
    mac = BasicMAC(batch.scheme, batch.groups, args)
    fill(mac.parameters())
    learner = kind(mac, batch.scheme, RecordingLogger(), args)
    fill(learner.critic.parameters(), seed=1)
    fill(learner.target_critic.parameters(), seed=2)
    return learner


def episodes():
    return random_batch([4, 2, 5], 6, ends=["terminated", "terminated", "truncated"])


@pytest.mark.parametrize("standardised", [False, True])
def test_returns_are_of_the_target_critic_and_advantages_over_the_critics_values(standardised):
    batch = episodes()
    learner = make_learner(A2CLearner, batch, standardise_returns=standardised)
    mask, v = valid_transitions(batch), learner.critic(batch).squeeze(3)[:, :-1]
    with th.no_grad():
        following = learner.target_critic(batch).squeeze(3)[:, 1:]
    ends = batch["terminated"][:, :-1].float()
    for _ in range(2):  # the second time in other units
        norm = learner.networks.get("return_norm")
        units = 1 if norm is None else norm.running_mean_var()[1].sqrt()
        shift = 0 if norm is None else norm.running_mean_var()[0]
        expected = n_step_returns(batch["reward"][:, :-1], ends, mask, following * units + shift, 0.9, 2)
        found = learner.estimates(batch)
        if standardised:
            mean, var = norm.running_mean_var()
            expected = (expected - mean) / var.sqrt()
        each = mask.expand_as(expected) > 0
        th.testing.assert_close(found["returns"][each], expected[each])
        th.testing.assert_close(found["advantages"][each], (expected - v)[each])
        assert (found["advantages"][~each] == 0).all()


@pytest.mark.parametrize("kind", [A2CLearner, PPOLearner])
def test_the_target_critic_follows_after_each_call(kind):
    batch = episodes()
    learner = make_learner(kind, batch)
    before = [p.detach().clone() for p in learner.target_critic.parameters()]
    learner.train(batch, 10, 0)
    for old, new, kept in zip(before, learner.critic.parameters(), learner.target_critic.parameters(), strict=True):
        th.testing.assert_close(kept, 0.75 * old + 0.25 * new)
    plain = make_args(**{**SETTINGS, "target_update_interval_or_tau": None})
    assert kind(learner.mac, batch.scheme, RecordingLogger(), plain).target_critic is None


@pytest.mark.parametrize("only", [True, False])
def test_means_are_over_agents_with_a_choice_or_over_all(only):
    batch = episodes()
    batch["avail_actions"][0, :, 1] = th.tensor([1, 0, 0], dtype=th.int)
    batch["actions"][0, :, 1] = 0
    learner = make_learner(A2CLearner, batch, mask_forced_actions=only, entropy_coef=0.0)
    found, now = learner.estimates(batch), None
    assert found["choices"].sum() == (18 if only else 22) - _single(batch) * only
    with th.no_grad():
        now = learner.evaluate_actions(learner.sample(batch, found))
    expected = -(now.log_prob * found["advantages"]).sum() / found["choices"].sum()
    learner.train(batch, 10, 0)
    assert learner.logger.last()["pg_loss"] == pytest.approx(float(expected), rel=1e-4)


def _single(batch):
    """Decisions with one legal action, beside those of the agent that has no choice in the first episode."""
    single = (batch["avail_actions"][:, :-1].sum(3) == 1) & (valid_transitions(batch) > 0)
    single[0, :, 1] = False
    return int(single.sum())


@pytest.mark.parametrize("kind", [A2CLearner, PPOLearner])
def test_the_logged_loss_has_the_entropy_in_it_if_that_is_asked_for(kind):
    logged = []
    for within in (False, True):
        learner = make_learner(kind, episodes(), entropy_coef=0.5, entropy_in_pg_loss=within)
        learner.train(episodes(), 10, 0)
        logged.append(learner.logger.last())
    plain, total = logged
    assert total["pg_loss"] == pytest.approx(plain["pg_loss"] - 0.5 * plain["entropy"], rel=1e-5)


def test_statistics_are_means_over_what_was_done():
    batch = episodes()
    learner = make_learner(A2CLearner, batch)
    found = learner.estimates(batch)
    mask = valid_transitions(batch).expand(-1, -1, 2) > 0
    with th.no_grad():
        v = learner.critic(batch).squeeze(3)[:, :-1]
        pi = learner.mac.unroll(batch)[0][:, :-1]
    expected = {
        "td_error_abs": (v - found["returns"])[mask].abs().mean(),
        "q_taken_mean": v[mask].mean(),
        "target_mean": found["returns"][mask].mean(),
        "critic_loss": (v - found["returns"])[mask].square().mean(),
    }
    choices = found["choices"] > 0
    expected |= {"advantage_mean": found["advantages"][choices].mean(), "pi_max": pi.amax(3)[choices].mean()}
    learner.train(batch, 10, 0)
    logged = learner.logger.last()
    assert {key: logged[key] for key in expected} == pytest.approx({k: float(x) for k, x in expected.items()}, rel=1e-4)


@pytest.mark.parametrize("each", [True, False])
def test_estimates_before_each_epoch_or_before_the_first(each):
    """With new ones, each epoch's advantages are over the values after the epoch before, and the last one is logged."""
    batch = episodes()
    learner = make_learner(
        PPOLearner, batch, epochs=3, recompute_advantages=each, critic_lr=0.1, standardise_rewards=True
    )
    seen, update = [], learner._update
    learner._update = lambda part, *others: (
        seen.append((part["advantages"] * part["choices"]).sum().item()) or update(part, *others)
    )
    learner.train(batch, 10, 0)
    assert len(seen) == 3
    assert (len({round(x, 4) for x in seen}) == 3) == each
    # rewards are taken in once
    assert float(learner.networks["reward_norm"].count) == pytest.approx(11 + 1e-4)
    count = learner.estimates(batch)["choices"].sum()
    mean = np.mean(seen) if not each else seen[-1]
    assert learner.logger.last()["advantage_mean"] == pytest.approx(mean / float(count), rel=1e-3)


def test_the_old_policy_is_that_of_acting_or_that_before_the_first_epoch():
    batch, mac, args = random_rollout(normalise_values=False)
    batch["log_prob"].sub_(1.0)
    ratios = []
    for recomputed in (True, False):
        args.use_rollout_log_probs = not recomputed
        learner = PPOLearner(mac, batch.scheme, RecordingLogger(), args)
        learner.step = lambda *losses: {}
        learner.train(batch, 10, 0)
        ratios.append(learner.logger.last()["approx_kl"])
    assert ratios == pytest.approx([0, np.e - 1 - 1], abs=1e-4)


def test_critics_of_last_actions_see_those_before_a_rollout():
    batch, mac, args = random_rollout(critic_last_actions=True)
    learner = PPOLearner(mac, batch.scheme, RecordingLogger(), args)
    before = actions_before(batch, "actions_onehot")
    starts = episode_starts(batch)
    for row in range(batch.batch_size):
        for t in range(batch.max_seq_length):
            earlier = batch["last_actions_before"][row] if t == 0 else batch["actions_onehot"][row, t - 1]
            assert th.equal(before[row, t], th.zeros_like(earlier) if starts[row, t] else earlier)
    now = learner.evaluate_actions(learner.sample(batch, learner.estimates(batch)))
    th.testing.assert_close(now.values, learner.values(batch)[:, :-1])
    x = th.cat(
        [batch["obs"], before.flatten(2).unsqueeze(2).expand(-1, -1, 2, -1), th.eye(2).expand(3, 9, 2, 2)], dim=-1
    )
    with th.no_grad():
        critic = learner.critic
        expected = critic.fc3(critic.fc2(critic.fc1(x).relu()).relu()).squeeze(3)
    th.testing.assert_close(learner.values(batch), expected)
    learner.train(batch, 10, 0)


def test_rewards_are_standardised_for_the_estimates():
    batch = episodes()
    learner = make_learner(A2CLearner, batch, standardise_rewards=True)
    found = learner.estimates(batch)
    batch["reward"][:, :-1] = Standardisation(batch.scheme, learner.args, 2).rewards(batch, valid_transitions(batch))
    expected = make_learner(A2CLearner, batch).estimates(batch)
    th.testing.assert_close(found["returns"], expected["returns"])


@pytest.mark.parametrize("critic", ["own", "state"])
def test_a_batch_of_pymarls_scheme_gives_the_same(critic):
    """Its fields have no kinds, and it does not know truncation."""
    batch = random_batch([4, 2, 5], 6)
    kept = ("vshape", "group", "dtype", "episode_const")
    names = [key for key in batch.scheme if key != "truncated"]
    scheme = {key: {k: v for k, v in batch.scheme[key].items() if k in kept} for key in names}
    plain = EpisodeBatch(scheme, batch.groups, 3, 6, data=batch.data)
    found = []
    for given in (batch, plain):
        learner = make_learner(PPOLearner, given, critic=critic)
        learner.train(given, 10, 0)
        found.append(learner.logger.last())
    assert found[0] == pytest.approx(found[1], rel=1e-4, abs=1e-6)
