"""ROMA: roles as Gaussians, both regularisers by loops, and the loss with roles that are drawn."""

import pytest
import torch as th
from torch.distributions import Normal, kl_divergence

from controllers.basic_controller import BasicMAC
from controllers.unroll import unroll_mac
from fakes import RecordingLogger
from helpers import fill, make_args, random_batch
from learners.q_learner import QLearner
from learners.roma_learner import ROMALearner
from modules.roles import LEAST, Gaussian, RoleRegularisers

SETTINGS = {"agent": "roma", "learner": "roma_learner", "rnn_hidden_dim": 6, "latent_dim": 2, "role_hidden_dim": 5}
SETTINGS |= {"mixer": "vdn", "learner_log_interval": 1, "var_floor": 0.05, "kl_loss_weight": 0.3}
SETTINGS |= {"dis_loss_weight": [[0, 0.0], [100, 0.8]]}


def test_gaussians_are_torchs():
    one, other = (Gaussian.of(th.randn(4, 6), 0.1) for _ in range(2))
    ones, others = (Normal(x.mean, x.variance.sqrt()) for x in (one, other))
    x = th.randn(4, 3)
    th.testing.assert_close(one.log_prob(x), ones.log_prob(x))
    th.testing.assert_close(one.kl_to(other), kl_divergence(ones, others).sum(-1))
    assert one.variance.min() >= 0.1
    drawn = Gaussian(th.full((20000, 1), 3.0), th.full((20000, 1), 4.0)).drawn()
    assert drawn.mean() == pytest.approx(3, abs=0.1) and drawn.std() == pytest.approx(2, abs=0.1)


def test_regularisers_by_loops():
    n, floor = 3, 0.05
    network = RoleRegularisers(make_args(**SETTINGS))
    memory, role = th.randn(2, n, 6), Gaussian.of(th.randn(2, n, 4), floor)
    drawn = role.drawn()
    identified, unlike = network(role, drawn, memory)
    by_memory = Gaussian.of(network.inference(memory), floor)
    th.testing.assert_close(identified, role.kl_to(by_memory).mean(-1))
    for b in range(2):
        gained, squares = 0.0, 0.0
        for i in range(n):
            for j in range(n):
                if i == j:
                    continue
                density = Normal(by_memory.mean[b, j], by_memory.variance[b, j].sqrt()).log_prob(drawn[b, i]).mean()
                largest = Normal(0.0, floor**0.5).log_prob(th.tensor(0.0))
                shared = (density.clamp(min=LEAST) - LEAST) / (largest - LEAST)
                both = network.one(memory[b, i]) + network.other(memory[b, j])
                d = network.unlike(th.nn.functional.leaky_relu(both)).abs()
                gained, squares = gained + (shared + d).clamp(max=1).item(), squares + d.item() ** 2
        assert unlike[b].item() == pytest.approx((squares**0.5 - gained) / n, rel=1e-4)


@pytest.mark.parametrize("share_params", [True, False])
def test_the_loss_is_of_drawn_roles(share_params, monkeypatch):
    """Beside that of `QLearner`, whose values are those of roles' means."""
    batch = random_batch([4, 2], 5, ends=["terminated", "truncated"])
    args = make_args(**{**SETTINGS, "share_params": share_params})

    def learner_of(kind):
        learner = kind(BasicMAC(batch.scheme, batch.groups, args), batch.scheme, RecordingLogger(), args)
        for seed, part in enumerate([learner.mac.agent, learner.target_mac.agent]):
            fill(part.parameters(), seed=seed)
        return learner

    def trained(kind):
        learner = learner_of(kind)
        learner.train(batch, 50, 0)
        stats = learner.logger.last()
        return stats["loss"] - stats.get("role_kl_loss", 0) - stats.get("role_dis_loss", 0), stats

    learner = learner_of(ROMALearner)
    agent = learner.mac.agent
    with th.no_grad():
        outputs, memory = unroll_mac(learner.mac, batch)
        th.testing.assert_close(outputs, agent.values(memory["hidden"], agent.role_of(memory).mean))
    plain = trained(QLearner)[0]
    assert trained(ROMALearner)[0] != pytest.approx(plain, rel=1e-3)
    monkeypatch.setattr(Gaussian, "drawn", lambda self: self.mean)
    found, stats = trained(ROMALearner)
    assert found == pytest.approx(plain, rel=1e-4)
    assert stats["role_kl_loss"] > 0 and stats["role_dis_loss"] != 0


def test_the_weight_of_dissimilarity_may_start_later():
    batch = random_batch([4, 2], 5)
    args = make_args(**SETTINGS)
    learner = ROMALearner(BasicMAC(batch.scheme, batch.groups, args), batch.scheme, RecordingLogger(), args)
    learner.train(batch, 0, 0)
    assert learner.logger.last()["role_dis_loss"] == 0
    learner.train(batch, 100, 1)
    assert learner.logger.last()["role_dis_loss"] != 0
