"""CommFormer: whom agents hear, how edges have gradients, and which updates move them."""

import pytest
import torch as th

from helpers import make_args
from learners.ppo_learner import PPOLearner
from modules.agents.commformer_agent import CommFormerAgent
from modules.agents.mat_agent import MATAgent
from small_training import assembled, small_config

N, SEEN, CHOICES = 4, 5, 3


def make(kind=CommFormerAgent, n_agents=N, **changes):
    settings = {"agent": "commformer", "n_agents": n_agents, "n_actions": CHOICES + 1, "n_head": 2, "n_block": 1}
    th.manual_seed(0)
    return kind({"obs": (SEEN,)}, make_args(**{**settings, "sparsity": 0.5, **changes}), CHOICES)


def test_each_agent_hears_itself_and_so_many_others_of_the_largest_weights():
    agent = make(sparsity=0.6)
    with th.no_grad():
        agent.edges.copy_(th.tensor([[9.0, 1, 2, 3], [1, 9, 2, 0], [0, 1, 9, 2], [3, 2, 1, 9]]))
    links = agent.links()
    assert links.tolist() == [[1, 0, 1, 1], [1, 1, 1, 0], [0, 1, 1, 1], [1, 1, 0, 1]]
    (links * th.arange(16.0).view(4, 4)).sum().backward()
    # of a softmax of the others' weights
    shares = agent.edges.detach()[0, 1:].softmax(0)
    mean = (shares * th.tensor([1.0, 2, 3])).sum()
    th.testing.assert_close(agent.edges.grad[0, 1:], shares * (th.tensor([1.0, 2, 3]) - mean))
    assert agent.edges.grad.diagonal().tolist() == [0] * 4
    assert make(n_agents=1).links().tolist() == [[1]]
    assert make(sparsity=0.1).links().sum(1).tolist() == [2] * 4 and make(sparsity=1.0).links().min() == 1


def test_drawn_edges_follow_their_weights():
    agent = make(sparsity=0.25)
    with th.no_grad():
        agent.edges.copy_(th.tensor([0.0, 1, 2, 0]).log().clamp(min=-9).expand(4, 4))
    best = agent.links()
    assert th.equal(best, agent.links())
    agent.draws_edges = True
    drawn = th.stack([agent.links().detach() for _ in range(1500)])
    assert (drawn.sum(2) == 2).all()
    assert drawn[:, 0, 2].mean() == pytest.approx(2 / 3, abs=0.05)
    assert drawn[:, 0, 1].mean() == pytest.approx(1 / 3, abs=0.05)


def test_of_two_agents_each_hears_the_other():
    agent = make(n_agents=2)
    assert agent.links().min() == 1 and not agent.chooses and make(n_agents=3).chooses


def test_a_complete_graph_is_mat():
    agent, mat = make(sparsity=1.0), make(MATAgent)
    mat.load_state_dict({key: x for key, x in agent.state_dict().items() if key != "edges"})
    seen, before = th.randn(6, N, SEEN), th.rand(6, N, 1 + CHOICES)
    th.testing.assert_close(agent(seen, before), mat(seen, before), rtol=1e-4, atol=1e-5)


def test_agents_know_of_those_they_hear_and_no_others():
    agent = make(sparsity=0.25)
    with th.no_grad():
        for weight in agent.parameters():
            weight.add_(0.3 * th.randn_like(weight))
        agent.edges.zero_()
        agent.edges[th.arange(4), th.tensor([1, 2, 3, 0])] = 1.0  # 0 hears 1, 1 hears 2, 2 hears 3, 3 hears 0
        seen = th.randn(6, N, SEEN)
        for changed in range(N):
            other = seen.clone()
            other[:, changed] += 1
            moved = (agent.encode(seen) - agent.encode(other)).abs().amax(dim=(0, 2)) > 1e-6
            assert moved.tolist() == [i in (changed, (changed - 1) % 4) for i in range(4)]


def test_every_so_many_updates_one_moves_the_graph_alone(tmp_path, monkeypatch):
    changes = {
        "env_args": {"key": "Foraging-8x8-3p-3f-v3"},
        "batch_size_run": 2,
        "rollout_steps": 4,
        "epochs": 2,
        "minibatches": 2,
        "edge_interval": 3,
    }
    config = small_config(tmp_path, "commformer", "lbf", n_embd=8, edge_lr=0.02, lr_finish=0.0, **changes)
    moved, update = [], PPOLearner._update

    def watched(self, *args, **options):
        edges, others = self.mac.agent.edges, [w for w in self.mac.parameters() if w is not self.mac.agent.edges]
        before = [x.detach().clone() for x in (edges, *others)]
        drawn = self.mac.agent.draws_edges
        found = update(self, *args, **options)
        of_edges, *of_others = (not th.equal(x, now) for x, now in zip(before, (edges, *others), strict=True))
        moved.append((of_edges, any(of_others), drawn))
        return found

    monkeypatch.setattr(PPOLearner, "_update", watched)
    with assembled(config) as parts:
        (team,) = parts.learning
        batch = parts.runner.run()
        team.learner.train(batch, 0, 0)
        assert not team.learner.mac.agent.draws_edges
        assert "edge_grad_norm" in team.learner.logger.last()
        team.learner.anneal(config["t_max"] // 2)
        rates = {name: one.param_groups[0]["lr"] for name, one in team.learner.optimisers.items()}
        assert rates == pytest.approx({"agent_opt": config["lr"] / 2, "edge_opt": 0.01})
    assert moved == [(False, True, False), (False, True, False), (True, False, True), (False, True, False)]
