"""MADDPG from episodes: losses and gradients against the same in plain sums, and EPyMARL's mistakes beside them."""

import pytest
import torch as th

from checks import check_config
from cli.compose import compose_config
from controllers.policy_controller import PolicyMAC
from fakes import RecordingLogger
from helpers import fill, make_args, random_batch
from learners.maddpg_learner import MADDPGLearner
from modules.policies.distributions import gumbel_softmax, one_hot_best
from utils.errors import ConfigError
from utils.rl_utils import valid_transitions

SETTINGS = {
    "agent_output_type": "pi_logits",
    "mac": "policy_mac",
    "learner": "maddpg_learner",
    "critic": "maddpg",
    "orthogonal_init": False,
    "rnn_hidden_dim": 8,
    "critic_hidden_dim": 8,
    "learner_log_interval": 1,
    "gamma": 0.9,
    "grad_norm_clip": 1e9,
    "target_update_interval_or_tau": 0.01,
}


def make_learner(batch, **changes):
    args = make_args(**{**SETTINGS, **changes})
    mac = PolicyMAC(batch.scheme, batch.groups, args)
    fill(mac.parameters())
    learner = MADDPGLearner(mac, batch.scheme, RecordingLogger(), args)
    for seed, network in enumerate((learner.critic, learner.target_critic, learner.target_mac.agent)):
        fill(network.parameters(), seed=seed + 1)
    return learner, mac


def episodes():
    return random_batch([4, 2, 5], 6, ends=["terminated", "terminated", "truncated"])


def logits_of(mac, batch, steps):
    mac.init_hidden(batch.batch_size)
    outputs = th.stack([mac.forward(batch, t) for t in steps], dim=1)
    return outputs.masked_fill(batch["avail_actions"][:, steps.start : steps.stop] == 0, -1e10)


def values_of(critic, batch, steps, joint, number):
    """Q of agent `number`, by its weights; `joint` `[B, T, n, A]`."""
    state, obs = batch["state"][:, steps], batch["obs"][:, steps, number]
    own_id = th.eye(joint.size(2))[number].expand(*state.shape[:2], -1)
    parts = [state, obs, own_id, joint.flatten(2)] if critic.args.critic_own_obs else [state, own_id, joint.flatten(2)]
    x = th.cat(parts, dim=-1)
    for layer in (critic.fc1, critic.fc2):
        x = th.relu(x @ layer.weight.T + layer.bias)
    return (x @ critic.fc3.weight.T + critic.fc3.bias).squeeze(-1)


@pytest.mark.parametrize("own_obs", [False, True])
def test_losses_and_the_policies_gradients(own_obs):
    """Each policy's gradient comes through its own critic's view of its own action only."""
    batch, reg = episodes(), 0.1
    learner, mac = make_learner(batch, critic_own_obs=own_obs, reg=reg)
    length, n = batch.max_seq_length, batch["actions"].size(2)
    now, later = slice(0, length - 1), slice(1, length)
    mask = valid_transitions(batch)
    ended, rewards = batch["terminated"][:, now].float(), batch["reward"][:, now]
    with th.no_grad():
        joint = one_hot_best(logits_of(learner.target_mac, batch, range(length))[:, later])
        taken = batch["actions_onehot"][:, now].float()
        loss = 0.0
        for i in range(n):
            following = values_of(learner.target_critic, batch, later, joint, i)
            target = rewards[..., 0] + 0.9 * (1 - ended[..., 0]) * following
            loss += ((values_of(learner.critic, batch, now, taken, i) - target) ** 2 * mask[..., 0]).sum()
        expected_loss = loss / (n * mask.sum())

    th.manual_seed(3)
    uniform = th.stack([th.rand(batch.batch_size, n, taken.size(3)) for _ in range(length - 1)], dim=1)
    learner._train_critic = lambda *_: {}  # the policy's loss by the same critic
    logits = logits_of(mac, batch, range(length))[:, now]
    actions = gumbel_softmax(logits, uniform)
    drawn = actions.detach()[mask[..., 0] > 0]
    assert set(drawn.unique().tolist()) == {0.0, 1.0} and th.equal(drawn.sum(-1), th.ones(drawn.shape[:-1]))
    size = logits.masked_fill(logits == -1e10, 0.0).square().mean(-1)
    total = 0.0
    for i in range(n):
        joint = actions.detach().clone()
        joint[:, :, i] = actions[:, :, i]
        of_agent = values_of(learner.critic, batch, now, joint, i)
        total = total + ((reg * size[..., i] - of_agent) * mask[..., 0]).sum()
    expected = total / (n * mask.sum())
    expected.backward()
    gradients = [parameter.grad.clone() for parameter in mac.parameters()]

    th.manual_seed(3)
    learner.train(batch, 0, 0)
    assert learner.logger.last()["pg_loss"] == pytest.approx(expected.item(), rel=1e-5)
    for parameter, gradient in zip(mac.parameters(), gradients, strict=True):
        th.testing.assert_close(parameter.grad, gradient, rtol=1e-4, atol=1e-6)
    learner, _ = make_learner(batch, critic_own_obs=own_obs)
    learner.train(batch, 0, 0)
    assert learner.logger.last()["critic_loss"] == pytest.approx(expected_loss.item(), rel=1e-5)


def test_padding_counts_only_as_epymarls_mistake():
    batch = episodes()
    changed = episodes()
    assert not batch["filled"][1, 4:].any()
    for key in ("obs", "state", "reward"):
        changed[key][1, 4:] = 7.0
    found = {}
    for mistake in (False, True):
        for name, one in (("batch", batch), ("changed", changed)):
            learner, _ = make_learner(one, train_on_padding=mistake)
            th.manual_seed(3)
            learner.train(one, 0, 0)
            found[mistake, name] = learner.logger.last()
    assert found[False, "batch"] == pytest.approx(found[False, "changed"], rel=1e-5)
    assert found[True, "batch"]["critic_loss"] != pytest.approx(found[True, "changed"]["critic_loss"], rel=1e-2)


@pytest.mark.parametrize("last_action", [True, False])
def test_the_target_policys_memory_starts_with_the_episode_unless_it_is_epymarls(last_action):
    batch = episodes()
    found = {}
    for key in (True, False):
        learner, _ = make_learner(batch, target_memory_from_start=key, obs_last_action=last_action)
        with th.no_grad():  # what is remembered decides
            learner.target_mac.agent.rnn.weight_hh.mul_(20)
        length = batch.max_seq_length
        joint = one_hot_best(logits_of(learner.target_mac, batch, range(0 if key else 1, length)))[:, -(length - 1) :]
        with th.no_grad():
            following = learner.target_critic(batch, slice(1, None), joint)
        ended, mask = batch["terminated"][:, :-1].float(), valid_transitions(batch).expand_as(following)
        targets = batch["reward"][:, :-1] + 0.9 * (1 - ended) * following
        learner.train(batch, 0, 0)
        found[key] = learner.logger.last()["target_mean"]
        assert found[key] == pytest.approx(((targets * mask).sum() / mask.sum()).item(), rel=1e-5)
    assert found[True] != found[False]


def test_hard_copies_are_counted_in_episodes():
    batch = episodes()
    learner, mac = make_learner(batch, target_update_interval_or_tau=10)
    copied = []
    for episode in (4, 9, 10, 19, 20):
        learner.train(batch, 0, episode)
        pairs = zip(mac.parameters(), learner.target_mac.parameters(), strict=True)
        copied.append(all(th.equal(*pair) for pair in pairs))
    assert copied == [False, False, True, False, True]


@pytest.mark.parametrize("changes", [{"collection": "async"}, {"overlap": True}])
def test_it_does_not_draw_while_another_thread_acts(changes):
    config = compose_config("epymarl_maddpg", "two_step").config
    with pytest.raises(ConfigError, match="collection=async does not go with learner=maddpg_learner"):
        check_config({**config, **changes})
