"""Weighted QMIX: its losses and weights by brute force."""

import numpy as np
import pytest
import torch as th

from controllers.basic_controller import BasicMAC
from controllers.unroll import unroll_mac
from fakes import RecordingLogger
from helpers import fill, make_args, random_batch
from learners.wqmix_learner import WQMIXLearner

GAMMA = 0.9


def make_learner(batch, **changes):
    settings = {"mixer": "qmix", "rnn_hidden_dim": 3, "mixing_embed_dim": 4, "central_mixing_embed_dim": 5, "w": 0.25}
    args = make_args(**{**settings, "gamma": GAMMA, "learner_log_interval": 1, "grad_norm_clip": 0.1, **changes})
    learner = WQMIXLearner(BasicMAC(batch.scheme, batch.groups, args), batch.scheme, RecordingLogger(), args)
    for seed, part in enumerate([learner.mac.agent, *learner.networks.values(), *learner.target_networks.values()]):
        fill(part.parameters(), seed=seed)
    return learner


def _by_loops(learner, batch, hysteretic):
    """The unweighted squared errors of both values, and the weights, of each real step."""
    found = []
    with th.no_grad():
        own, central, target = (
            unroll_mac(mac, batch)[0] for mac in (learner.mac, learner.central_mac, learner.target_central_mac)
        )
        for row, t in np.argwhere(batch["filled"][:, :-1, 0].numpy()):
            if t > 0 and (batch["terminated"] | batch["truncated"])[row, t - 1]:
                continue

            def team(mixer, values, actions, at, row=row):
                chosen = th.tensor([[[values[row, at, agent, int(u)] for agent, u in enumerate(actions)]]])
                return float(mixer(chosen, batch["state"][row : row + 1, at : at + 1]))

            def greedy(at, row=row):
                legal = batch["avail_actions"][row, at].bool()
                return own[row, at].masked_fill(~legal, -np.inf).argmax(dim=-1)

            taken = batch["actions"][row, t, :, 0]
            goes_on = 1 - int(batch["terminated"][row, t])
            following = team(learner.target_central_mixer, target, greedy(t + 1), t + 1)
            y = float(batch["reward"][row, t]) + GAMMA * goes_on * following
            error = team(learner.mixer, own, taken, t) - y
            greedy_now = team(learner.target_central_mixer, target, greedy(t), t)
            matters = error < 0 if hysteretic else bool((taken == greedy(t)).all()) or y > greedy_now
            central_error = team(learner.central_mixer, central, taken, t) - y
            found.append((error**2, central_error**2, 1 if matters else 0.25))
    return np.array(found)


@pytest.mark.parametrize("hysteretic", [True, False])
@pytest.mark.parametrize("half", [False, True])
def test_losses_are_the_papers(hysteretic, half):
    batch = random_batch([3, 5, 4], 6, ["terminated", "truncated", "truncated"])
    learner = make_learner(batch, hysteretic_qmix=hysteretic, halve_central_loss=half, td_lambda=0, central_loss=2)
    squared, central, weights = _by_loops(learner, batch, hysteretic).T
    assert 0 < (weights == 1).mean() < 1
    learner.train(batch, 1, 0)
    logged = learner.logger.last()
    assert logged["qmix_loss"] == pytest.approx((weights * squared).mean(), rel=1e-4)
    assert logged["central_loss"] == pytest.approx(central.mean() * (0.5 if half else 1), rel=1e-4)
    assert logged["loss"] == pytest.approx(logged["qmix_loss"] + 2 * logged["central_loss"], rel=1e-5)
    assert logged["w_to_use"] == pytest.approx(weights.mean(), rel=1e-5)


def test_norms_are_those_before_clipping():
    batch = random_batch([3], 4)
    small, large = (make_learner(batch, grad_norm_clip=clip) for clip in (0.01, 1e9))
    for learner in (small, large):
        learner.train(batch, 1, 0)
    for key in ("agent_norm", "mixer_norm", "grad_norm"):
        assert small.logger.last()[key] == pytest.approx(large.logger.last()[key], rel=1e-4)
    assert large.logger.last()["agent_norm"] == pytest.approx(
        float(th.stack([p.grad.norm() for p in large.mac.parameters()]).norm())
    )


def test_mean_weights_may_count_padding():
    """As PyMARL2's do, whose value of padding is compared with a target of 0; the step is the same."""
    batch = random_batch([1, 5], 6)
    real, padded = (make_learner(batch, weights_of_padding=padding) for padding in (False, True))
    for learner in (real, padded):
        learner.train(batch, 1, 0)
    first, second = real.logger.last(), padded.logger.last()
    assert first["w_to_use"] != second["w_to_use"]
    # a multiple of 0.25 by parts of ten steps
    assert second["w_to_use"] * 10 / 0.25 == pytest.approx(round(second["w_to_use"] * 10 / 0.25), abs=1e-4)
    assert first["loss"] == pytest.approx(second["loss"], rel=1e-5)


def test_all_networks_are_saved_loaded_and_copied_into_targets(tmp_path):
    batch = random_batch([3], 4)
    learner, other = make_learner(batch), make_learner(batch)
    learner.train(batch, 1, 0)
    learner.save_models(str(tmp_path))
    other.load_models(str(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {
        "agent.th", "mixer.th", "central_agent.th", "central_mixer.th", "opt.th",
    }  # fmt: skip
    for name, network in learner.networks.items():
        for loaded in (other.networks[name], other.target_networks[name]):
            for mine, yours in zip(network.parameters(), loaded.parameters(), strict=True):
                assert th.equal(mine, yours)
    assert th.equal(other.target_central_mac.agent.fc1.weight, learner.central_mac.agent.fc1.weight)
