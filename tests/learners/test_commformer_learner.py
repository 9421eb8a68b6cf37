"""CommFormer: whom agents hear, how edges have gradients, and which updates move them."""

import pytest
import torch as th

from helpers import make_args
from learners.action_evaluation import ActionEvaluation
from learners.ppo_learner import PPOLearner
from modules.agents.commformer_agent import CommFormerAgent
from modules.agents.commformer_graph_agent import CommFormerGraphAgent, GraphAttention
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


def graph(**changes):
    agent = make(CommFormerGraphAgent, agent="commformer_graph", n_embd=8, **changes)
    with th.no_grad():
        for name, weight in agent.named_parameters():
            weight.add_(0.3 * th.randn_like(weight)) if name != "edges" else weight.add_(0.2 * th.randn_like(weight))
    return agent


def test_agents_of_the_authors_choose_among_all():
    agent = graph(sparsity=0.6)
    with th.no_grad():
        agent.edges.copy_(th.tensor([[9.0, 1, 2, 3], [1, 9, 2, 0], [4, 1, 0, 2], [3, 2, 1, 9]]))
    assert agent.links().round().tolist() == [[1, 0, 0, 1], [0, 1, 1, 0], [1, 0, 0, 1], [1, 0, 0, 1]]
    (agent.links() * th.arange(16.0).view(4, 4)).sum().backward()
    shares = agent.edges.detach()[2].softmax(0)
    mean = (shares * th.arange(8.0, 12)).sum()
    th.testing.assert_close(agent.edges.grad[2], shares * (th.arange(8.0, 12) - mean))
    agent.weighs = True
    assert agent.links() is agent.edges
    assert graph(edge_draws="always").draws_edges and not graph().draws_edges and graph(n_agents=2).chooses


@pytest.mark.parametrize("causal", [False, True])
def test_attention_on_a_graph_with_features(causal):
    """By loops over receivers and senders: features of the edge the other way, twice scaled, weighed by links."""
    th.manual_seed(1)
    layer, asking, seen = GraphAttention(8, 2), th.randn(5, 3, 8), th.randn(5, 3, 8)
    links = th.tensor([[0.0, 0.7, 0.2], [1, 0, 0], [0.5, 0, 1]])
    features = th.randn(3, 3, 8)
    for name, weight in layer.named_parameters():
        weight.data.normal_(generator=th.Generator().manual_seed(len(name)))
    weights, biases = layer.in_proj.weight.split(8), layer.in_proj.bias.split(8)
    found = layer(asking, seen, links, features, causal)
    shares = links + th.eye(3)
    for row in range(5):
        for i in range(3):
            heard = [j for j in range(3) if shares[i, j] and not (causal and j > i)]
            parts = []
            for head in (slice(0, 4), slice(4, 8)):
                products, values = [], []
                for j in heard:
                    of_query, of_key = layer.relation_in_proj(features[j, i]).split(8)
                    query = (weights[0] @ asking[row, i] + biases[0] + of_query)[head]
                    key = (weights[1] @ seen[row, j] + biases[1] + of_key)[head]
                    products.append(query @ key / 4)
                    values.append((weights[2] @ seen[row, j] + biases[2])[head] * shares[i, j])
                parts.append(th.stack(products).softmax(0) @ th.stack(values))
            expected = layer.out_proj(th.cat(parts))
            th.testing.assert_close(found[row, i], expected, rtol=1e-4, atol=1e-4)


def test_parts_of_the_encoder_are_left_out_in_learning_only():
    agent = graph(commformer_dropout=0.5)
    seen = th.randn(6, N, SEEN)
    th.testing.assert_close(agent.encode(seen), agent.encode(seen))
    agent.learning = True
    assert (agent.encode(seen) - agent.encode(seen)).abs().max() > 1e-3
    links, kinds = th.tensor([[0.4, 1.0], [2.9, -1.3]]), th.tensor([[0, 1], [1, 0]])
    assert th.equal(agent._features(links), agent.edge_features(kinds)), "rounded down, to 0 or 1"


def test_each_agent_has_a_head_of_its_own():
    agent = graph()
    seen, before = th.randn(6, N, SEEN), th.rand(6, N, 1 + CHOICES)
    outputs = agent(seen, before)
    assert outputs.shape == (6, N, CHOICES + 1)
    encoded, other = agent.encode(seen), seen.clone()
    other[:, 3, 0] += 1
    moved = (agent.decode(other, encoded, before) - agent.decode(seen, encoded, before)).abs().amax(dim=(0, 2)) > 1e-6
    assert moved.tolist() == [False, False, False, True], "the decoder sees what the agent sees"
    for weight in agent.heads.parameters():
        weight.data[2] += 1.0 + th.rand_like(weight.data[2])
    moved = (agent(seen, before) - outputs).abs().amax(dim=(0, 2)) > 1e-6
    assert moved.tolist() == [False, False, True, False]


def trained_graph(tmp_path, **changes):
    """Of two updates, the second one of the graph: how far weights moved in each, and what was logged."""
    sizes = {"batch_size_run": 2, "rollout_steps": 4, "epochs": 2, "minibatches": 1, "edge_interval": 2, "n_embd": 8}
    given = {"agent": "commformer_graph", "env_args": {"key": "Foraging-8x8-3p-3f-v3"}, "commformer_dropout": 0.0}
    config = small_config(tmp_path, "commformer", "lbf", **{**sizes, **given, **changes})
    moved, update = [], PPOLearner._update

    def watched(self, *args, **options):
        agent = self.mac.agent
        others = [w for w in self.mac.parameters() if w is not agent.edges]
        before = [x.detach().clone() for x in (agent.edges, *others)]
        state = agent.weighs, agent.learning, agent.draws_edges
        found = update(self, *args, **options)
        of_edges, *of_others = (not th.equal(x, now) for x, now in zip(before, (agent.edges, *others), strict=True))
        moved.append((of_edges, any(of_others), state, found))
        return found

    with pytest.MonkeyPatch.context() as patch, assembled(config) as parts:
        patch.setattr(PPOLearner, "_update", watched)
        learner = parts.learning[0].learner
        learner.train(parts.runner.run(), 5, 0)
        agent = learner.mac.agent
        assert not (agent.weighs or agent.learning) and agent.draws_edges == agent.draws_always
        return moved, learner


def test_the_graph_moves_with_the_policy(tmp_path):
    moved, learner = trained_graph(tmp_path, edges_with_policy=True, edge_eps=1e-3, grad_norm_clip=0.01)
    assert [each[:2] for each in moved] == [(True, True), (True, False)]
    assert moved[1][3]["agent_grad_norm"] == moved[1][3]["edge_grad_norm"] > 0
    # those of the first update are still there, and clipped again
    gradients = [w.grad for w in learner.mac.parameters() if w.grad is not None]
    assert float(th.cat([x.flatten() for x in gradients]).norm()) == pytest.approx(0.01, rel=1e-3)
    assert learner.mac.agent.edges.grad.norm() < 0.01
    assert learner.edge_optimiser.param_groups[0]["eps"] == 1e-3
    moved, learner = trained_graph(tmp_path)
    assert [each[:2] for each in moved] == [(False, True), (True, False)]
    assert learner.edge_optimiser.param_groups[0]["eps"] == learner.args.optim_eps


@pytest.mark.parametrize(("until", "weighs"), [(0, False), (4, False), (5, True)])
def test_until_then_attention_is_weighed_by_edges(tmp_path, until, weighs):
    moved, _ = trained_graph(tmp_path, edge_warmup=until, edge_draws="always")
    assert [each[2] for each in moved] == [(weighs, True, True)] * 2
    moved, _ = trained_graph(tmp_path)
    assert [each[2] for each in moved] == [(False, True, False), (False, True, True)]


def test_outputs_are_swapped(tmp_path):
    _, learner = trained_graph(tmp_path, swap_outputs=True)
    now = ActionEvaluation(th.tensor([1.0]), th.tensor([2.0]), th.tensor([3.0]))
    learner.evaluate_actions = lambda *_: now
    found = learner._evaluated({}, None)
    assert (found.log_prob, found.entropy, found.values) == (3.0, 2.0, 1.0)
    learner.args.swap_outputs = False
    assert learner._evaluated({}, None) is now


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
