"""DOP: its two kinds of targets and the policies' loss by brute force, and which episodes are learned from how."""

from itertools import product

import numpy as np
import pytest
import torch as th

from controllers.basic_controller import BasicMAC
from fakes import RecordingLogger
from helpers import fill, make_args, random_batch
from learners.dop_learner import DOPLearner

GAMMA, LAMBDA, TREE = 0.9, 0.7, 0.6
RECENT = [("terminated", 2), ("truncated", 3)]
OLD = [("terminated", 4), ("truncated", 5), ("truncated", 2)]
NEW = [("truncated", 4), ("terminated", 5)]


def learner_of(batch, **changes):
    settings = {
        "agent_output_type": "pi_logits",
        "action_selector": "multinomial",
        "epsilon_start": 0.3,
        "learner": "dop_learner",
        "critic": "own_actions",
        "mixer": "linear",
        "rnn_hidden_dim": 4,
        "critic_hidden_dim": 5,
        "hypernet_embed": 3,
        "learner_log_interval": 1,
        "gamma": GAMMA,
        "td_lambda": LAMBDA,
        "tb_lambda": TREE,
        "tree_backup_steps": 3,
        "critic_steps": "batch",
        "grad_norm_clip": 1e9,
        "batch_size": 2,
        "off_batch_size": 3,
        "normalise_k": False,
        "target_update_interval": 1000,
    }
    args = make_args(**settings | changes)
    learner = DOPLearner(BasicMAC(batch.scheme, batch.groups, args), batch.scheme, RecordingLogger(), args)
    networks = [learner.mac.agent, learner.critic, learner.target_critic, learner.mixer, learner.target_mixer]
    for seed, part in enumerate(networks):
        fill(part.parameters(), seed=seed)
    return learner


def episodes(ends):
    return random_batch([length for _, length in ends], 6, [end for end, _ in ends])


def agent_values(critic, state, obs):
    """Of one step, `[n, A]`."""
    w, rows = critic.state_dict(), []
    for agent, seen in enumerate(obs):
        x = th.cat([state, seen, th.eye(len(obs))[agent]])
        for layer in ("fc1", "fc2"):
            x = (w[f"{layer}.weight"] @ x + w[f"{layer}.bias"]).clamp(min=0)
        rows.append(w["fc3.weight"] @ x + w["fc3.bias"] + w["fc_v.weight"] @ x + w["fc_v.bias"])
    return th.stack(rows)


def weights_and_bias(mixer, state):
    """k `[n]` and b of one state."""
    w = mixer.state_dict()
    hidden = lambda name: (w[f"{name}.0.weight"] @ state + w[f"{name}.0.bias"]).clamp(min=0)  # noqa: E731
    k, b = (w[f"{name}.2.weight"] @ hidden(name) + w[f"{name}.2.bias"] for name in ("hyper_k", "hyper_b"))
    return k.abs(), float(b)


def probabilities(learner, batch):
    """Of all steps, step after step as PyMARL's learners do, `[B, T, n, A]`."""
    with th.no_grad():
        learner.mac.init_hidden(batch.batch_size)
        outputs = th.stack([learner.mac.forward(batch, t) for t in range(batch.max_seq_length)], dim=1)
    legal = outputs * batch["avail_actions"]
    return legal / legal.sum(-1, keepdim=True)


class ByHand:
    """One episode of a batch, as networks `critic` and `mixer` and the present policies see it."""

    def __init__(self, learner, batch, row, critic, mixer):
        ended = (batch["terminated"] | batch["truncated"])[row, :, 0]
        self.length = int(ended.nonzero()[0]) + 1
        self.terminal = bool(batch["terminated"][row, self.length - 1])
        self.rewards = batch["reward"][row, :, 0].tolist()
        self.pi = probabilities(learner, batch)[row]
        self.actions = batch["actions"][row, :, :, 0]
        steps = range(self.length + 1)
        self.values = [agent_values(critic, batch["state"][row, t], batch["obs"][row, t]) for t in steps]
        self.mixed = [weights_and_bias(mixer, batch["state"][row, t]) for t in steps]

    def joint(self, t, actions):
        k, b = self.mixed[t]
        return b + sum(float(k[i] * self.values[t][i, a]) for i, a in enumerate(actions))

    def taken(self, t):
        return self.joint(t, self.actions[t])

    def likely(self, t, actions):
        return float(np.prod([self.pi[t][i, a] for i, a in enumerate(actions)]))

    def expected(self, t):
        """Over all joint actions, one after another."""
        if t == self.length and self.terminal:
            return 0.0
        n, choices = self.values[t].shape
        return sum(self.likely(t, u) * self.joint(t, u) for u in product(range(choices), repeat=n))

    def tree_backup(self, t, steps, coefficient):
        """Q + delta + gamma lambda pi(u') (target of the next step - Q'), for so many steps."""
        delta = self.rewards[t] + GAMMA * self.expected(t + 1) - self.taken(t)
        if steps == 1 or t + 1 == self.length:
            return self.taken(t) + delta
        later = self.tree_backup(t + 1, steps - 1, coefficient) - self.taken(t + 1)
        return self.taken(t) + delta + GAMMA * coefficient * self.likely(t + 1, self.actions[t + 1]) * later

    def returns(self, t):
        """TD(lambda)."""
        last = t + 1 == self.length
        value = 0.0 if last and self.terminal else self.taken(t + 1)
        later = value if last else self.returns(t + 1)
        return self.rewards[t] + GAMMA * ((1 - LAMBDA) * value + LAMBDA * later)


def by_hand(learner, batch, target=False):
    critic, mixer = (learner.target_critic, learner.target_mixer) if target else (learner.critic, learner.mixer)
    return [ByHand(learner, batch, row, critic, mixer) for row in range(batch.batch_size)]


@pytest.mark.parametrize("recent", [True, False])
def test_old_episodes_learn_by_tree_backup_and_the_others_td_lambda(recent):
    parts = [*(RECENT if recent else []), *OLD, *NEW]
    batch = episodes(parts)
    learner = learner_of(batch)
    first = len(RECENT) if recent else 0
    errors, targets = [], []
    for row, (now, later) in enumerate(zip(by_hand(learner, batch), by_hand(learner, batch, target=True), strict=True)):
        if recent and row >= first + len(OLD):
            continue
        old = first <= row < first + len(OLD)
        for t in range(now.length):
            targets.append(later.tree_backup(t, 3, TREE) if old else later.returns(t))
            errors.append(now.taken(t) - targets[-1])
    learner.train(batch, 1, 0)
    logged = learner.logger.last()
    assert logged["critic_loss"] == pytest.approx(np.mean(np.square(errors)), rel=1e-4)
    assert logged["target_mean"] == pytest.approx(np.mean(targets), rel=1e-4)


@pytest.mark.parametrize("normalise", [False, True])
def test_policies_learn_from_the_newest_by_their_own_values_and_weights(normalise):
    batch = episodes([*RECENT, *OLD, *NEW])
    # policies stay as they are, and the critic is that after its step
    learner, losses = learner_of(batch, normalise_k=normalise, lr=0.0), []
    learner.train(batch, 1, 0)
    for episode in by_hand(learner, batch[len(RECENT) + len(OLD) :]):
        for t in range(episode.length):
            k, _ = episode.mixed[t]
            for i, action in enumerate(episode.actions[t]):
                values, pi = episode.values[t][i], episode.pi[t][i]
                advantage = float(values[action] - (pi * values).sum())
                losses.append(-float(k[i] / k.sum() if normalise else k[i]) * advantage * float(pi[action].log()))
    assert learner.logger.last()["coma_loss"] == pytest.approx(np.mean(losses), rel=1e-4)


def test_the_critic_takes_a_step_for_each_time_step_and_targets_count_them():
    batch = episodes(OLD)
    learner = learner_of(batch, critic_steps="columns", off_batch_size=0, batch_size=3, target_update_interval=6)
    follows = lambda: all(  # noqa: E731
        th.equal(mine, target)
        for mine, target in zip(learner.mixer.parameters(), learner.target_mixer.parameters(), strict=True)
    )
    learner.train(batch, 1, 0)
    assert learner.critic_training_steps == 5 and not follows()
    learner.train(batch, 2, 0)
    assert learner.critic_training_steps == 10 and follows()
