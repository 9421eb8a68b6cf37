"""MAVEN: its values, discriminator and policy of latents by brute force, and latents that last an episode."""

import numpy as np
import pytest
import torch as th
import torch.nn.functional as F

from components.sampling.fields import with_more
from controllers.maven_controller import MAVENMAC
from controllers.unroll import unroll_mac
from fakes import RecordingLogger
from helpers import fill, make_args, random_batch
from learners.maven_learner import MAVENLearner
from small_training import train

Z, H, AGG = 3, 4, 5
ENDS = [("terminated", 3), ("truncated", 5), ("terminated", 1)]
SETTINGS = {
    "mac": "maven_mac",
    "agent": "rnn_maven",
    "learner": "maven_learner",
    "mixer": "maven",
    "noise_dim": Z,
    "rnn_hidden_dim": H,
    "mixing_embed_dim": 4,
    "rnn_agg_size": AGG,
    "discrim_size": 6,
    "discrim_layers": 2,
    "hypernet_layers": 1,
    "mi_loss": 0.5,
    "entropy_scaling": 0.1,
    "bandit_buffer": 4,
    "bandit_iters": 2,
    "bandit_batch": 8,
    "discriminate_padding": False,
    "returns_as_they_are": False,
    "learner_log_interval": 1,
    "target_update_interval": 1000,
}


def episodes(latents=(0, 2, 1), ends=ENDS, columns=6):
    """A batch with the field of latents."""
    plain = random_batch([length for _, length in ends], columns, [end for end, _ in ends])
    noise = F.one_hot(th.tensor(latents), Z).float()
    return with_more(plain, {"noise": noise.unsqueeze(1).expand(-1, columns, -1).clone()})


def learner_of(batch, **changes):
    args = make_args(**SETTINGS | changes)
    learner = MAVENLearner(MAVENMAC(batch.scheme, batch.groups, args), batch.scheme, RecordingLogger(), args)
    for seed, part in enumerate([learner.mac.agent, learner.mixer, learner.discriminator]):
        fill(part.parameters(), seed=seed)
    learner._update_targets()
    return learner


def values_by_hand(mac, batch, row, t):
    """Of all actions of agents, `[n, A]`, step by step from the start of the episode."""
    agent, n = mac.agent, mac.n_agents
    hidden = th.zeros(n, H)
    for step in range(t + 1):
        inputs = mac.inputs.at(batch, step).view(-1, n, agent.fc1.in_features)[row]
        hidden = agent.rnn(F.relu(agent.fc1(inputs)), hidden)
    found = []
    for i in range(n):
        made = agent.hyper_noise_fc1(th.cat([batch["noise"][row, 0], th.eye(n)[i]]))
        found.append(made.view(-1, H) @ hidden[i])
    return th.stack(found)


def test_values_are_by_the_latent_of_the_episode():
    batch = episodes()
    mac = learner_of(batch).mac
    found, _ = unroll_mac(mac, batch)
    for row, (_, length) in enumerate(ENDS):
        for t in range(length):
            th.testing.assert_close(found[row, t], values_by_hand(mac, batch, row, t))
    other, _ = unroll_mac(mac, episodes(latents=(1, 2, 1)))
    assert not th.allclose(other[0], found[0]) and th.allclose(other[1:], found[1:])


def logits_by_hand(learner, batch, row, steps):
    """The discriminator's, after so many steps of an episode."""
    values, _ = unroll_mac(learner.mac, batch)
    state = th.ones(AGG)
    for t in range(steps):
        legal = values[row, t].masked_fill(batch["avail_actions"][row, t] == 0, -9999999)
        state = learner.discriminator.rnn(th.cat([legal.softmax(-1).flatten(), batch["state"][row, t]]), state)
    return learner.discriminator.model(state)


@pytest.mark.parametrize("through_padding", [False, True])
def test_the_discriminator_reads_episodes_to_their_ends(through_padding):
    """Those of MAVEN's authors are read through padding to the end of the batch."""
    batch = episodes()
    learner = learner_of(batch, discriminate_padding=through_padding)
    steps = [5, 5, 5] if through_padding else [length for _, length in ENDS]
    logits = th.stack([logits_by_hand(learner, batch, row, count) for row, count in enumerate(steps)])
    expected = F.cross_entropy(logits, th.tensor([0, 2, 1]))
    learner.train(batch, 0, 0)
    assert learner.logger.last()["discrim_loss"] == pytest.approx(float(expected.detach()), rel=1e-5)


def test_its_loss_is_added_and_the_policy_of_latents_is_left_alone():
    found = {}
    for weight in (0.0, 0.5):
        learner = learner_of(episodes(), mi_loss=weight)
        policy = [w.clone() for w in learner.mac.agent.latent_policy.parameters()]
        before = [w.clone() for w in learner.discriminator.parameters()]
        learner.take_rollout(episodes(), 0)
        now = [w.clone() for w in learner.mac.agent.latent_policy.parameters()]
        assert not all(map(th.equal, policy, now)), "which returns are for"
        learner.train(episodes(), 0, 0)
        assert all(map(th.equal, now, learner.mac.agent.latent_policy.parameters()))
        moved = not all(map(th.equal, before, learner.discriminator.parameters()))
        assert moved == (weight > 0)
        found[weight] = learner.logger.last()
    added = 0.5 * found[0.5]["discrim_loss"]
    assert found[0.5]["loss"] - found[0.0]["loss"] == pytest.approx(added, rel=1e-4)


@pytest.mark.parametrize("as_they_are", [False, True])
def test_the_policy_of_latents_climbs_returns(as_they_are):
    learner = learner_of(episodes(), returns_as_they_are=as_they_are)
    states, latents, returns = th.randn(4, 6), th.tensor([0, 1, 2, 1]), th.tensor([1.0, -2.0, 0.5, 3.0])
    states = states[:, : learner.mac.agent.latent_policy[0].in_features]
    log_probs = learner.mac.agent.latent_policy(states).log_softmax(-1)
    of_chosen = log_probs[range(4), latents]
    if as_they_are:
        expected = -(of_chosen * returns).sum() + 0.1 * of_chosen.sum()
    else:
        entropy = -(log_probs.exp() * log_probs).sum(-1)
        expected = -(of_chosen * (returns - 0.625)).mean() - 0.1 * entropy.mean()
    policy = th.distributions.Categorical(logits=log_probs)
    th.testing.assert_close(learner._policy_loss(policy, latents, returns), expected)


def test_the_newest_episodes_are_kept_with_their_returns():
    batch = episodes()
    learner = learner_of(batch)
    for _ in range(2):  # six episodes in four places
        learner.take_rollout(batch, 0)
    returns = [float(batch["reward"][row, :length].sum()) for row, (_, length) in enumerate(ENDS)]
    expected = [returns[row] for row in (1, 2, 2, 0)]
    assert learner.episodes[:, -1].numpy() == pytest.approx(expected)
    assert th.equal(learner.episodes[:, -1 - Z : -1].argmax(1), th.tensor([2, 1, 1, 0]))


def test_the_latent_that_pays_is_drawn_more_often():
    """Episodes that pay by their latent alone."""
    batch = episodes(latents=[row % Z for row in range(12)], ends=[("terminated", 2)] * 12, columns=3)
    batch["reward"][:] = 0.0
    batch["reward"][:, 0] = (batch["noise"][:, 0, 1:2] > 0).float()
    learner = learner_of(batch, bandit_buffer=64, bandit_iters=10, lr=0.02)
    for _ in range(10):
        learner.take_rollout(batch, 0)
    learner.mac.init_hidden(12)
    assert learner.mac.decide(batch, 0, 0).extra("noise")[:, 1].mean() > 0.9
    assert learner.logger.last()["explorer_entropy"] < 0.5


def test_a_latent_lasts_as_long_as_the_memory_and_comes_with_the_decision():
    batch = episodes()
    mac = learner_of(batch).mac
    th.manual_seed(0)
    drawn = []
    for _ in range(20):
        mac.init_hidden(3)
        first = mac.decide(batch, 0, 0).extra("noise")
        assert th.equal(first.sum(1), th.ones(3))
        assert th.equal(mac.decide(batch, 1, 0, rows=[0, 2]).extra("noise"), first[[0, 2]])
        drawn.append(first.argmax(1).numpy())
    assert len({tuple(latents) for latents in drawn}) > 5
    # another one where the memory starts again
    hidden, latents = mac.hidden_states
    mac.hidden_states = hidden, latents.view(3, -1, Z).index_fill(0, th.tensor([1]), 0.0)
    again = mac.decide(batch, 2, 0).extra("noise")
    assert th.equal(again[[0, 2]], first[[0, 2]]) and again[1].sum() == 1


def test_a_run_shows_its_learner_every_rollout(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(MAVENLearner, "take_rollout", lambda self, batch, t_env: seen.append((t_env, batch.batch_size)))
    train(tmp_path, monkeypatch, "maven", "two_step", runner="episodes", batch_size_run=2)
    assert len(seen) > 2 and all(size == 2 for _, size in seen) and [t for t, _ in seen] == sorted({t for t, _ in seen})


def test_the_mixer_sees_the_latent():
    learner = learner_of(episodes())
    qs, states = th.randn(2, 3, learner.args.n_agents), th.randn(2, 3, learner.args.state_shape)
    one, other = (th.eye(Z)[i].expand(2, 3, Z) for i in (0, 1))
    found = [learner.mixer(qs, states, latents) for latents in (one, other)]
    assert not th.allclose(*found)
    assert np.all(found[0].shape == (2, 3, 1))
