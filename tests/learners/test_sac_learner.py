"""SAC in all its forms: losses and gradients against the same in NumPy."""

import math

import numpy as np
import pytest
import torch as th

from off_policy import (
    DISCRETE,
    SAC,
    agent_outputs,
    critic_outputs,
    differences,
    drawn,
    make_learner,
    make_sample,
    noise_of,
    numeric,
    require_gradients,
)
from utils.errors import ConfigError

ENDED = np.array([1, 0, 0, 1, 0, 0])
V1 = {**SAC, "value_network": True, "tune_entropy": False, "entropy_weight": 0.7}


def q_of(critic, obs, units, estimate=0):
    return critic_outputs(critic, np.concatenate([obs, units], axis=-1), estimate)[..., 0]


@pytest.mark.parametrize(("wanted", "direction"), [(100.0, 1), (-100.0, -1)])
def test_the_weight_of_entropy_is_tuned(wanted, direction):
    """It grows while there is less entropy than wanted."""
    learner, _ = make_learner(**SAC, target_entropy=wanted, entropy_lr=0.1, entropy_weight=0.5)
    logged = learner._learn_policy(learner.transitions(make_sample()))
    moved = float(learner.entropy_weight) - 0.5
    assert moved * direction > 0
    gradient = float(learner.temperature.log_weight.grad)
    assert gradient == pytest.approx(float(logged["entropy"]) - wanted, rel=1e-5)


def test_the_usual_entropy():
    assert make_learner(**SAC)[0].target_entropy == -2
    assert make_learner(choices=5, **DISCRETE)[0].target_entropy == pytest.approx(0.98 * math.log(5))
    assert make_learner(**SAC, target_entropy=0.0)[0].target_entropy == 0


class TestValueNetwork:
    def value(self, learner, network, obs):
        w = {key: value.double().numpy() for key, value in network.state_dict().items()}
        for layer in ("fc1", "fc2"):
            obs = np.maximum(obs @ w[f"{layer}.weight"].T + w[f"{layer}.bias"], 0)
        return (obs @ w["fc3.weight"].T + w["fc3.bias"])[:, 0]

    @pytest.mark.parametrize("gradient", ["score", "reparameterised"])
    def test_the_policys_loss_and_gradients(self, gradient):
        learner, mac = make_learner(**V1, policy_gradient=gradient, mean_penalty=0.1, deviation_penalty=0.2)
        batch = make_sample()
        obs = numeric(batch).obs[:, 0, 0]
        noise = noise_of(7)
        fixed, log_prob = drawn(agent_outputs(mac, obs), noise)
        worse = 0.7 * log_prob - q_of(learner.critic, obs, fixed) + self.value(learner, learner.value, obs)

        def penalties(outputs):
            return 0.1 * np.mean(outputs[:, :2] ** 2) + 0.2 * np.mean(outputs[:, 2:] ** 2)

        def loss():
            outputs = agent_outputs(mac, obs)
            if gradient == "reparameterised":
                units, density = drawn(outputs, noise)
                return np.mean(0.7 * density - q_of(learner.critic, obs, units)) + penalties(outputs)
            mean, log_std = outputs[:, :2], outputs[:, 2:]
            x = np.arctanh(fixed)
            density = (-0.5 * ((x - mean) / np.exp(log_std)) ** 2 - log_std).sum(-1)
            return np.mean(density * worse) + penalties(outputs)

        expected = differences(loss, mac.agent.parameters())
        np.random.seed(7)
        learner._learn_policy(learner.transitions(batch))
        require_gradients(mac.agent.parameters(), expected, tolerance=5e-3)


class TestChoices:
    def policy(self, mac, obs, avail):
        logits = np.where(avail > 0, agent_outputs(mac, obs), -np.inf)
        probs = np.exp(logits - logits.max(-1, keepdims=True))
        return probs / probs.sum(-1, keepdims=True)

    def test_targets_losses_and_gradients(self):
        learner, mac = make_learner(choices=4, **DISCRETE, critics=2, entropy_weight=0.3, tune_entropy=False)
        batch = make_sample(choices=4)
        x = numeric(batch)
        obs, avail = x.obs[:, :, 0], x.avail_actions[:, :, 0]

        def least(critic, seen):
            return np.minimum(*(critic_outputs(critic, seen, k) for k in (0, 1)))

        def soft(t, critic):
            probs = self.policy(mac, obs[:, t], avail[:, t])
            logs = np.log(np.where(probs > 0, probs, 1))
            return (probs * (least(critic, obs[:, t]) - 0.3 * logs)).sum(-1)

        now = learner.transitions(batch)
        targets = x.reward[:, 0, 0] + 0.9 * (1 - ENDED) * soft(1, learner.target_critic)
        np.testing.assert_allclose(learner.targets_of(now)[:, 0], targets, rtol=1e-4)
        taken = critic_outputs(learner.critic, obs[:, 0], 1)[np.arange(6), x.actions[:, 0, 0, 0].astype(int)]
        np.testing.assert_allclose(learner.taken_values(now)[1, :, 0].detach(), taken, rtol=1e-4)
        gradients = differences(lambda: -np.mean(soft(0, learner.critic)), mac.agent.parameters())
        logged = learner._learn_policy(now)
        require_gradients(mac.agent.parameters(), gradients)
        probs = self.policy(mac, obs[:, 0], avail[:, 0])
        assert float(logged["entropy"]) > 0
        assert probs.shape == (6, 4)

    def test_central_critics_see_the_choices_of_the_others(self):
        learner, _ = make_learner(2, choices=3, **DISCRETE, critic="q_central", critic_agent_id=True)
        batch = make_sample(n_agents=2, choices=3)
        x = numeric(batch)
        found = learner.values(learner.transitions(batch), 0, learner.mac.taken_at(batch, 0))[0].detach()
        for agent in range(2):
            others = x.actions_onehot[:, 0].copy()
            others[:, agent] = 0
            ids = np.tile(np.eye(2)[agent], (6, 1))
            seen = np.concatenate([x.state[:, 0], others.reshape(6, -1), ids], axis=1)
            np.testing.assert_allclose(found[:, agent], critic_outputs(learner.critic, seen), rtol=1e-4, atol=1e-6)
        learner.train(batch, 0, 0)


def test_only_numpys_generator_is_drawn_from():
    """Torch's belongs to acting, which may play ahead meanwhile."""
    state = th.get_rng_state()
    for learner, sample in (
        (make_learner(**SAC)[0], make_sample()),
        (make_learner(2, choices=3, **DISCRETE, critic="q_central")[0], make_sample(n_agents=2, choices=3)),
    ):
        state = th.get_rng_state()
        learner.train(sample, 0, 0)
        assert th.equal(th.get_rng_state(), state)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"squash": "clip"}, "needs bounded actions"),
        ({"deviation": "none"}, "needs bounded actions"),
        ({"policy_gradient": "score"}, "policy_gradient=score needs value_network=True"),
    ],
)
def test_what_does_not_go_together_is_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        make_learner(**{**SAC, **changes})
