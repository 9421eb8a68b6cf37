"""COMA: one step by hand, the critic's way through time, and the statistics of the steps taken."""

import copy

import numpy as np
import pytest
import torch as th

from helpers import fill, random_batch
from small_learners import coma_learner as make_learner
from utils.rl_utils import terminations, valid_transitions


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
    """One step of the optimiser for each time step, the last first; values are kept from before their own step."""
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

    taken, mask = (batch["reward"][:, :-1], terminations(batch), batch["actions"]), valid_transitions(batch)
    q_vals, stats = learner._train_critic(batch, *taken, batch["avail_actions"][:, :-1], mask, 2, 6)
    assert stats["critic_loss"] == pytest.approx(losses, rel=1e-4)
    for (row, t), q in expected_q.items():
        th.testing.assert_close(q_vals[row, t], q, rtol=1e-4, atol=1e-6)
    th.testing.assert_close(learner.critic.state_dict(), critic.state_dict(), rtol=1e-4, atol=1e-6)
    assert learner.critic_training_steps == 4, "steps in which nothing was played are skipped"


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
    by_step = {t: {"critic_loss": [], "td_error_abs": [], "target_mean": [], "q_taken_mean": []} for t in range(5)}
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
                by_step[t]["critic_loss"].append(error**2)
                by_step[t]["td_error_abs"].append(abs(error))
                by_step[t]["target_mean"].append(targets[row, t, agent])
                by_step[t]["q_taken_mean"].append(q_here[action])
    expected = {"coma_loss": np.mean(losses), "advantage_mean": np.mean(advantages), "pi_max": np.mean(highest)}
    for key in by_step[0]:  # PyMARL's: the mean over time of the means over episodes
        expected[key] = np.mean([np.mean(by_step[t][key]) for t in by_step])
    actor, critic = copy.deepcopy(learner.mac.agent.state_dict()), copy.deepcopy(learner.critic.state_dict())
    learner.train(batch, 1, 0)
    logged = learner.logger.last()
    assert {key: logged[key] for key in expected} == pytest.approx(expected, rel=1e-4, abs=1e-6)
    # each optimiser has its own learning rate
    th.testing.assert_close(learner.critic.state_dict(), critic, rtol=0, atol=0)
    assert not th.allclose(learner.mac.agent.state_dict()["fc2.bias"], actor["fc2.bias"], atol=1e-3)
