"""PAC and PAC-DCG: critics against trying all joint actions, losses against plain sums, and EPyMARL's mistakes."""

from itertools import product

import pytest
import torch as th

from controllers.basic_controller import BasicMAC
from fakes import RecordingLogger
from helpers import fill, make_args, random_batch
from learners.pac_dcg_learner import PACDCGLearner
from learners.pac_learner import PACLearner
from modules.coordination import edges_of, greedy_actions, joint_values
from modules.critics import others_actions
from modules.critics.coordination_graph import CoordinationGraph
from modules.critics.others_actions import OthersActionsCritic
from utils.errors import ConfigError
from utils.rl_utils import n_step_returns, valid_transitions

SETTINGS = {
    "agent_output_type": "pi_logits",
    "action_selector": "soft_policies",
    "learner": "pac_learner",
    "critic": "pac",
    "rnn_hidden_dim": 8,
    "critic_hidden_dim": 8,
    "learner_log_interval": 1,
    "gamma": 0.9,
    "q_nstep": 2,
    "target_update_interval_or_tau": 0.25,
    "grad_norm_clip": 1e9,
    "t_max": 100,
    "initial_entropy_coef": 0.5,
    "final_entropy_coef": 0.1,
    "entropy_end_ratio": 0.5,
}


def episodes(n_agents=3):
    return random_batch([4, 2, 5], 6, n_agents=n_agents, ends=["terminated", "terminated", "truncated"])


def make_critic(kind, batch, name, **changes):
    critic = kind(batch.scheme, make_args(**{**SETTINGS, "critic": name, "n_agents": 3, **changes}))
    fill(critic.parameters(), seed=1)
    return critic


def make_learner(kind, batch, **changes):
    args = make_args(**{**SETTINGS, "n_agents": batch["actions"].size(2), **changes})
    mac = BasicMAC(batch.scheme, batch.groups, args)
    fill(mac.parameters())
    learner = kind(mac, batch.scheme, RecordingLogger(), args)
    seeds = enumerate((learner.critic, learner.state_value, *learner.target_networks.values()))
    for seed, network in seeds:
        fill(network.parameters(), seed=seed + 1)
    return learner, mac


def with_actions(batch, actions):
    """The batch with other actions of all agents, `[B, T, n, 1]`."""
    onehot = th.nn.functional.one_hot(actions.squeeze(3), batch["actions_onehot"].size(3))
    return {**{key: batch[key] for key in batch.scheme}, "actions": actions, "actions_onehot": onehot}


def over_others(batch, value_of):
    """The largest `[B, T, n]` of values over the other agents' joint actions, by trying each."""
    taken, size = batch["actions"], batch["actions_onehot"].size(3)
    found = []
    for i in range(3):
        others = [j for j in range(3) if j != i]
        tried = []
        for joint in product(range(size), repeat=2):
            actions = taken.clone()
            for j, action in zip(others, joint, strict=True):
                actions[:, :, j] = action
            tried.append(value_of(actions, i))
        found.append(th.stack(tried).amax(dim=0))
    return th.stack(found, dim=-1)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("at_once", [1, 2**23])
def test_the_best_of_the_others_is_that_of_all_their_actions(shared, at_once, monkeypatch):
    monkeypatch.setattr(others_actions, "AT_ONCE", at_once)
    batch = episodes()
    seen = {"critic_all_obs": True, "critic_last_actions": True}
    critic = make_critic(OthersActionsCritic, batch, "pac", share_critic_params=shared, **seen)

    def value_of(actions, i):
        # what was done before stays as it was
        changed, last = with_actions(batch, actions), batch["actions_onehot"]
        of = [critic.of_taken({**changed, "actions_onehot": _at(t, changed, last)})[:, t, i] for t in range(6)]
        return th.stack(of, dim=1)

    with th.no_grad():
        expected = over_others(batch, value_of)
        th.testing.assert_close(critic.best_of_own(batch), expected)
        assert not th.allclose(critic.of_taken(batch), expected)


def _at(t, changed, last):
    actions = last.clone()
    actions[:, t] = changed["actions_onehot"][:, t]
    return actions


def test_a_critic_sees_the_others_actions_in_their_order():
    """With the network as a sum of its inputs, by hand: Q of agent 1 has the actions of agents 0 and 2."""
    batch = episodes()
    critic = make_critic(OthersActionsCritic, batch, "pac", critic_agent_id=False)
    size = batch["actions_onehot"].size(3)
    with th.no_grad():
        for layer in (critic.fc1, critic.fc2, critic.fc3):
            layer.weight.zero_(), layer.bias.zero_()
        critic.fc1.weight[0, -2 * size :] = th.arange(2.0 * size)
        critic.fc2.weight[0, 0] = critic.fc3.weight[:, 0] = 1
        first, last = batch["actions"][:, :, 0, 0], batch["actions"][:, :, 2, 0]
        filled = batch["filled"][..., 0] > 0
        assert th.equal(critic.of_taken(batch)[:, :, 1][filled], (first + size + last)[filled].float())


@pytest.mark.parametrize("shared", [True, False])
def test_of_one_agent_the_best_is_what_it_took(shared):
    batch = episodes(n_agents=1)
    critic = make_critic(OthersActionsCritic, batch, "pac", n_agents=1, share_critic_params=shared)
    with th.no_grad():
        th.testing.assert_close(critic.best_of_own(batch), critic.of_taken(batch))


def test_too_many_joint_actions_are_refused():
    batch = episodes(n_agents=2)
    with pytest.raises(ConfigError, match=r"3\^12 joint actions .* Use --config=epymarl_pac_dcg_ns"):
        OthersActionsCritic(batch.scheme, make_args(**SETTINGS, n_agents=13))


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("edges", ["line", "star", "vdn", "full"])
@pytest.mark.parametrize("rank", [None, 2])
def test_the_graphs_best_actions_are_those_of_all(shared, edges, rank):
    """Max-sum is exact on trees; a full graph's best actions are legal, and mostly the best."""
    batch = episodes()
    settings = {"cg_edges": edges, "cg_payoff_rank": rank, "share_critic_params": shared, "cg_payoffs_hidden_dim": 5}
    critic = make_critic(CoordinationGraph, batch, "pac_dcg", **settings)
    filled = valid_transitions(batch)[..., 0] > 0
    with th.no_grad():
        for part in (critic.utility_fun, critic.payoff_fun):
            for parameter in part.parameters():
                parameter.mul_(5)
        graph, legal = critic.graph(batch), batch["avail_actions"]
        assert len(edges_of(edges, 3)) == graph.payoffs.size(2)
        tried = th.tensor([*product(range(3), repeat=3)]).view(1, 1, -1, 3, 1).expand(*legal.shape[:2], -1, -1, -1)
        values = joint_values(graph, tried)
        allowed = legal.unsqueeze(2).expand(*tried.shape[:4], -1).gather(4, tried).squeeze(4).amin(dim=3) > 0
        best = values.masked_fill(~allowed, -th.inf).amax(dim=2)[:, :-1][filled]
        greedy = greedy_actions(graph, legal, critic.args)
        found = joint_values(graph, greedy.unsqueeze(2))[..., 0][:, :-1][filled]
        assert legal.gather(3, greedy).squeeze(3)[:, :-1][filled].all()
        near = th.isclose(found, best)
        assert near.all() if edges != "full" else near.float().mean() > 0.6 and (found <= best + 1e-5).all()
        # the own action with the others' best ones
        own = greedy.clone()
        own[:, :, 1] = batch["actions"][:, :, 1]
        expected = joint_values(graph, own.unsqueeze(2))[..., 0]
        th.testing.assert_close(critic.best_of_own(batch)[:, :, 1], expected)


def test_a_joint_action_is_worth_the_mean_of_utilities_and_payoffs():
    batch = episodes()
    critic = make_critic(CoordinationGraph, batch, "pac_dcg", cg_edges="line")
    with th.no_grad():
        graph, actions = critic.graph(batch), batch["actions"][..., 0]
        b, t = 2, 1
        u, f, a = graph.utilities[b, t], graph.payoffs[b, t], actions[b, t]
        utilities = sum(u[i, a[i]] for i in range(3)) / 3
        payoffs = (f[0, a[0], a[1]] + f[1, a[1], a[2]]) / 2
        assert critic.of_taken(batch)[b, t, 0] == pytest.approx(float(utilities + payoffs), rel=1e-5)


def expected_losses(learner, mac, batch, t_env):
    """The critic's and the policy's loss of PAC, by the networks as they are."""
    mask = valid_transitions(batch).expand(-1, -1, 3)
    ended, rewards = batch["terminated"][:, :-1].float(), batch["reward"][:, :-1]
    with th.no_grad():
        following = learner.target_critic.best_of_own(batch)[:, 1:]
        returns = n_step_returns(rewards, ended, mask, following, 0.9, 2)
        values = learner.state_value(batch).squeeze(3)[:, :-1]
        errors = (returns - learner.critic.of_taken(batch)[:, :-1]) ** 2 + (returns - values) ** 2
        advantages = learner.critic.best_of_own(batch)[:, :-1] - values
        mac.init_hidden(batch.batch_size)
        pi = th.stack([mac.forward(batch, t) for t in range(batch.max_seq_length - 1)], dim=1)
        log_pi = th.where(pi > 0, pi, 1.0).log()
        taken = log_pi.gather(3, batch["actions"][:, :-1]).squeeze(3)
        coefficient = 0.5 + min(t_env / 50, 1) * (0.1 - 0.5)
        gain = advantages * taken - coefficient * (pi * log_pi).sum(-1)
    return [float((x * mask).sum() / mask.sum()) for x in (errors, -gain)]


@pytest.mark.parametrize("t_env", [0, 20, 70])
def test_pacs_losses(t_env):
    batch = episodes()
    learner, mac = make_learner(PACLearner, batch)
    critic_loss, pg_loss = expected_losses(learner, mac, batch, t_env)
    learner.train(batch, t_env, 0)
    found = learner.logger.last()
    assert found["critic_loss"] == pytest.approx(critic_loss, rel=1e-4)
    assert found["pg_loss"] == pytest.approx(pg_loss, rel=1e-4)
    assert found["entropy_coef"] == pytest.approx({0: 0.5, 20: 0.34, 70: 0.1}[t_env])


@pytest.mark.parametrize("online", [False, True])
def test_pac_dcgs_state_value_learns_its_targets_returns_unless_it_is_epymarls(online):
    batch = episodes()
    settings = {"learner": "pac_dcg_learner", "critic": "pac_dcg", "online_value_target": online}
    learner, _ = make_learner(PACDCGLearner, batch, **settings)
    mask = valid_transitions(batch).expand(-1, -1, 3)
    ended, rewards = batch["terminated"][:, :-1].float(), batch["reward"][:, :-1]
    with th.no_grad():
        network = learner.state_value if online else learner.target_networks["state_value"]
        returns = n_step_returns(rewards, ended, mask, network(batch).squeeze(3)[:, 1:], 0.9, 2)
        errors = (returns - learner.state_value(batch).squeeze(3)[:, :-1]) ** 2
        of_graph = n_step_returns(rewards, ended, mask, learner.target_critic.best_of_own(batch)[:, 1:], 0.9, 2)
        loss = ((of_graph - learner.critic.of_taken(batch)[:, :-1]) ** 2 * mask).sum() / mask[..., 0].sum()
    learner.train(batch, 0, 0)
    found = learner.logger.last()
    assert found["value_loss"] == pytest.approx(float((errors * mask).sum() / mask.sum()), rel=1e-4)
    assert found["critic_loss"] == pytest.approx(float(loss), rel=1e-4)


def test_epymarls_means_are_sums_over_agents():
    found = {}
    for mistake in (False, True):
        batch = episodes()
        settings = {"learner": "pac_dcg_learner", "critic": "pac_dcg", "means_times_agents": mistake}
        learner, _ = make_learner(PACDCGLearner, batch, **settings)
        learner.train(batch, 0, 0)
        found[mistake] = learner.logger.last()
    for key in ("td_error_abs", "q_taken_mean", "target_mean"):
        assert found[True][key] == pytest.approx(3 * found[False][key], rel=1e-5)
    assert found[True]["critic_loss"] == found[False]["critic_loss"]


@pytest.mark.parametrize("kind", [PACLearner, PACDCGLearner])
def test_standardised_rewards_are_returns_in_epymarl(kind):
    name = "pac_dcg" if kind is PACDCGLearner else "pac"
    settings = {"learner": f"{name}_learner", "critic": name}
    networks = {}
    for swapped, key in product((False, True), ("standardise_rewards", "standardise_returns")):
        learner, _ = make_learner(kind, episodes(), **settings, **{key: True, "standardise_swapped": swapped})
        learner.train(episodes(), 0, 0)
        networks[swapped, key] = {name for name in learner.networks if name.endswith("_norm")}
    returns = {"return_norm"} | ({"value_return_norm"} if kind is PACDCGLearner else set())
    assert networks[False, "standardise_rewards"] == {"reward_norm"}
    assert networks[False, "standardise_returns"] == networks[True, "standardise_rewards"] == returns
    assert networks[True, "standardise_returns"] == set()
