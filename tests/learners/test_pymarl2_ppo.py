"""What PyMARL2's IPPO does otherwise than ours, by hand: ends, padding, one step of policy and critic, the entropy."""

import numpy as np
import pytest
import torch as th
from test_actor_critic import LAST, TablePolicy, V, learner_of, with_log_prob
from test_pqn_learner import rollout

from checks import check_config
from cli.compose import compose_config
from controllers.basic_controller import BasicMAC
from fakes import RecordingLogger
from helpers import fill, make_args, random_batch
from learners.ppo_learner import PPOLearner
from utils.errors import ConfigError

CRITIC = {"critic": "own_rnn", "critic_last_actions": True, "critic_layer_norm": True, "critic_hidden_dim": 6}


def acted_by_half(batch):
    return with_log_prob(batch, th.full((*batch["actions"].shape[:3], 1), float(np.log(0.5))))


@pytest.mark.parametrize("end", ["terminated", "truncated"])
def test_advantages_go_past_the_end(end):
    """The closing state, step 2, has a value and the return 0; gamma 0.9, lambda 0.5."""
    batch = rollout(5, [end])
    found = learner_of(PPOLearner, TablePolicy(), batch.scheme, gae_past_ends=True).estimates(batch)
    second = 2 + 0.9 * 0.5 * V[2]
    first = 1 + 0.9 * (0.5 * V[1] + 0.5 * second)
    np.testing.assert_allclose(found["returns"][0, :, 0], [first, second, 0, LAST + V[3]], rtol=1e-6)
    np.testing.assert_allclose(found["advantages"][0, :, 1], [first - V[0], second - V[1], 0, LAST], rtol=1e-6)


def test_means_and_deviations_count_padding():
    """Step 2 counts with the return 0 and the value 5, in the units of values: at first 0.1, the least deviation."""
    batch = rollout(5, ["terminated"])
    settings = {"normalise_values": True, "value_norm_beta": 0.0, "normalise_advantages": True}
    learner = learner_of(PPOLearner, TablePolicy(), batch.scheme, normalise_padding=True, **settings)
    found, values = learner.estimates(batch), 0.1 * np.array(V)
    second = 2.0
    first = 1 + 0.9 * (0.5 * values[1] + 0.5 * second)
    returns = np.array([first, second, 0, 4 + 0.9 * values[4]])
    errors = returns - values[:4]
    mean, deviation = errors.mean(), np.repeat(errors, 2).std(ddof=1)
    expected = (errors - mean) / (deviation + 1e-6) * [1, 1, 0, 1]
    np.testing.assert_allclose(found["advantages"][0, :, 0], expected, rtol=1e-4)
    expected = (returns - returns.mean()) / returns.std()
    np.testing.assert_allclose(found["returns"][0, [0, 1, 3], 0], expected[[0, 1, 3]], rtol=1e-4)


def policy_of(batch, **changes):
    settings = {"agent_output_type": "pi_logits", "action_selector": "soft_policies", "rnn_hidden_dim": 6}
    args = make_args(**{**settings, **CRITIC, "learner_log_interval": 1, "grad_norm_clip": 1e9, **changes})
    mac = BasicMAC(batch.scheme, batch.groups, args)
    learner = PPOLearner(mac, batch.scheme, RecordingLogger(), args)
    for seed, part in enumerate([mac.agent, learner.critic]):
        fill(part.parameters(), scale=0.4, seed=seed)
    return learner


def episodes():
    return acted_by_half(random_batch([3, 5, 4], 6, ["terminated", "truncated", "truncated"]))


@pytest.mark.parametrize("share", [True, False])
def test_the_critic_reads_on_in_padding(share):
    """Observation, the agent's own last action and its number through PyTorch's layers, by agent and by step."""
    batch = episodes()
    learner = policy_of(batch, normalise_padding=True, share_critic_params=share)
    critic, found = learner.critic, learner.values(batch)
    rows, steps, n = batch["obs"].shape[:3]
    assert critic.n_agents == n
    for agent in range(n):
        start = "" if share else f"critics.{agent}."
        own = {name.removeprefix(start): x for name, x in critic.state_dict().items() if name.startswith(start)}
        cell = th.nn.GRUCell(6, 6)
        cell.load_state_dict({name.removeprefix("rnn."): x for name, x in own.items() if name.startswith("rnn.")})
        for row in range(rows):
            hidden, last = th.zeros(1, 6), th.zeros(batch["actions_onehot"].size(-1))
            for t in range(steps):
                seen = th.cat([batch["obs"][row, t, agent], last, th.eye(n)[agent]])
                hidden = cell(th.relu(own["fc1.weight"] @ seen + own["fc1.bias"]).unsqueeze(0), hidden)
                features = th.nn.functional.layer_norm(
                    hidden[0], (6,), own["layer_norm.weight"], own["layer_norm.bias"]
                )
                value = own["fc2.weight"] @ features + own["fc2.bias"]
                assert found[row, t, agent].item() == pytest.approx(value.item(), abs=1e-5)
                last = batch["actions_onehot"][row, t, agent].float()
    learner.state_values._padding = False
    assert (learner.values(batch)[0, -1] == 0).all() and (found[0, -1] != 0).all()


def gradients(learner):
    parts = [learner.mac.agent, learner.critic]
    return [th.cat([weight.grad.flatten() for weight in part.parameters()]) for part in parts]


def test_policy_and_critic_make_one_step():
    batch = episodes()
    apart = policy_of(batch, value_clip=False)
    joint = policy_of(batch, value_clip=False, joint_step=True, value_coef=3.0, halve_central_loss=True)
    for learner in (apart, joint):
        learner.train(batch, 10, 0)
    assert list(joint.optimisers) == ["agent_opt"] and list(apart.optimisers) == ["agent_opt", "critic_opt"]
    assert joint.logger.last()["critic_loss"] == pytest.approx(0.5 * apart.logger.last()["critic_loss"])
    for one, other, times in zip(gradients(joint), gradients(apart), (1, 1.5), strict=True):
        th.testing.assert_close(one, times * other, rtol=1e-4, atol=1e-6)
    norms = [float(part.norm()) for part in gradients(joint)]
    assert joint.logger.last()["agent_grad_norm"] == pytest.approx(np.hypot(*norms), rel=1e-5)
    clipped = policy_of(batch, value_clip=False, joint_step=True, grad_norm_clip=0.01)
    clipped.train(batch, 10, 0)
    assert float(th.cat(gradients(clipped)).norm()) == pytest.approx(0.01, rel=1e-4)
    assert all(part.norm() > 0 for part in gradients(clipped))


def test_the_entropys_weight_is_divided_by_it():
    batch, found = episodes(), {}
    for name, changes in {
        "none": {"entropy_coef": 0.0},
        "plain": {"entropy_coef": 0.3},
        "adaptive": {"entropy_coef": 0.3, "adaptive_entropy": True},
    }.items():
        learner = policy_of(batch, **changes)
        learner.train(batch, 10, 0)
        found[name] = gradients(learner)[0]
    entropy = learner.logger.last()["entropy"]
    th.testing.assert_close(
        found["adaptive"] - found["none"], (found["plain"] - found["none"]) / entropy, rtol=1e-3, atol=1e-6
    )


def test_trpos_step_is_of_the_policy_alone():
    config = compose_config("trpo", "lbf").config
    check_config(config)
    with pytest.raises(ConfigError, match=r"joint_step=True gives the critic a part in the step of the policy"):
        check_config({**config, "joint_step": True})


@pytest.mark.parametrize("last", [True, False])
def test_statistics_are_those_of_the_last_epoch(last):
    learner, losses = policy_of(episodes(), epochs=3, log_last_epoch=last, lr=0.01), []
    update = learner._update
    learner._update = lambda *args: losses.append(update(*args)) or losses[-1]
    learner.train(episodes(), 10, 0)
    found = [each["critic_loss"] for each in losses]
    assert len(found) == 3 and found[0] != found[2]
    assert learner.logger.last()["critic_loss"] == pytest.approx(found[2] if last else np.mean(found))
