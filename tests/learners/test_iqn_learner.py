"""IQN, QR-DQN and C51: targets, losses and updates against loops."""

import copy
from itertools import combinations

import numpy as np
import pytest
import torch as th

from components.sampling.fields import with_more
from learners.soft_reset import SoftReset
from modules.agents.iqn_agent import mirrored_fractions
from modules.noisy import noisy_layers
from small_learners import ENDS
from small_learners import iqn_learner as make_learner
from small_learners import iqn_sample as sample
from utils.errors import ConfigError


def outputs_of(mac, batch, t):
    """Quantiles at step t `[Q, B, n, A]` of fractions that NumPy's generator gives, and these `[Q, B, n]`."""
    taus = mirrored_fractions(th.from_numpy(np.random.random((2, 8)).astype(np.float32)))
    found = mac.agent.quantiles_of(mac.agent.encode(mac.inputs.parts_at(batch, t)), taus).detach().view(4, 4, 2, 3)
    return found.numpy(), taus.view(4, 4, 2).numpy()


@pytest.mark.parametrize("double_q", [False, True])
def test_targets_and_losses_are_loops(double_q):
    learner, mac = make_learner(double_q=double_q, kappa=0.3)
    batch = sample(discount=th.tensor([0.9, 0.81, 0.9, 0.9]))
    np.random.seed(3)
    values, taus = outputs_of(mac, batch, 0)
    following, _ = outputs_of(learner.target_mac, batch, 1)
    judged = outputs_of(mac, batch, 1)[0].mean(axis=0) if double_q else None
    np.random.seed(3)
    now = learner.distributions(batch)
    losses = learner._losses(now).detach()
    for b, i in np.ndindex(4, 2):
        legal = np.flatnonzero(batch["avail_actions"][b, 1, i])
        discount = float(batch["discount"][b]) if ENDS[b] == "truncated" else 0.0
        best = max(legal, key=lambda a: judged[b, i, a]) if double_q else None
        target = [
            float(batch["reward"][b, 0])
            + discount * (following[j, b, i, best] if double_q else following[j, b, i, legal].max())
            for j in range(4)
        ]
        np.testing.assert_allclose(now.targets[:, b, i], target, rtol=1e-5)
        own = values[:, b, i, int(batch["actions"][b, 0, i])]
        expected = 0.0
        for j in range(4):
            for q in range(4):
                delta = target[j] - own[q]
                huber = 0.5 * delta**2 if abs(delta) <= 0.3 else 0.3 * (abs(delta) - 0.15)
                expected += abs(taus[q, b, i] - (delta < 0)) * huber / 0.3 / 4
        assert float(losses[b, i]) == pytest.approx(expected, rel=1e-4)


def test_quantiles_of_fixed_fractions():
    learner, mac = make_learner(distribution="quantiles", quantiles=6, double_q=False, kappa=1.0)
    now = learner.distributions(batch := sample())
    assert now.taus[:, 1, 0].tolist() == pytest.approx([(k + 0.5) / 6 for k in range(6)])
    following = learner.target_mac.agent
    outputs = following.quantiles_of(following.encode(mac.inputs.parts_at(batch, 1)), None).view(6, 4, 2, 3)
    best = outputs.masked_fill(batch["avail_actions"][:, 1] == 0, -1e9).amax(dim=-1)
    expected = batch["reward"][:, 0] + 0.9 * (1 - batch["terminated"][:, 0]) * best
    np.testing.assert_allclose(now.targets, expected.detach(), rtol=1e-5)


@pytest.mark.parametrize("double_q", [False, True])
def test_probabilities_of_atoms(double_q):
    learner, mac = make_learner(
        distribution="categorical", quantiles=5, value_min=-2.0, value_max=2.0, double_q=double_q
    )
    now = learner.distributions(batch := sample())
    atoms, agent = np.linspace(-2, 2, 5), learner.target_mac.agent
    probs = agent.quantiles_of(agent.encode(mac.inputs.parts_at(batch, 1)), None).softmax(dim=0)
    probs = probs.view(5, 4, 2, 3).detach().numpy()
    own = mac.agent.quantiles_of(mac.agent.encode(mac.inputs.parts_at(batch, 1)), None).softmax(dim=0)
    judged = own.view(5, 4, 2, 3).detach().numpy() if double_q else probs
    losses = learner._losses(now).detach()
    for b, i in np.ndindex(4, 2):
        legal = np.flatnonzero(batch["avail_actions"][b, 1, i])
        best = max(legal, key=lambda a: atoms @ judged[:, b, i, a])
        expected = np.zeros(5)
        for k in range(5):
            target = float(batch["reward"][b, 0]) + 0.9 * (ENDS[b] == "truncated") * atoms[k]
            place = np.clip((target + 2) / 1.0, 0, 4)
            low = int(np.floor(place))
            expected[low] += probs[k, b, i, best] * (low + 1 - place)
            if low < 4:
                expected[low + 1] += probs[k, b, i, best] * (place - low)
        np.testing.assert_allclose(now.targets[:, b, i], expected, atol=1e-5)
        logits = now.values[:, b, i].detach().double()
        entropy = -(expected * logits.log_softmax(dim=0).numpy()).sum()
        assert float(losses[b, i]) == pytest.approx(entropy, rel=1e-4)
        assert float(now.means[b, i]) == pytest.approx(
            float((logits.exp() / logits.exp().sum()).numpy() @ atoms), rel=1e-3
        )


def test_weights_shrink_with_the_learning_rate():
    learner, mac = make_learner(weight_decay=0.02, lr=0.5)
    before = [weight.detach().clone() for weight in mac.parameters()]
    learner._shrink_weights()
    for old, new in zip(before, mac.parameters(), strict=True):
        np.testing.assert_allclose(new.detach(), old * (1 - 0.5 * 0.02), rtol=1e-6)


def test_targets_follow_softly_every_so_many_updates():
    learner, mac = make_learner(target_update_every=3, target_update_interval_or_tau=0.25, lr=1e-9)
    before = [weight.detach().clone() for weight in learner.target_mac.parameters()]
    for number in range(1, 4):
        learner.train(sample(), 0, 0)
        share = 0.25 if number == 3 else 0.0
        for old, new, own in zip(before, learner.target_mac.parameters(), mac.parameters(), strict=True):
            np.testing.assert_allclose(new.detach(), old + share * (own.detach() - old), atol=1e-6)


@pytest.mark.parametrize("start", [0.0, 0.01])
def test_scaled_losses_are_those_that_descend(monkeypatch, start):
    learner, _ = make_learner(self_loss_scaling=True, self_loss_start=start)
    batch, seen = sample(), []
    np.random.seed(2)
    now = learner.distributions(batch)
    scale = type(learner.self_loss_scale)(start)(now.targets, now.target_taus, learner.args.kappa)
    monkeypatch.setattr(learner, "_step", lambda optimiser, loss: seen.append(float(loss)) or 0.0)
    np.random.seed(2)
    learner.train(batch, 0, 0)
    assert seen == [pytest.approx(float((learner._losses(now) * scale).sum()), rel=1e-5)]
    assert scale.std() > 0


@pytest.mark.parametrize("present", [[(1, 1)] * 4, [(1, 1), (0, 1), (1, 0), (0, 0)]])
def test_priorities_are_distances_of_means(present):
    """Of the agents that are there; nothing, where nobody is."""
    learner, _ = make_learner()
    there = th.tensor(present).view(4, 1, 2, 1).expand(-1, 2, -1, -1)
    batch = with_more(sample(weights=th.ones(4), ids=th.arange(4)), {"present": there}, {})
    np.random.seed(1)
    now = learner.distributions(batch)
    np.random.seed(1)
    learner.train(batch, 0, 0)
    distances = (now.means - now.target_means).abs().detach().numpy()
    expected = [
        sum(d for d, is_there in zip(*row, strict=True) if is_there) / max(sum(row[1]), 1)
        for row in zip(distances, present, strict=True)
    ]
    np.testing.assert_allclose(learner.new_priorities, expected, rtol=1e-5)


def test_the_held_out_loss_changes_nothing():
    learner, mac = make_learner(self_loss_scaling=True)
    before = [weight.detach().clone() for weight in mac.parameters()]
    np.random.seed(1)
    loss = learner.test_loss(sample())
    np.random.seed(1)
    assert loss == pytest.approx(float(learner._losses(learner.distributions(sample())).mean()), rel=1e-5)
    assert all(th.equal(a, b) for a, b in zip(before, mac.parameters(), strict=True))
    assert learner.self_loss_scale.mean == 0.0


def test_soft_resets_mix_a_new_network_in():
    learner, mac = make_learner(reset_interval=8, reset_share=0.25, reset_last_share=0.75, reset_uses=100, lr=1e-9)
    before = {key: value.clone() for key, value in mac.agent.state_dict().items()}
    learner.train(sample(), 0, 0)
    assert learner.take_extra_uses() == 0
    learner.train(sample(), 0, 0)
    assert learner.take_extra_uses() == 100
    assert learner.take_extra_uses() == 0
    for key, value in mac.agent.state_dict().items():
        if key.endswith("bias"):
            continue
        share = 0.75 if key.startswith(("advantage2", "value2")) else 0.25
        fresh = (value - (1 - share) * before[key]) / share
        small = fresh @ fresh.T if fresh.size(0) <= fresh.size(1) else fresh.T @ fresh
        gain = small[0, 0]
        np.testing.assert_allclose(small, gain * th.eye(len(small)), atol=1e-3)
        assert not th.allclose(value, before[key])


def test_a_share_of_the_last_layers_makes_up_for_linesights_second_mix():
    """It mixes the whole network by 0.01, then the last layers, of the same new network, by 0.8."""
    _, mac = make_learner()
    agent, other = mac.agent, copy.deepcopy(mac.agent)
    np.random.seed(1)
    SoftReset.mix(agent, 0.01, 0.802)
    np.random.seed(1)
    fresh = copy.deepcopy(other)
    fresh.initialise(th.Generator().manual_seed(int(np.random.randint(2**31))))
    for weight, new in zip(other.parameters(), fresh.parameters(), strict=True):
        weight.data.mul_(0.99).add_(0.01 * new.data)
    for weight, new in zip(other.last_weights(), fresh.last_weights(), strict=True):
        weight.data.mul_(0.2).add_(0.8 * new.data)
    for ours, theirs in zip(agent.parameters(), other.parameters(), strict=True):
        np.testing.assert_allclose(ours.detach(), theirs.detach(), atol=1e-6)


def test_a_flag_resets_once():
    learner, _ = make_learner(reset_uses=7)
    learner.train(sample(), 0, 0)
    learner.args.reset_now = 1
    learner.train(sample(), 0, 0)
    learner.train(sample(), 0, 0)
    assert learner.take_extra_uses() == 7


def test_other_agents_and_odd_numbers_are_refused():
    with pytest.raises(ConfigError, match="learner=iqn_learner needs agent=iqn"):
        make_learner(agent="ff")
    with pytest.raises(ConfigError, match=r"value_min=10.* must be below value_max=-10"):
        make_learner(distribution="categorical", value_min=10.0, value_max=-10.0)
    with pytest.raises(ConfigError, match="self_loss_scaling=True goes by the width of quantiles"):
        make_learner(distribution="categorical", self_loss_scaling=True)
    with pytest.raises(ConfigError, match="quantiles=5: an even number"):
        make_learner(quantiles=5)


def test_noisy_heads_explore_and_learn_how_much():
    learner, mac = make_learner(distribution="categorical", quantiles=5, noisy_std=0.5)
    batch = sample()
    tests = [mac._acting_outputs(batch, 0, test_mode=True) for _ in range(2)]
    plays = [mac._acting_outputs(batch, 0, test_mode=False) for _ in range(2)]
    assert th.equal(*tests) and not th.isclose(*plays).any() and not th.isclose(tests[0], plays[0]).any()
    assert all(layer.training for layer in noisy_layers(mac.agent))
    # both networks have noise of their own, NumPy's, in each update
    seen, state = [noise_of(mac, learner.target_mac)], th.get_rng_state()
    learner.distributions = lambda batch, plain=learner.distributions: (
        seen.append(noise_of(mac, learner.target_mac)) or plain(batch)
    )
    sigmas = [layer.weight_sigma.clone() for layer in noisy_layers(mac.agent)]
    mac._acting_outputs(batch, 0, test_mode=True)
    learner.train(batch, 0, 0)
    learner.train(batch, 0, 0)
    assert th.equal(state, th.get_rng_state())
    noises = [*seen[0][:1], *seen[1], *seen[2]]
    assert not any(th.isclose(x, y).any() for x, y in combinations(noises, 2))
    assert all((x != layer.weight_sigma).any() for x, layer in zip(sigmas, noisy_layers(mac.agent), strict=True))


def noise_of(*macs):
    """All numbers of the noise of each."""
    return [th.cat([layer.noise_in for layer in noisy_layers(mac.agent)]).clone() for mac in macs]
