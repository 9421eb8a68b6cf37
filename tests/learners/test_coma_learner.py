"""COMA: one step by hand, and the critic's way through time."""

import copy

import numpy as np
import pytest
import torch as th

from components.episode_buffer import EpisodeBatch
from components.scheme import scheme_of
from controllers.basic_controller import BasicMAC
from envs.fields import pymarl_spec
from fakes import RecordingLogger
from helpers import SIZES, fill, make_args, random_batch
from learners.coma_learner import COMALearner
from learners.standardisation import Standardisation
from utils.errors import ConfigError
from utils.rl_utils import n_step_returns, valid_transitions

SETTINGS = {
    "agent_output_type": "pi_logits",
    "action_selector": "multinomial",
    "mask_before_softmax": False,
    "epsilon_start": 0.0,
    "epsilon_finish": 0.0,
    "td_lambda": 0.8,
    "gamma": 0.9,
    "rnn_hidden_dim": 3,
    "learner_log_interval": 1,
}


def make_learner(batch, **changes):
    args = make_args(**{**SETTINGS, **changes})
    mac = BasicMAC(batch.scheme, batch.groups, args)
    learner = COMALearner(mac, batch.scheme, RecordingLogger(), args)
    fill(mac.parameters())
    fill(learner.critic.parameters(), seed=1)
    learner._update_targets()
    return learner


def test_one_step_by_hand():
    """Logits ln 2, ln 1, ln 1 with the last action illegal: pi = 2/3, 1/3, 0. The critic says 6, 3, 100 everywhere.

    One terminal step, reward 4, actions 0 and 1.
    Critic: target 4, values 6 and 3: loss = (2^2 + 1^2) / 2 = 2.5; mean absolute error 1.5.
    Baseline = 2/3 x 6 + 1/3 x 3 = 5; advantages 1 and -2.
    Loss = -(1 ln 2/3 - 2 ln 1/3) / 2.
    d loss / d logits of an agent that took a with advantage A: -A (onehot(a) - pi) / 2; summed over the agents:
        action 0: -(1 x 1/3) / 2 - (-2 x -2/3) / 2 = -5/6;  action 1: -(-1/3) / 2 - (-2 x 2/3) / 2 = 5/6.
    """
    batch = random_batch([1], 2)
    batch.update({"avail_actions": [[1, 1, 0], [1, 1, 0]], "actions": [0, 1], "reward": [4.0]}, ts=0)
    learner = make_learner(batch)
    for network in (learner.critic, learner.mac.agent):
        for parameter in network.parameters():
            parameter.data.zero_()
    learner.critic.fc3.bias.data = th.tensor([6.0, 3.0, 100.0])
    learner.mac.agent.fc2.bias.data = th.tensor([2.0, 1.0, 1.0]).log()
    learner._update_targets()
    before = learner.mac.agent.fc2.bias.detach().clone()
    learner.train(batch, 1, 0)
    logged = learner.logger.last()
    assert logged["critic_loss"] == pytest.approx(2.5)
    assert logged["td_error_abs"] == pytest.approx(1.5)
    assert logged["q_taken_mean"] == pytest.approx(4.5)
    assert logged["target_mean"] == pytest.approx(4)
    # errors 2 and -1 over two agents, so the last biases get 2 and -1
    assert logged["critic_grad_norm"] == pytest.approx(np.sqrt(5))
    assert logged["advantage_mean"] == pytest.approx(-0.5)
    assert logged["coma_loss"] == pytest.approx(-(np.log(2 / 3) - 2 * np.log(1 / 3)) / 2, rel=1e-5)
    assert logged["agent_grad_norm"] == pytest.approx(5 / 6 * np.sqrt(2), rel=1e-5)
    assert logged["pi_max"] == pytest.approx(2 / 3)
    # RMSprop from rest: v = 0.01 g^2, step = lr g / (0.1 |g| + eps)
    step = 0.0005 * (5 / 6) / (0.1 * 5 / 6 + 1e-5)
    moved = learner.mac.agent.fc2.bias.detach() - before
    assert moved.tolist() == pytest.approx([step, -step, 0.0], rel=1e-3, abs=1e-6)
    step = 0.0005 * 2 / (0.1 * 2 + 1e-5)
    assert learner.critic.fc3.bias[0].item() == pytest.approx(6 - step, rel=1e-6)
    assert learner.critic.fc3.bias[2].item() == 100


def _td_lambda_targets(batch, lengths, terminated, values):
    """gamma 0.9, lambda 0.8; `values` [B, T, n] are those of the actions taken. NaN where nothing was done."""
    targets = np.full((len(lengths), batch.max_seq_length - 1, 2), np.nan)
    for row, length in enumerate(lengths):
        following = values[row, length].numpy()
        for t in reversed(range(length)):
            ends = t == length - 1
            ahead = following if ends else 0.2 * values[row, t + 1].numpy() + 0.8 * following
            following = batch["reward"][row, t].numpy() + 0.9 * ahead * (not (ends and terminated[row]))
            targets[row, t] = following
    return targets


def test_the_critic_goes_through_time_backwards():
    """One step of the optimiser for each column, the last first; values are kept from before their own step."""
    batch = random_batch([4, 2], 6, ends=["terminated", "truncated"])
    learner = make_learner(batch)
    critic, optimiser = copy.deepcopy(learner.critic), th.optim.RMSprop
    optimiser = optimiser(critic.parameters(), lr=0.0005, alpha=0.99, eps=1e-5)
    lengths, terminated = [4, 2], [True, False]
    with th.no_grad():
        taken = learner.target_critic(batch).gather(3, batch["actions"]).squeeze(3)
    targets = _td_lambda_targets(batch, lengths, terminated, taken)
    expected_q, losses = {}, []
    for t in (3, 2, 1, 0):
        rows = [row for row in (0, 1) if t < lengths[row]]
        q_t = critic(batch, t)[rows, 0]
        for row, q in zip(rows, q_t, strict=True):
            expected_q[row, t] = q.detach().clone()
        chosen = q_t.gather(2, batch["actions"][rows, t]).squeeze(2)
        loss = (chosen - th.tensor(targets[rows, t], dtype=th.float32)).square().mean()
        optimiser.zero_grad()
        loss.backward()
        th.nn.utils.clip_grad_norm_(critic.parameters(), 10)
        optimiser.step()
        losses.append(loss.item())

    q_vals, stats = learner._train_critic(batch, batch["actions"], valid_transitions(batch))
    assert stats["critic_loss"] == pytest.approx(losses, rel=1e-4)
    for (row, t), q in expected_q.items():
        th.testing.assert_close(q_vals[row, t], q, rtol=1e-4, atol=1e-6)
    th.testing.assert_close(learner.critic.state_dict(), critic.state_dict(), rtol=1e-4, atol=1e-6)
    assert learner.critic_training_steps == 4, "columns in which nothing was played are skipped"


@pytest.mark.parametrize("mask_before_softmax", [True, False])
def test_statistics_are_those_of_the_steps_taken(mask_before_softmax):
    """NumPy, step by step, with an epsilon floor of 0.3; the critic stands still (its learning rate is 0)."""
    lengths, terminated = [4, 2, 5], [True, False, False]
    batch = random_batch(lengths, 6, ends=["terminated", "truncated", "truncated"])
    floor = {"epsilon_start": 0.3, "epsilon_finish": 0.3}
    learner = make_learner(batch, mask_before_softmax=mask_before_softmax, lr=0.01, critic_lr=0.0, **floor)
    fill(learner.target_critic.parameters(), seed=5)
    with th.no_grad():
        learner.mac.agent_output_type = "q"  # the logits as they are
        logits = learner.mac.unroll(batch)[0].numpy().astype(float)
        learner.mac.agent_output_type = "pi_logits"
        q = learner.critic(batch).numpy().astype(float)
        targets = _td_lambda_targets(
            batch, lengths, terminated, learner.target_critic(batch).gather(3, batch["actions"]).squeeze(3)
        )
    losses, advantages, highest = [], [], []
    columns = {t: {"critic_loss": [], "td_error_abs": [], "target_mean": [], "q_taken_mean": []} for t in range(5)}
    for row, length in enumerate(lengths):
        for t in range(length):
            for agent in range(2):
                legal = batch["avail_actions"][row, t, agent].numpy()
                among = legal if mask_before_softmax else np.ones(3)
                pi = np.exp(logits[row, t, agent]) * among
                pi = (0.7 * pi / pi.sum() + 0.3 * among / among.sum()) * legal
                pi /= pi.sum()
                action, q_here = batch["actions"][row, t, agent].item(), q[row, t, agent]
                advantages.append(q_here[action] - pi @ q_here)
                losses.append(-advantages[-1] * np.log(pi[action]))
                highest.append(pi.max())
                error = q_here[action] - targets[row, t, agent]
                columns[t]["critic_loss"].append(error**2)
                columns[t]["td_error_abs"].append(abs(error))
                columns[t]["target_mean"].append(targets[row, t, agent])
                columns[t]["q_taken_mean"].append(q_here[action])
    expected = {"coma_loss": np.mean(losses), "advantage_mean": np.mean(advantages), "pi_max": np.mean(highest)}
    for key in columns[0]:  # PyMARL's: the mean over time of the means over episodes
        expected[key] = np.mean([np.mean(columns[t][key]) for t in columns])
    actor, critic = copy.deepcopy(learner.mac.agent.state_dict()), copy.deepcopy(learner.critic.state_dict())
    learner.train(batch, 1, 0)
    logged = learner.logger.last()
    assert {key: logged[key] for key in expected} == pytest.approx(expected, rel=1e-4, abs=1e-6)
    # each optimiser has its own learning rate
    th.testing.assert_close(learner.critic.state_dict(), critic, rtol=0, atol=0)
    assert not th.allclose(learner.mac.agent.state_dict()["fc2.bias"], actor["fc2.bias"], atol=1e-3)


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


def batch_for_epymarl():
    return random_batch([4, 2, 5], 6, ends=["terminated", "truncated", "truncated"])


def test_one_step_of_the_critic_for_all_time_steps():
    """Errors of a step's agents are added; the policy's step has the entropy's share in it."""
    batch = batch_for_epymarl()
    settings = {"critic_steps": "batch", "q_nstep": 2, "entropy_coef": 0.3}
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
    actions = batch["actions"]
    if key == "standardise_rewards":
        found = learner._targets(batch, actions, mask)
        batch["reward"][:, :-1] = Standardisation(batch.scheme, learner.args, 2).rewards(batch, mask)
        expected = plain._targets(batch, actions, mask)
    else:
        found = learner._targets(batch, actions, mask)
        expected = Standardisation(batch.scheme, learner.args, 2).returns(plain._targets(batch, actions, mask), mask)
    th.testing.assert_close(found[mask[..., 0] > 0], expected[mask[..., 0] > 0])
    assert not th.allclose(found, make_learner(batch)._targets(batch, actions, mask)) or key == "standardise_rewards"
    assert set(learner.networks) == {"critic", "reward_norm" if key == "standardise_rewards" else "return_norm"}


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
    expected = make_learner(batch)._targets(batch, batch["actions"], mask)
    th.testing.assert_close(learner._targets(own, own["actions"], mask), expected)
    own["reward"][:, :, 1] += 1
    found = learner._targets(own, own["actions"], mask)
    th.testing.assert_close(found[..., 0], expected[..., 0])
    assert (found[..., 1] > expected[..., 1])[mask[..., 0] > 0].all()
    learner.train(own, 1, 0)
