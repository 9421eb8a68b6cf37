"""Off-policy learners whose policies are updated one after another: HADDPG, HATD3, HASAC."""

import numpy as np
import pytest
import torch as th

from checks import check_config
from cli.compose import compose_config
from components.sampling.fields import of_agent
from off_policy import DDPG, DISCRETE, SAC, critic_outputs, make_learner, make_sample, numeric
from utils.errors import ConfigError

IN_TURN = {"update_order": "fixed", "share_params": False, "critic": "q_central"}


def in_steps(learner):
    """What `_learn_policy` sees and makes, one entry a turn."""
    seen, learn = [], learner._learn_policy

    def noting(now):
        logged = learn(now)
        seen.append((now, logged))
        return logged

    learner._learn_policy = noting
    return seen


def policies(mac):
    """The last layer's biases, which learn whatever the hidden units of so small a network put out."""
    return mac.agent.fc3.bias.detach().clone()


def present(learner, batch):
    """The deterministic actions of all agents' policies, `[B, n, K]`."""
    return learner._acts(batch).clone()


def test_each_agent_learns_beside_the_new_policies_of_those_before_it():
    learner, mac = make_learner(3, **DDPG, **IN_TURN, lr=0.05)
    batch, before = make_sample(n_agents=3), policies(mac)
    old, seen = present(learner, batch), in_steps(learner)
    learner._learn_in_turn(batch, True)
    new = present(learner, batch)
    assert [now.turn[0] for now, _ in seen] == [0, 1, 2]
    state = numeric(batch).state[:, 0]
    for i, (now, logged) in enumerate(seen):
        beside = th.cat([new[:, :i], old[:, i:]], dim=1)
        th.testing.assert_close(now.taken, beside)
        # its value is that of all acting so, itself by the policy that it had
        joint = beside.double().numpy().reshape(len(state), -1)
        values = critic_outputs(learner.critic, np.concatenate([state, joint], axis=1))[:, 0]
        assert float(logged["pg_loss"]) == pytest.approx(-values.mean(), rel=1e-4)
    assert (policies(mac) != before).all()


def test_a_turn_changes_the_policy_of_its_agent_only():
    learner, mac = make_learner(3, **DDPG, **IN_TURN, lr=0.05)
    batch, before = make_sample(n_agents=3), policies(mac)
    turns = learner.order.in_turn()
    i, own = next(turns)
    learner._take_turn(batch, of_agent(batch, i), i, own, learner._acts(batch))
    next(turns)
    after = policies(mac)
    assert (after[0] != before[0]).all() and th.equal(after[1:], before[1:])


@pytest.mark.parametrize("kind", [SAC, DISCRETE])
def test_values_count_the_entropies_of_all(kind):
    """HASAC's soft value of a state has every agent's entropy: the difference to one's own is the others'."""
    choices = 4 if kind is DISCRETE else 0
    found, log_probs = [], None
    for team in (False, True):
        learner, mac = make_learner(3, choices, **kind, **IN_TURN, team_entropy=team, entropy_weight=0.7)
        now = learner.transitions(make_sample(n_agents=3, choices=choices))
        np.random.seed(3)
        policy = mac.policy_at(now.batch, 1)
        if choices:
            (branch,) = policy.branches.values()
            log_probs = (branch.probs * branch.log_probs.masked_fill(branch.probs == 0, 0)).sum(-1)
        else:
            log_probs = learner._drawn(policy).log_prob
        np.random.seed(3)
        found.append(learner._soft_values(now, 1, policy, target=True))
    others = th.stack([log_probs[:, [1, 2]].sum(1), log_probs[:, [0, 2]].sum(1), log_probs[:, [0, 1]].sum(1)], dim=1)
    assert others.abs().max() > 0.1
    th.testing.assert_close(found[0] - found[1], 0.7 * others, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", [SAC, DISCRETE])
def test_of_sac_every_policy_and_the_weight_of_entropy_learn(kind):
    choices = 4 if kind is DISCRETE else 0
    learner, mac = make_learner(3, choices, **kind, **IN_TURN, team_entropy=True, critics=2, lr=0.05)
    before, weight = policies(mac), float(learner.entropy_weight)
    seen = in_steps(learner)
    learner.train(make_sample(n_agents=3, choices=choices), 0, 0)
    assert (policies(mac) != before).any(dim=1).all()
    assert float(learner.entropy_weight) != weight
    logged = [float(found["pg_loss"]) for _, found in seen]
    assert learner.logger.last()["pg_loss"] == pytest.approx(np.mean(logged), rel=1e-5)


def test_the_order_is_drawn():
    learner, _ = make_learner(3, **DDPG, **{**IN_TURN, "update_order": "random"})
    seen = in_steps(learner)
    np.random.seed(0)
    for _ in range(5):
        learner._learn_in_turn(make_sample(n_agents=3), False)
    orders = {tuple(now.turn[0] for now, _ in seen[k : k + 3]) for k in range(0, 15, 3)}
    assert len(orders) > 2 and all(sorted(order) == [0, 1, 2] for order in orders)


@pytest.mark.parametrize(
    ("config", "words", "message"),
    [
        ("hasac", {"share_params": True}, "share_params=True there is one for all"),
        ("haddpg", {"mixer": "qmix"}, "mixer=qmix has all learn from one value. Use mixer=null"),
        ("hasac", {"losses_first": True}, "losses_first=True all at once"),
        ("hasac", {"policy_gradient": "score"}, "Use policy_gradient=reparameterised"),
    ],
)
def test_what_does_not_go_with_it_is_refused(config, words, message):
    composed = compose_config(config, "particles").config
    composed["env_args"]["continuous_actions"] = True
    check_config(composed)
    with pytest.raises(ConfigError, match=message):
        check_config({**composed, **words})
