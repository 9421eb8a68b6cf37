"""PPO and A2C: estimates and losses by hand, what they see and keep."""

import numpy as np
import pytest
import torch as th
from test_pqn_learner import rollout

from components.episode_buffer import EpisodeBatch
from controllers.policy_controller import PolicyMAC
from fakes import RecordingLogger
from helpers import fill, make_args
from learners.a2c_learner import A2CLearner
from learners.ppo_learner import PPOLearner
from modules.policies.distributions import Categorical, Joint
from random_rollouts import random_rollout
from utils.errors import ConfigError

GAMMA, LAMBDA = 0.9, 0.5
# V of the observations 0 to 4, and GAE of the rollout by hand; step 2 is the closing state
V = [0.5, 1.0, 5.0, 2.5, 1.0]
DELTAS = {"terminated": [1 + 0.9 * 1 - 0.5, 2 - 1.0], "truncated": [1 + 0.9 * 1 - 0.5, 2 + 0.9 * 5 - 1.0]}
LAST = 4 + 0.9 * 1 - 2.5


def advantages_by_hand(end):
    first, second = DELTAS[end]
    return [first + GAMMA * LAMBDA * second, second, 0.0, LAST]


class TablePolicy:
    """Logits and values by the number that both agents observe."""

    def __init__(self):
        self.logits = th.nn.Parameter(th.tensor([[0.3, -0.2, 9.0]] * 5))

    def init_hidden(self, batch_size):
        self.hidden_states = th.zeros(batch_size, 2, 1)

    def forward(self, batch, t, test_mode=False):
        seen = batch["obs"][:, t, :, 0].long()
        return th.cat([self.logits[seen], th.tensor(V)[seen].unsqueeze(-1)], dim=-1)

    def distribution(self, outputs, masks):
        return Joint({"actions": Categorical(outputs[..., :3], masks["avail_actions"])})

    def parameters(self):
        return [self.logits]


def learner_of(kind, mac, scheme, **changes):
    settings = {
        "critic": "trunk",
        "gamma": GAMMA,
        "gae_lambda": LAMBDA,
        "learner_log_interval": 1,
        "normalise_values": False,
        "normalise_advantages": False,
        "entropy_coef": 0.0,
        "grad_norm_clip": 1e6,
    }
    return kind(mac, scheme, RecordingLogger(), make_args(**{**settings, **changes}))


def with_log_prob(batch, log_prob):
    scheme = {k: v for k, v in batch.scheme.items() if k not in ("filled", "actions_onehot")}
    scheme["log_prob"] = {"vshape": (1,), "group": "agents"}
    batch.scheme["log_prob"] = scheme["log_prob"]
    batch.data.transition_data["log_prob"] = log_prob
    return batch


@pytest.mark.parametrize("end", DELTAS)
def test_estimates_by_hand(end):
    batch = rollout(5, [end])
    learner = learner_of(A2CLearner, TablePolicy(), batch.scheme)
    found = learner.estimates(batch)
    expected = th.tensor(advantages_by_hand(end)).view(1, 4, 1).expand(1, 4, 2)
    th.testing.assert_close(found["advantages"], expected)
    th.testing.assert_close(found["returns"], th.where(expected != 0, expected + th.tensor(V[:4]).view(1, 4, 1), 0.0))
    assert found["mask"][0, :, 0].tolist() == [1, 1, 0, 1]


@pytest.mark.parametrize("end", DELTAS)
def test_vtrace_counts_what_the_older_policy_did_too_often_by_less(end):
    """Agent 0 acted by a policy twice as likely to, so its ratios are 0.5; agent 1 by the present one."""
    batch = rollout(5, [end])
    log_prob = np.log(np.exp(0.3) / (np.exp(0.3) + np.exp(-0.2)))
    acted = th.tensor([log_prob + np.log(2), log_prob], dtype=th.float32).view(1, 1, 2, 1).expand(1, 5, 2, 1)
    learner = learner_of(A2CLearner, TablePolicy(), batch.scheme, vtrace=True)
    assert learner.needs_acting(learner.args) == ("log_prob",) and not learner.needs_acting(make_args(vtrace=False))
    found = learner.estimates(with_log_prob(batch, acted))
    first, second = DELTAS[end]
    expected = [[rho * (first + GAMMA * rho * second), rho * second, 0, rho * LAST] for rho in (0.5, 1.0)]
    np.testing.assert_allclose(found["advantages"][0].T, expected, rtol=1e-5)
    targets = [[0.5 + rho * (first + GAMMA * LAMBDA * rho * second), 1 + rho * second] for rho in (0.5, 1.0)]
    np.testing.assert_allclose(found["returns"][0, :2].T, targets, rtol=1e-5)
    # one value of the team: what both did together
    found = learner_of(A2CLearner, TablePolicy(), batch.scheme, vtrace=True, mixer="vdn").estimates(batch)
    last_value = 0 if end == "terminated" else 0.9 * 10
    np.testing.assert_allclose(found["advantages"][0, 1], 0.5 * (2 + last_value - 2), rtol=1e-5)
    with pytest.raises(ConfigError, match=r"^vtrace=True: targets are V-trace's\. Use q_nstep=0"):
        learner_of(A2CLearner, TablePolicy(), batch.scheme, vtrace=True, q_nstep=3)


@pytest.mark.parametrize("end", DELTAS)
def test_a2c_by_hand(end):
    mac, batch = TablePolicy(), rollout(5, [end])
    learner = learner_of(A2CLearner, mac, batch.scheme, entropy_coef=0.5)
    learner.train(batch, 10, 0)
    # the third action, with the largest logit, is illegal
    p = np.exp([0.3, -0.2]) / np.exp([0.3, -0.2]).sum()
    entropy = -(p * np.log(p)).sum()
    advantages = [a for a in advantages_by_hand(end) if a]
    last = learner.logger.last()
    assert last["pg_loss"] == pytest.approx(-np.log(p[0]) * np.mean(advantages), rel=1e-5)
    assert last["entropy"] == pytest.approx(entropy, rel=1e-5)
    assert last["critic_loss"] == pytest.approx(np.mean(np.square(advantages)), rel=1e-5)
    # d log p(0) / d logit 0 = 1 - p(0); both agents, three steps
    grad = -(1 - p[0]) * advantages[0] / 3
    entropy_grad = 0.5 * p[0] * (np.log(p[0]) + entropy) / 3
    assert float(mac.logits.grad[0, 0]) == pytest.approx(grad + entropy_grad, rel=1e-4)
    assert mac.logits.grad[2].abs().sum() == mac.logits.grad[4].abs().sum() == 0, "nothing was done there"
    assert mac.logits.grad[:, 2].abs().sum() == 0, "illegal"


@pytest.mark.parametrize("forced", [True, False])
@pytest.mark.parametrize("end", DELTAS)
def test_a_mixer_makes_the_teams_values_of_the_agents(end, forced):
    """VDAC with the sum of both agents' values, which are equal here: deltas as above, with 2 V."""
    mac, batch = TablePolicy(), rollout(5, [end])
    learner = learner_of(A2CLearner, mac, batch.scheme, mixer="vdn", mask_forced_actions=forced)
    # one value, and what counts of each agent: for all learners
    assert learner.estimates(batch)["choices"].shape == (1, 4, 2)
    learner.train(batch, 10, 0)
    last_value = 0 if end == "terminated" else 0.9 * 10
    first, second, final = 1 + 0.9 * 2 - 1, 2 + last_value - 2, 4 + 0.9 * 2 - 5
    advantages = [first + GAMMA * LAMBDA * second, second, final]
    p = np.exp([0.3, -0.2]) / np.exp([0.3, -0.2]).sum()
    last = learner.logger.last()
    assert last["pg_loss"] == pytest.approx(-np.log(p[0]) * np.mean(advantages), rel=1e-5)
    assert last["critic_loss"] == pytest.approx(np.mean(np.square(advantages)), rel=1e-5)
    assert last["entropy"] == pytest.approx(-(p * np.log(p)).sum(), rel=1e-5)
    assert last["q_taken_mean"] == pytest.approx(np.mean([1.0, 2.0, 5.0]), rel=1e-5)


def test_a_mixer_learns_with_the_values_and_has_no_target():
    batch, mac, args = random_rollout(mixer="qmix", critic_lr=0.001, state_shape=1)
    learner = A2CLearner(mac, batch.scheme, RecordingLogger(), args)
    before = [weight.clone() for weight in learner.networks["mixer"].parameters()]
    learner.train(batch, 10, 0)
    now = learner.networks["mixer"].parameters()
    assert any(not th.equal(one, other) for one, other in zip(before, now, strict=True))
    args.target_update_interval_or_tau = 0.5
    with pytest.raises(ConfigError, match="a critic with a mixer has no target network"):
        A2CLearner(mac, batch.scheme, RecordingLogger(), args)


def test_a_share_of_actions_is_random_in_training():
    batch, _, args = random_rollout(noise="epsilon", noise_scale=[[0, 0.6], [100, 0.0]])
    mac = PolicyMAC(batch.scheme, batch.groups, args)
    with th.no_grad():
        mac.agent.fc2.bias.copy_(th.tensor([50.0, 0.0, 0.0]))
    batch["avail_actions"][:] = th.tensor([1, 1, 0], dtype=th.int32)
    th.manual_seed(0)

    def share_of_others(t_env, **changes):
        mac.init_hidden(batch.batch_size)
        found = [mac.decide(batch, 1, t_env, **changes).actions["actions"] for _ in range(40)]
        assert max(int(actions.max()) for actions in found) <= 1, "illegal"
        return float(th.stack(found).float().mean())

    assert share_of_others(0) == pytest.approx(0.3, abs=0.1)
    assert share_of_others(50) == pytest.approx(0.15, abs=0.08)
    assert share_of_others(100) == share_of_others(0, test_mode=True) == 0


@pytest.mark.parametrize(("behind", "clipped"), [(0.5, True), (0.0, False), (-0.5, False)])
def test_ppo_clips_what_moves_too_far(behind, clipped):
    """All advantages are above 0: a ratio above 1.2 has no gradient, one below 0.8 has."""
    mac, batch = TablePolicy(), rollout(5, ["truncated"])
    p = np.exp([0.3, -0.2]) / np.exp([0.3, -0.2]).sum()
    batch = with_log_prob(batch, th.full((1, 5, 2, 1), float(np.log(p[0])) - behind))
    learner = learner_of(PPOLearner, mac, batch.scheme)
    learner.train(batch, 10, 0)
    last, ratio = learner.logger.last(), np.exp(behind)
    advantages = [a for a in advantages_by_hand("truncated") if a]
    assert last["pg_loss"] == pytest.approx(-np.mean(advantages) * min(ratio, 1.2), rel=1e-5)
    assert last["clip_fraction"] == (1.0 if behind else 0.0)
    assert last["approx_kl"] == pytest.approx(ratio - 1 - behind, abs=1e-5)
    assert (mac.logits.grad.abs().sum() == 0) == clipped


def test_a_policy_that_moved_far_ends_the_epochs():
    batch = with_log_prob(rollout(5, ["truncated"] * 2), th.full((2, 5, 2, 1), -5.0))
    steps = []
    for target_kl, after in ((0.0, "minibatch"), (0.01, "minibatch"), (0.01, "epoch")):
        changes = {"target_kl": target_kl, "target_kl_after": after, "minibatches": 2}
        learner = learner_of(PPOLearner, TablePolicy(), batch.scheme, epochs=4, **changes)
        made = learner._step
        count = []
        learner._step = lambda *args, made=made, count=count: count.append(1) or made(*args)
        learner.train(batch, 10, 0)
        steps.append(len(count))
    assert steps == [8, 1, 2]


def test_values_are_clipped_as_the_policy_is():
    """The larger error counts: that of the value, or that of one at most 0.2 away from the old value."""
    batch = with_log_prob(rollout(5, ["truncated"]), th.full((1, 5, 2, 1), -1.0))
    learner = learner_of(PPOLearner, TablePolicy(), batch.scheme)
    found = learner.estimates(batch)
    found["old_values"] = found["old_values"] - 1  # the critic has moved by 1
    returns, old = found["returns"], found["old_values"]
    near = (old + 0.2 - returns) ** 2
    expected = th.maximum(near, (old + 1 - returns) ** 2)[found["mask"] > 0].mean()
    assert learner._update(learner.sample(batch, found), 0.2, 0.0)["critic_loss"] == pytest.approx(float(expected))
    learner.args.value_clip = False
    plain = ((old + 1 - returns) ** 2)[found["mask"] > 0].mean()
    assert learner._update(learner.sample(batch, found), 0.2, 0.0)["critic_loss"] == pytest.approx(float(plain))


def test_updates_are_the_same_whether_they_are_logged_or_not():
    weights, logged = [], []
    for interval in (1, 1000):
        batch, mac, args = random_rollout(epochs=2, minibatches=3, learner_log_interval=interval, target_kl=0.5)
        learner = PPOLearner(mac, batch.scheme, RecordingLogger(), args)
        np.random.seed(0)
        for t_env in (10, 20):
            learner.train(batch, t_env, 0)
        weights.append(th.cat([parameter.flatten() for parameter in mac.parameters()]))
        logged.append(len(learner.logger.values["pg_loss"]))
    assert th.equal(*weights)
    assert logged == [2, 1]


def test_large_errors_of_values_count_linearly():
    batch = with_log_prob(rollout(5, ["truncated"]), th.full((1, 5, 2, 1), -1.0))
    learner = learner_of(PPOLearner, TablePolicy(), batch.scheme, value_clip=False, huber_delta=3.0)
    found = learner.estimates(batch)
    errors = (found["old_values"] - found["returns"])[found["mask"] > 0].abs()
    assert (errors < 3).any() and (errors > 3).any()
    expected = th.where(errors < 3, errors**2, 2 * 3 * errors - 3**2).mean()
    assert learner._update(learner.sample(batch, found), 0.2, 0.0)["critic_loss"] == pytest.approx(float(expected))


def test_policy_and_critic_see_normalised_observations():
    batch, mac, args = random_rollout(normalise_observations=True)
    learner = PPOLearner(mac, batch.scheme, RecordingLogger(), args)
    before = learner.values(batch), learner.evaluate_actions(learner.sample(batch, learner.estimates(batch))).log_prob
    learner.finish(batch)
    seen = batch["obs"][:, :-1].flatten(0, 2)
    norm = mac.normalisers["obs"]
    th.testing.assert_close(norm.mean.float(), seen.mean(0), rtol=1e-4, atol=1e-5)
    th.testing.assert_close(norm.var.float(), seen.var(0, correction=0), rtol=1e-4, atol=1e-5)
    expected = learner.values(batch), learner.evaluate_actions(learner.sample(batch, learner.estimates(batch))).log_prob
    assert not any(th.allclose(one, other) for one, other in zip(before, expected, strict=True))
    # the same networks see the same in a batch that is normalised
    args.normalise_observations = False
    plain = PolicyMAC(batch.scheme, batch.groups, args)
    plain.agent.load_state_dict(mac.agent.state_dict())
    other = PPOLearner(plain, batch.scheme, RecordingLogger(), args)
    other.critic.load_state_dict(learner.critic.state_dict())
    batch["obs"].copy_(norm.normalize(batch["obs"]))
    found = other.values(batch), other.evaluate_actions(other.sample(batch, other.estimates(batch))).log_prob
    for one, two in zip(expected, found, strict=True):
        th.testing.assert_close(one, two, rtol=1e-3, atol=1e-4)


def test_agents_without_a_choice_have_no_part_in_the_policy():
    batch, mac, args = random_rollout()
    batch["avail_actions"][:, :, 1] = th.tensor([1, 0, 0], dtype=th.int)
    batch["actions"][:, :, 1] = 0
    learner = PPOLearner(mac, batch.scheme, RecordingLogger(), args)
    found = learner.estimates(batch)
    assert (found["choices"][..., 1] == 0).all()
    chosen = found["advantages"][found["choices"] > 0]
    assert float(chosen.mean()) == pytest.approx(0, abs=1e-5)
    assert float(chosen.std(correction=0)) == pytest.approx(1, abs=1e-3)
    assert found["mask"][..., 1].sum() > 0, "its values are learned"


def test_returns_are_learned_in_units_of_their_deviation():
    batch, mac, args = random_rollout(value_norm_beta=0.0, normalise_values=True)
    batch["reward"].mul_(100)
    learner = PPOLearner(mac, batch.scheme, RecordingLogger(), args)
    found = learner.estimates(batch)
    returns = found["returns"][found["mask"] > 0]
    assert float(returns.mean()) == pytest.approx(0, abs=1e-4)
    assert float(returns.std(correction=0)) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("continued", [True, False])
def test_scaled_rewards_continue_from_rollout_to_rollout(continued):
    batch, mac, args = random_rollout(normalise_rewards=True, batch_size_run=3)
    if not continued:  # whole episodes
        batch = EpisodeBatch(
            {k: v for k, v in batch.scheme.items() if not k.endswith("before")}, batch.groups, 3, 9, data=batch.data
        )
    learner = PPOLearner(mac, batch.scheme, RecordingLogger(), args)
    learner.estimator.returns_so_far += 1000
    learner.estimates(batch)
    deviation = learner.estimator.reward_scale.moments.running_mean_var()[1].sqrt()
    assert (deviation > 10) == continued
    assert (learner.estimator.returns_so_far.abs().max() < 1000) and learner.estimator.returns_so_far.any()


def test_saved_models_are_complete(tmp_path):
    batch, _, args = random_rollout(normalise_observations=True, normalise_rewards=True, batch_size_run=3)
    learners = []
    for seed in (1, 2):
        mac = PolicyMAC(batch.scheme, batch.groups, args)
        fill(mac.parameters(), seed=seed)
        learners.append(PPOLearner(mac, batch.scheme, RecordingLogger(), args))
    first, second = learners
    first.train(batch, 10, 0)
    first.save_models(str(tmp_path))
    second.load_models(str(tmp_path))
    second.estimator.load_state_dict(first.estimator.state_dict())
    for learner in learners:
        np.random.seed(0)
        learner.train(batch, 20, 0)
    for one, two in zip(first.mac.parameters(), second.mac.parameters(), strict=True):
        assert th.equal(one, two)
    assert th.equal(first.values(batch), second.values(batch))
