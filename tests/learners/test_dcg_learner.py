"""DCG: messages and values against all joint actions, the loss by hand, and how agents act."""

from itertools import product

import pytest
import torch as th

from controllers.dcg_controller import DCGMAC
from controllers.unroll import unroll_mac
from fakes import RecordingLogger
from helpers import fill, make_args, random_batch
from learners.dcg_learner import DCGLearner
from modules.coordination import edges_of, joint_values, values_beside
from utils.errors import ConfigError
from utils.rl_utils import valid_transitions

N, A = 3, 3
SETTINGS = {"mac": "dcg_mac", "agent": "dcg", "learner": "dcg_learner", "agent_output_type": "q", "n_agents": N}
SETTINGS |= {"rnn_hidden_dim": 8, "learner_log_interval": 1, "gamma": 0.9, "action_selector": "epsilon_greedy"}


def make(batch, **changes):
    args = make_args(**{**SETTINGS, **changes})
    mac = DCGMAC(batch.scheme, batch.groups, args)
    fill(mac.parameters())
    for parameter in mac.agent.payoffs.parameters():
        parameter.data.mul_(4)
    return mac, DCGLearner(mac, batch.scheme, RecordingLogger(), args)


def episodes():
    return random_batch([4, 2, 5], 6, n_agents=N, ends=["terminated", "terminated", "truncated"])


def all_joint(graph):
    """Each joint action `[..., A^n, n, 1]`, and its value."""
    tried = th.tensor([*product(range(A), repeat=N)]).view(-1, N, 1).expand(*graph.utilities.shape[:-2], -1, -1, -1)
    return tried, joint_values(graph, tried)


def largest(graph, legal):
    tried, values = all_joint(graph)
    allowed = legal.unsqueeze(-3).expand(*tried.shape[:-1], -1).gather(-1, tried).squeeze(-1).amin(dim=-1) > 0
    return values.masked_fill(~allowed, -th.inf).amax(dim=-1, keepdim=True)


@pytest.mark.parametrize("double_q", [True, False])
@pytest.mark.parametrize(("td_lambda", "state_bias"), [(0.0, False), (0.5, True)])
def test_the_loss_is_that_of_joint_actions(double_q, td_lambda, state_bias):
    """On a tree, where messages find the best one."""
    batch = episodes()
    settings = {"double_q": double_q, "td_lambda": td_lambda, "state_bias": state_bias, "layer_norm": True}
    mac, learner = make(batch, cg_edges="line", **settings)
    fill(learner.target_mac.parameters(), seed=1)
    bias = target_bias = lambda states: 0.0
    if state_bias:
        bias, target_bias = learner.networks["state_bias"], learner.target_networks["state_bias"]
        fill(bias.parameters(), seed=2), fill(target_bias.parameters(), seed=3)
    with th.no_grad():
        graph, target = (one.agent.graph(*unroll_mac(one, batch)) for one in (mac, learner.target_mac))
        legal, ended = batch["avail_actions"], batch["terminated"].float()
        chosen = joint_values(graph, batch["actions"].unsqueeze(2))
        best = joint_values(target, mac.agent.greedy(graph, legal).unsqueeze(2)) if double_q else largest(target, legal)
        chosen, best = chosen + bias(batch["state"]), best + target_bias(batch["state"])
        total, count, mask = 0.0, 0, valid_transitions(batch)
        for b in range(3):
            steps = int(mask[b].sum())
            following = best[b, steps]
            for t in reversed(range(steps)):
                following = (1 - td_lambda) * best[b, t + 1] + td_lambda * following
                following = batch["reward"][b, t] + 0.9 * (1 - ended[b, t]) * following
                total, count = total + (chosen[b, t] - following) ** 2, count + 1
    learner.train(batch, 0, 0)
    assert learner.logger.last()["loss"] == pytest.approx(float(total / count), rel=1e-4)


@pytest.mark.parametrize("edges", ["line", "full"])
def test_values_beside_a_joint_action_are_those_of_changing_one_agents(edges):
    batch = episodes()
    mac, _ = make(batch, cg_edges=edges)
    with th.no_grad():
        graph, actions = mac.agent.graph(*unroll_mac(mac, batch)), batch["actions"]
        values = values_beside(graph, actions)
        for i, action in product(range(N), range(A)):
            changed = actions.clone()
            changed[:, :, i] = action
            expected = joint_values(graph, changed.unsqueeze(2))[..., 0]
            th.testing.assert_close(values[:, :, i, action], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("changes", [{"cg_edges": "line"}, {"msg_iterations": 1, "msg_anytime": False}])
def test_agents_do_what_messages_find(changes):
    """Also where an agent alone would have something better."""
    batch = random_batch([2] * 200, 3, n_agents=N)
    mac, _ = make(batch, **changes)
    mac.init_hidden(200)
    decision = mac.decide(batch, 0, 0, test_mode=True)
    with th.no_grad():
        outputs, hidden = unroll_mac(mac, batch)
        graph, legal = mac.agent.graph(outputs[:, 0], hidden[:, 0]), batch["avail_actions"][:, 0]
        best = mac.agent.greedy(graph, legal)
        assert th.equal(decision.actions["actions"], best.squeeze(-1)) and bool(decision.extra("greedy").all())
        if "cg_edges" in changes:
            th.testing.assert_close(joint_values(graph, best.unsqueeze(1)), largest(graph, legal))
        else:
            better = values_beside(graph, best).masked_fill(legal == 0, -th.inf).amax(dim=-1)
            assert bool((better > joint_values(graph, best.unsqueeze(1)) + 1e-3).any())


def test_one_agent_explores_while_the_others_keep_to_the_best():
    batch = random_batch([2] * 300, 3, n_agents=N)
    mac, _ = make(batch, epsilon=0.2)
    mac.init_hidden(300)
    tested = mac.decide(batch, 0, 0, test_mode=True).actions["actions"]
    mac.init_hidden(300)
    kept = (mac.decide(batch, 0, 0).actions["actions"] == tested).float().mean()
    assert 0.8 < kept < 0.95


def test_edges_by_kind_and_by_pairs():
    assert edges_of("cycle", 4) == [(0, 1), (1, 2), (2, 3), (3, 0)]
    assert edges_of("cycle", 2) == [(0, 1)] and edges_of("cycle", 1) == []
    assert edges_of("full", 3, [[2, 0]]) == [(2, 0)]
    for pairs in ([[0, 3]], [[1, 1]], [[0, 1, 2]], [0], [["0", 1]], [[True, 0]]):
        with pytest.raises(ConfigError, match=r"cg_pairs: .* is no pair of two of the 3 agents"):
            edges_of("full", 3, pairs)
    with pytest.raises(ConfigError, match=r"cg_pairs: the pair \[1, 0\] is there twice"):
        edges_of("full", 3, [[0, 1], [1, 0]])


@pytest.mark.parametrize("rank", [None, 2])
def test_a_payoff_is_the_mean_of_what_is_said_of_the_pair_in_either_order(rank):
    batch = episodes()
    mac, _ = make(batch, cg_pairs=[[2, 0]], cg_payoff_rank=rank)
    with th.no_grad():
        outputs, hidden = unroll_mac(mac, batch)
        graph = mac.agent.graph(outputs, hidden)

        def said(i, j, action, other):
            x = mac.agent.payoffs(th.cat([hidden[1, 1, i], hidden[1, 1, j]]))
            if rank is None:
                return x.view(A, A)[action, other]
            return sum(left[action] * right[other] for left, right in x.view(rank, 2, A))

        for action, other in product(range(A), repeat=2):
            expected = (said(2, 0, action, other) + said(0, 2, other, action)) / 2
            assert float(graph.payoffs[1, 1, 0, action, other]) == pytest.approx(float(expected), rel=1e-4, abs=1e-5)
