"""LICA: its critic and losses by brute force."""

import numpy as np
import pytest
import torch as th

from controllers.basic_controller import BasicMAC
from controllers.unroll import unroll_mac
from fakes import RecordingLogger
from helpers import fill, make_args, random_batch
from learners.lica_learner import LICALearner

GAMMA, BETA = 0.9, 0.5
SETTINGS = {
    "agent_output_type": "pi_logits",
    "action_selector": "soft_policies",
    "learner": "lica_learner",
    "critic": "lica",
    "rnn_hidden_dim": 4,
    "lica_mixing_embed_dim": 3,
    "hypernet_embed_dim": 5,
    "learner_log_interval": 1,
    "gamma": GAMMA,
    "td_lambda": 0.0,
    "entropy_coef": BETA,
    "grad_norm_clip": 1e9,
    "entropy_in_pg_loss": True,
}


def make_learner(batch, **changes):
    args = make_args(**{**SETTINGS, **changes})
    learner = LICALearner(BasicMAC(batch.scheme, batch.groups, args), batch.scheme, RecordingLogger(), args)
    for seed, part in enumerate([learner.mac.agent, learner.critic, learner.target_critic]):
        fill(part.parameters(), seed=seed)
    return learner


def episodes():
    return random_batch([3, 5, 4], 6, ["terminated", "truncated", "truncated"])


def value_of(critic, policies, state):
    """Of one step, by loops: probabilities `[n, A]`, state `[S]`."""
    w_1, b_1, w_2, b_2 = (
        net(state) for net in (critic.hyper_w_1, critic.hyper_b_1, critic.hyper_w_final, critic.hyper_b_2)
    )
    flat, total = policies.flatten(), b_2[0]
    for unit in range(len(w_2)):
        inner = b_1[unit] + sum(flat[i] * w_1[i * len(w_2) + unit] for i in range(len(flat)))
        total = total + max(inner, inner.new_zeros(())) * w_2[unit]
    return float(total)


def real_steps(batch):
    ended = batch["terminated"] | batch["truncated"]
    rows = np.argwhere(batch["filled"][:, :-1, 0].numpy())
    return [(row, t) for row, t in rows if t == 0 or not ended[row, t - 1]]


def test_losses_are_the_papers():
    batch = episodes()
    learner = make_learner(batch)
    state, taken = batch["state"], batch["actions_onehot"].float()
    errors, values, entropies = [], [], []
    with th.no_grad():
        policies = unroll_mac(learner.mac, batch)[0]
        for row, t in real_steps(batch):
            following = value_of(learner.target_critic, taken[row, t + 1], state[row, t + 1])
            y = float(batch["reward"][row, t]) + GAMMA * (1 - int(batch["terminated"][row, t])) * following
            errors.append((value_of(learner.critic, taken[row, t], state[row, t]) - y) ** 2)
            legal = policies[row, t] * batch["avail_actions"][row, t]
            legal = legal / legal.sum(dim=-1, keepdim=True)
            entropies.append(-float((legal * legal.clamp(min=1e-10).log()).sum(dim=-1).mean()))
            values.append(legal)
    learner.train(batch, 1, 0)
    # the policies' step is up the new critic
    with th.no_grad():
        seen = zip(values, real_steps(batch), strict=True)
        gained = [value_of(learner.critic, legal, state[row, t]) for legal, (row, t) in seen]
    logged = learner.logger.last()
    assert logged["critic_loss"] == pytest.approx(np.mean(errors), rel=1e-4)
    assert logged["entropy"] == pytest.approx(np.mean(entropies), rel=1e-4)
    assert logged["pg_loss"] == pytest.approx(-np.mean(gained) - BETA, rel=1e-4)


def test_the_entropys_gradient_is_divided_by_the_entropy():
    """With critics of equal values for all policies, it alone moves them."""
    batch, scale = episodes(), 30.0
    norms, entropies = [], []
    for coef in (BETA, 2 * BETA):
        learner = make_learner(batch, entropy_coef=coef, critic_lr=1e-30)
        with th.no_grad():
            for layer in (*learner.critic.hyper_w_final, learner.critic.hyper_w_1):
                for weight in layer.parameters():
                    weight.zero_()
            learner.mac.agent.fc2.weight.mul_(scale)
        learner.train(batch, 1, 0)
        norms.append(learner.logger.last()["agent_grad_norm"])
        entropies.append(learner.logger.last()["entropy"])
    assert norms[1] == pytest.approx(2 * norms[0], rel=1e-4)

    learner = make_learner(batch)
    with th.no_grad():
        learner.mac.agent.fc2.weight.mul_(scale)
    legal = unroll_mac(learner.mac, batch[:, :-1])[0] * batch["avail_actions"][:, :-1]
    legal = legal / legal.sum(dim=-1, keepdim=True).clamp(min=1e-10)
    steps = th.stack([legal[row, t] for row, t in real_steps(batch)])
    entropy = -(steps * steps.clamp(min=1e-10).log()).sum(dim=-1).mean()
    grads = th.autograd.grad(entropy, list(learner.mac.parameters()))
    norm = float(th.stack([grad.norm() for grad in grads]).norm())
    assert entropies[0] == pytest.approx(entropy.item(), rel=1e-4)
    assert norms[0] == pytest.approx(BETA * norm / entropies[0], rel=1e-3)


def test_targets_follow_by_updates_and_the_critic_keeps_no_gradient_of_the_policies():
    batch = episodes()
    learner = make_learner(batch, target_update_interval=2)

    def follows():
        pairs = zip(learner.critic.parameters(), learner.target_critic.parameters(), strict=True)
        return all(th.equal(one, other) for one, other in pairs)

    learner.train(batch, 1, 100)
    assert not follows() and all(weight.requires_grad for weight in learner.critic.parameters())
    learner.train(batch, 2, 100)
    assert follows()
