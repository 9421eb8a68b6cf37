"""DDPG and TD3: losses and gradients against the same in NumPy, and single numbers by hand."""

import numpy as np
import pytest
import torch as th

from off_policy import (
    DDPG,
    agent_outputs,
    critic_outputs,
    differences,
    make_learner,
    make_sample,
    numeric,
    require_gradients,
    units_of,
)
from utils.errors import ConfigError

ENDED = np.array([1, 0, 0, 1, 0, 0])  # terminated; the truncated ones continue


def huber(errors):
    return np.where(np.abs(errors) < 1, 0.5 * errors**2, np.abs(errors) - 0.5)


def q_of(critic, obs, units, estimate=0):
    return critic_outputs(critic, np.concatenate([obs, units], axis=-1), estimate)[..., 0]


def test_one_update_by_hand():
    """Networks that pass on what they see: Q = relu(relu(o1 + u1)), mu = tanh(relu(relu(o1))).

    o = 0.5, action 1 of [-2, 2] is u = 0.5, so Q = 1. After it o' = 0.25, mu' = tanh(0.25) = 0.244919, so
    Q' = 0.494919 and y = 1 + 0.9 * 0.494919 = 1.445427. The error is -0.445427, its square 0.198405.
    """
    learner, mac = make_learner(**DDPG)
    with th.no_grad():
        for network in (mac.agent, learner.target_mac.agent, learner.critic, learner.target_critic):
            for parameter in network.parameters():
                parameter.zero_()
        for agent in (mac.agent, learner.target_mac.agent):
            for layer in (agent.fc1, agent.fc2, agent.fc3):
                layer.weight[0, 0] = 1
        for critic in (learner.critic, learner.target_critic):
            for weight in critic.layers.weights:
                weight[0, 0, 0, 0] = 1
            critic.layers.weights[0][0, 0, 3, 0] = 1
    batch = make_sample(1)
    batch["obs"].zero_()
    batch["obs"][0, :, 0, 0] = th.tensor([0.5, 0.25])
    batch["actions"][0, 0, 0] = th.tensor([1.0, 0.5])
    batch["reward"][:], batch["terminated"][:], batch["truncated"][:] = 1.0, 0, 0
    now = learner.transitions(batch)
    assert float(learner.taken_values(now).detach()) == pytest.approx(1.0)
    assert float(learner.targets_of(now)) == pytest.approx(1.445427, abs=1e-6)
    learner.train(batch, 0, 0)
    assert learner.logger.last()["critic_loss"] == pytest.approx(0.198405, abs=1e-6)
    # dL/dw of the critic's last layer is 2 * -0.445427 * the unit's 1
    assert float(learner.critic.layers.weights[2].grad[0, 0, 0, 0]) == pytest.approx(-0.890853, abs=1e-5)


@pytest.mark.parametrize("kind", ["mse", "smooth_l1"])
@pytest.mark.parametrize("policy_loss", ["mean", "sum"])
def test_ddpgs_losses_and_gradients(kind, policy_loss):
    learner, mac = make_learner(**DDPG, critic_loss=kind, policy_loss=policy_loss)
    batch = make_sample()
    x = numeric(batch)
    obs, reward = x.obs[:, :, 0], x.reward[:, 0, 0]
    following = q_of(learner.target_critic, obs[:, 1], np.tanh(agent_outputs(learner.target_mac, obs[:, 1])))
    targets = reward + 0.9 * (1 - ENDED) * following
    np.testing.assert_allclose(learner.targets_of(learner.transitions(batch))[:, 0], targets, rtol=1e-5)

    def critic_loss():
        errors = q_of(learner.critic, obs[:, 0], units_of(x.actions[:, 0, 0])) - targets
        return np.mean(errors**2 if kind == "mse" else huber(errors))

    expected, first = differences(critic_loss, learner.critic.parameters()), critic_loss()
    learner._learn_policy = lambda now: {}
    learner.train(batch, 0, 0)
    assert learner.logger.last()["critic_loss"] == pytest.approx(first, rel=1e-5)
    require_gradients(learner.critic.parameters(), expected)
    del learner._learn_policy

    def policy_loss_now():
        values = q_of(learner.critic, obs[:, 0], np.tanh(agent_outputs(mac, obs[:, 0])))
        return -(values.mean() if policy_loss == "mean" else values.sum())

    expected, first = differences(policy_loss_now, mac.agent.parameters()), policy_loss_now()
    logged = learner._learn_policy(learner.transitions(batch))
    assert float(logged["pg_loss"]) == pytest.approx(first, rel=1e-5)
    require_gradients(mac.agent.parameters(), expected)


def test_td3s_targets_have_clipped_noise_and_the_least_estimate():
    learner, mac = make_learner(**DDPG, critics=2, target_noise=0.4, target_noise_clip=0.5)
    batch = make_sample()
    x = numeric(batch)
    obs = x.obs[:, :, 0]
    np.random.seed(4)
    noise = np.clip(0.4 * np.random.standard_normal((6, 1, 2))[:, 0], -0.5, 0.5)
    assert (np.abs(noise) == 0.5).any()
    units = np.clip(np.tanh(agent_outputs(learner.target_mac, obs[:, 1])) + noise, -1, 1)
    least = np.minimum(*(q_of(learner.target_critic, obs[:, 1], units, k) for k in (0, 1)))
    np.random.seed(4)
    targets = learner.targets_of(learner.transitions(batch))[:, 0]
    np.testing.assert_allclose(targets, x.reward[:, 0, 0] + 0.9 * (1 - ENDED) * least, rtol=1e-4)
    # the policy goes by the first one
    values = q_of(learner.critic, obs[:, 0], np.tanh(agent_outputs(mac, obs[:, 0])))
    logged = learner._learn_policy(learner.transitions(batch))
    assert float(logged["pg_loss"]) == pytest.approx(-values.mean(), rel=1e-4)


def test_td3s_policy_and_targets_wait_for_the_critics():
    learner, mac = make_learner(**DDPG, critics=2, policy_delay=3, target_update_interval_or_tau=0.5)
    moved = []
    for k in range(6):
        before = [mac.agent.fc3.bias.clone(), learner.target_critic.layers.biases[2].clone()]
        learner.train(make_sample(seed=k), 0, 0)
        after = mac.agent.fc3.bias, learner.target_critic.layers.biases[2]
        moved.append([not th.equal(one, other) for one, other in zip(before, after, strict=True)])
    assert moved == [[False, False], [False, False], [True, True]] * 2


def test_n_step_discounts_weights_and_priorities():
    weights = th.tensor([1.0, 0.5, 0.25, 1.0, 0.1, 0.7])
    discount = th.tensor([0.9, 0.81, 0.9, 0.9, 0.729, 0.9])
    learner, _ = make_learner(**DDPG)
    batch = make_sample(discount=discount, weights=weights)
    now = learner.transitions(batch)
    x = numeric(batch)
    obs = x.obs[:, :, 0]
    following = q_of(learner.target_critic, obs[:, 1], np.tanh(agent_outputs(learner.target_mac, obs[:, 1])))
    targets = x.reward[:, 0, 0] + x.discount * (1 - ENDED) * following
    np.testing.assert_allclose(learner.targets_of(now)[:, 0], targets, rtol=1e-5)
    errors = q_of(learner.critic, obs[:, 0], units_of(x.actions[:, 0, 0])) - targets
    learner.train(batch, 0, 0)
    assert learner.logger.last()["critic_loss"] == pytest.approx(np.mean(weights.numpy() * errors**2), rel=1e-4)
    np.testing.assert_allclose(learner.new_priorities, np.abs(errors), rtol=1e-4)


def test_maddpgs_critics_see_everyone_and_its_policies_change_their_own_action_only():
    """Gradient of agent 1's policy: Q of the state, agent 0's action of the batch, and agent 1's present one."""
    learner, mac = make_learner(3, **DDPG, critic="q_central", critic_agent_id=True, obs_agent_id=True)
    batch = make_sample(n_agents=3)
    x = numeric(batch)
    ids = np.eye(3)

    def q(critic, state, joint, agent):
        seen = np.concatenate([state, joint.reshape(len(state), -1), np.tile(ids[agent], (len(state), 1))], axis=1)
        return critic_outputs(critic, seen)[:, 0]

    def mu(of, t):
        seen = np.concatenate([x.obs[:, t], np.broadcast_to(ids, (6, 3, 3))], axis=-1)
        return np.tanh(agent_outputs(of, seen))

    following = [q(learner.target_critic, x.state[:, 1], mu(learner.target_mac, 1), agent) for agent in range(3)]
    targets = x.reward[:, 0] + 0.9 * (1 - ENDED[:, None]) * np.stack(following, axis=1)
    now = learner.transitions(batch)
    np.testing.assert_allclose(learner.targets_of(now), targets, rtol=1e-4, atol=1e-6)
    taken = units_of(x.actions[:, 0])
    expected = np.stack([q(learner.critic, x.state[:, 0], taken, agent) for agent in range(3)], axis=1)
    np.testing.assert_allclose(learner.taken_values(now)[0].detach(), expected, rtol=1e-4, atol=1e-6)

    def policy_loss():
        present, total = mu(mac, 0), 0.0
        for agent in range(3):
            joint = taken.copy()
            joint[:, agent] = present[:, agent]
            total += q(learner.critic, x.state[:, 0], joint, agent).mean()
        return -total / 3

    gradients = differences(policy_loss, mac.agent.parameters())
    learner._learn_policy(now)
    require_gradients(mac.agent.parameters(), gradients)


def test_agents_with_their_own_weights_rewards_and_ends():
    learner, _ = make_learner(2, rewards_by_agent=True, **DDPG, share_params=False, share_critic_params=False)
    batch = make_sample(n_agents=2, rewards_by_agent=True)
    x = numeric(batch)
    found = learner.taken_values(learner.transitions(batch))[0].detach()
    for agent in range(2):
        seen = np.concatenate([x.obs[:, 0, agent], units_of(x.actions[:, 0, agent])], axis=1)
        np.testing.assert_allclose(
            found[:, agent], critic_outputs(learner.critic, seen, weights=agent)[:, 0], rtol=1e-4
        )
    assert th.equal(learner.transitions(batch).rewards, batch["reward"][:, 0, :, 0])


def test_a_held_out_loss_changes_nothing():
    learner, _ = make_learner(**DDPG)
    before = {key: value.clone() for key, value in learner.critic.state_dict().items()}
    now = learner.transitions(make_sample())
    errors = learner.taken_values(now) - learner.targets_of(now)
    assert learner.test_loss(make_sample()) == pytest.approx((errors**2).mean().item(), rel=1e-5)
    assert all(th.equal(value, before[key]) for key, value in learner.critic.state_dict().items())


def test_stochastic_policies_are_refused():
    with pytest.raises(ConfigError, match="deviation=none"):
        make_learner(**{**DDPG, "deviation": "network"})


def test_choices_are_drawn_with_the_gradient_of_a_gumbel_softmax():
    """A central critic has a value for each choice of an agent, given the others' choices in the sample."""
    learner, mac = make_learner(2, choices=3, **DDPG, critic="q_central", critic_agent_id=True, obs_agent_id=True)
    batch = make_sample(n_agents=2, choices=3)
    now = learner.transitions(batch)
    with th.no_grad():
        best = learner.target_mac.policy_at(batch, 1).branches["actions"].mode()
        legal = batch["avail_actions"][:, 1].gather(2, best.unsqueeze(2)).squeeze(2)
        assert legal[batch["avail_actions"][:, 1].sum(2) > 0].all()
        following = learner.values(now, 1, th.nn.functional.one_hot(best, 3).float(), target=True)[0]
        following = following.gather(2, best.unsqueeze(2)).squeeze(2)
    targets = now.rewards + 0.9 * (1 - now.ended) * following
    th.testing.assert_close(learner.targets_of(now), targets)

    np.random.seed(4)
    logged = learner._learn_policy(now)
    found = [parameter.grad.clone() for parameter in mac.parameters()]
    np.random.seed(4)
    gumbel = -(-th.as_tensor(np.random.random((6, 2, 3)), dtype=th.float32).log()).log()
    values = learner.values(now, 0, now.taken)[0].detach()
    learner, mac = make_learner(2, choices=3, **DDPG, critic="q_central", critic_agent_id=True, obs_agent_id=True)
    soft = (mac.policy_at(batch, 0).branches["actions"].log_probs + gumbel).softmax(dim=-1)
    drawn = th.nn.functional.one_hot(soft.argmax(dim=-1), 3)
    assert float(logged["pg_loss"]) == pytest.approx(-float((drawn * values).sum(-1).mean()), rel=1e-5)
    (-(soft * values).sum(-1).mean()).backward()
    for gradient, parameter in zip(found, mac.parameters(), strict=True):
        th.testing.assert_close(gradient, parameter.grad, rtol=1e-4, atol=1e-6)


def test_noise_on_targets_does_not_suit_choices():
    with pytest.raises(ConfigError, match=r"target_noise=0\.2 does not suit actions that are choices"):
        make_learner(choices=3, **DDPG, target_noise=0.2)


FACMAC = {"critic_agent_id": True, "obs_agent_id": True, "mixer": "qmix", "mixing_embed_dim": 3, "state_shape": 2}


class TestMixedCritics:
    """FACMAC: Q_tot of the agents' critics, in targets, in the critics' loss and where the policies learn."""

    @staticmethod
    def mixed(mixer, values, state):
        """QMIX's network of values `[B, n]` and states, in float64."""
        w = {key: x.double().numpy() for key, x in mixer.state_dict().items()}

        def layer(name, x):
            return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

        weights = np.abs(layer("hyper_w_1", state)).reshape(len(state), values.shape[1], -1)
        hidden = np.einsum("bn,bne->be", values, weights) + layer("hyper_b_1", state)
        hidden = np.where(hidden > 0, hidden, np.exp(np.minimum(hidden, 0)) - 1)
        first, last = np.abs(layer("hyper_w_final", state)), layer("V.2", np.maximum(layer("V.0", state), 0))
        return (hidden * first).sum(axis=1) + last[:, 0]

    @staticmethod
    def seen(obs):
        return np.concatenate([obs, np.broadcast_to(np.eye(2), (*obs.shape[:2], 2))], axis=-1)

    def q_tot(self, critic, mixer, obs, units, state):
        ids = np.broadcast_to(np.eye(2), (*obs.shape[:2], 2))
        return self.mixed(mixer, critic_outputs(critic, np.concatenate([obs, units, ids], axis=-1))[..., 0], state)

    def test_losses_and_gradients(self):
        learner, mac = make_learner(2, **DDPG, **FACMAC)
        batch = make_sample(n_agents=2)
        x = numeric(batch)

        def mu(of, t):
            return np.tanh(agent_outputs(of, self.seen(x.obs[:, t])))

        following = self.q_tot(
            learner.target_critic, learner.target_mixer, x.obs[:, 1], mu(learner.target_mac, 1), x.state[:, 1]
        )
        targets = x.reward[:, 0, 0] + 0.9 * (1 - ENDED) * following
        now = learner.transitions(batch)
        for agent in range(2):
            np.testing.assert_allclose(learner.targets_of(now)[:, agent], targets, rtol=1e-4, atol=1e-5)

        def critic_loss():
            taken = units_of(x.actions[:, 0])
            found = self.q_tot(learner.critic, learner.mixer, x.obs[:, 0], taken, x.state[:, 0])
            return np.mean((found - targets) ** 2)

        weights = [*learner.critic.parameters(), *learner.mixer.parameters()]
        expected, first = differences(critic_loss, weights), critic_loss()
        before = [weight.detach().clone() for weight in weights]
        logged = learner._learn_values(now)
        assert float(logged["critic_loss"]) == pytest.approx(first, rel=1e-4)
        require_gradients(weights, expected)
        # the critics' optimiser has the mixer, too
        assert not any(th.equal(old, new) for old, new in zip(before, weights, strict=True))

        def policy_loss():
            return -self.q_tot(learner.critic, learner.mixer, x.obs[:, 0], mu(mac, 0), x.state[:, 0]).mean()

        expected, first = differences(policy_loss, mac.agent.parameters()), policy_loss()
        assert float(learner._learn_policy(now)["pg_loss"]) == pytest.approx(first, rel=1e-4)
        require_gradients(mac.agent.parameters(), expected)

    def test_of_choices_it_mixes_the_chosen_values(self):
        learner, _ = make_learner(2, choices=4, learner="ddpg_learner", **FACMAC)
        batch = make_sample(n_agents=2, choices=4)
        x = numeric(batch)
        values = critic_outputs(learner.critic, self.seen(x.obs[:, 0]))
        chosen = np.take_along_axis(values, x.actions[:, 0].astype(int), axis=-1)[..., 0]
        expected = self.mixed(learner.mixer, chosen, x.state[:, 0])
        found = learner.taken_values(learner.transitions(batch))[0].detach()
        np.testing.assert_allclose(found, np.stack([expected, expected], axis=1), rtol=1e-4, atol=1e-5)
