"""PPO and A2C: estimates and losses by hand, acting and learning see the same policy, whole or in chunks."""

import numpy as np
import pytest
import torch as th
from test_pqn_learner import Recall, RecallBatch, rollout

from checks import check_config
from cli.compose import compose_config
from components.episode_buffer import EpisodeBatch
from components.transforms import OneHot
from controllers.hidden_states import reset_where
from controllers.inputs import behind_a_column
from controllers.policy_controller import PolicyMAC
from envs import REGISTRY
from fakes import RecordingLogger
from helpers import fill, make_args
from learners.a2c_learner import A2CLearner
from learners.ppo_learner import PPOLearner
from modules.policies.distributions import Categorical, Joint
from run import run
from utils.config import config_path, default_config, recursive_dict_update
from utils.errors import ConfigError
from utils.rl_utils import episode_starts
from utils.yaml_files import load_yaml

GAMMA, LAMBDA = 0.9, 0.5
# V of the observations 0 to 4, and GAE of the rollout by hand; column 2 is the closing state
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
    for target_kl in (0.0, 0.01):
        learner = learner_of(PPOLearner, TablePolicy(), batch.scheme, epochs=4, target_kl=target_kl)
        made = learner._step
        count = []
        learner._step = lambda *args, made=made, count=count: count.append(1) or made(*args)
        learner.train(batch, 10, 0)
        steps.append(len(count))
    assert steps == [4, 1]


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


@pytest.mark.parametrize(
    ("changes", "shapes"),
    [
        ({}, [(3, 8)]),
        ({"epochs": 2, "minibatches": 3}, [(1, 8)] * 6),
        ({"chunk_length": 4, "minibatches": 2}, [(3, 4)] * 2),
        ({"chunk_length": 4, "burn_in": 2}, [(6, 6)]),
    ],
)
def test_updates_see_the_parts_that_the_config_asks_for(changes, shapes):
    batch, mac, args = random_rollout(**changes)
    learner = PPOLearner(mac, batch.scheme, RecordingLogger(), args)
    update, seen = learner._update, []
    learner._update = lambda part, *rest: seen.append((part.batch_size, part.max_seq_length)) or update(part, *rest)
    learner.train(batch, 10, 0)
    assert seen == shapes


def random_rollout(agent="rnn", rows=3, columns=9, **changes):
    """A rollout of random episodes, acted by a controller from random memory; returns both."""
    rng = np.random.default_rng(0)
    batch = rollout(2, ["terminated"])
    scheme = {k: v for k, v in batch.scheme.items() if k not in ("filled", "actions_onehot")}
    scheme |= {"obs": {**scheme["obs"], "vshape": (5,)}, "log_prob": {"vshape": (1,), "group": "agents"}}
    hidden = {"vshape": (64,), "group": "agents", "episode_const": True}
    scheme["hidden_before"] = hidden
    batch = EpisodeBatch(scheme, batch.groups, rows, columns, preprocess={"actions": ("actions_onehot", [OneHot(3)])})
    args = make_args(agent=agent, critic="own", obs_last_action=True, obs_shape=5, n_agents=2, **changes)
    mac = PolicyMAC(batch.scheme, batch.groups, args)
    fill(mac.parameters(), scale=0.4)
    batch["hidden_before"].normal_(generator=th.Generator().manual_seed(1))
    batch["last_actions_before"][:, :, 1] = 1
    ends = rng.random((rows, columns)) < 0.2
    ends[:, 1:] &= ~ends[:, :-1]
    ends[:, -2:] = False
    ends[0, 3], ends[0, 2], ends[0, 4] = True, False, False  # the closing state starts a chunk of four
    mac.init_hidden(rows)
    initial = mac.hidden_states
    mac.hidden_states = batch["hidden_before"]
    th.manual_seed(0)
    for t in range(columns):
        legal = rng.integers(2, size=(rows, 2, 3))
        legal[..., 0] = 1
        seen = {"obs": rng.normal(size=(rows, 2, 5)), "state": np.zeros((rows, 1)), "avail_actions": legal}
        batch.update({**seen, "terminated": ends[:, t, None], "reward": rng.normal(size=(rows, 1))}, ts=t)
        starts = episode_starts(batch)
        mac.hidden_states = reset_where(starts[:, t], mac.hidden_states, initial)
        decision = mac.decide(behind_a_column(batch, starts), t + 1, 0)
        batch.update({"actions": decision.actions["actions"], "log_prob": decision.extra("log_prob")}, ts=t)
    return batch, mac, args


@pytest.mark.parametrize("chunk_length", [0, 1, 2, 4, 8])
@pytest.mark.parametrize("agent", ["rnn", "ff"])
def test_learning_sees_the_policy_that_acted(agent, chunk_length):
    """Also from parts of a rollout: their memory and last actions are those that acting had there."""
    batch, mac, args = random_rollout(agent)
    learner = PPOLearner(mac, batch.scheme, RecordingLogger(), args)
    sample = learner.sample(batch, learner.estimates(batch), chunk_length)
    length = chunk_length or 8
    assert (sample.batch_size, sample.max_seq_length) == (3 * 8 // length, length)
    now = learner.evaluate(sample)
    th.testing.assert_close(now.log_prob, sample["old_log_prob"], rtol=1e-4, atol=1e-5)
    th.testing.assert_close(now.values, sample["old_values"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("burn_in", [1, 3])
def test_a_burn_in_is_seen_and_not_learned_from(burn_in):
    batch, mac, args = random_rollout()
    learner = PPOLearner(mac, batch.scheme, RecordingLogger(), args)
    estimates = learner.estimates(batch)
    sample = learner.sample(batch, estimates, 4, burn_in)
    assert (sample.batch_size, sample.max_seq_length) == (6, 4 + burn_in)
    now = learner.evaluate(sample)
    th.testing.assert_close(now.log_prob, sample["old_log_prob"], rtol=1e-4, atol=1e-5)
    # the first part starts where the rollout does, the second so many steps before column 4
    for part, columns in ((0, slice(0, 4)), (1, slice(burn_in, None))):
        inside = th.zeros(4 + burn_in, 1)
        inside[columns] = 1
        mask = sample["mask"][part::2]
        assert (mask * (1 - inside)).sum() == 0
        assert th.equal(mask[:, columns], estimates["mask"][:, 4 * part : 4 * part + 4])
    assert th.equal(sample["mask"].sum(), estimates["mask"].sum())


def test_the_same_gradient_from_chunks_of_length_one_without_memory():
    """A feed-forward policy learns the same from steps as from rows."""
    grads = []
    for chunk_length in (0, 1):
        batch, mac, args = random_rollout("ff")
        learner = PPOLearner(mac, batch.scheme, RecordingLogger(), args)
        sample = learner.sample(batch, learner.estimates(batch), chunk_length)
        learner._update(sample, 0.2, 0.01)
        grads.append([p.grad.clone() for p in mac.parameters()])
    for one, other in zip(*grads, strict=True):
        th.testing.assert_close(one, other, rtol=1e-3, atol=1e-6)


def test_chunks_that_do_not_divide_a_rollout_are_refused():
    config = compose_config("mappo", "skirmish").config | {"chunk_length": 5}
    with pytest.raises(ConfigError, match="chunk_length=5 does not divide rollout_steps=32"):
        check_config(config)
    with pytest.raises(ConfigError, match=r"burn_in=25: .* a part has 24 steps before it"):
        check_config(config | {"chunk_length": 8, "burn_in": 25})


def test_policy_and_critic_see_normalised_observations():
    batch, mac, args = random_rollout(normalise_observations=True)
    learner = PPOLearner(mac, batch.scheme, RecordingLogger(), args)
    before = learner.values(batch), learner.evaluate(learner.sample(batch, learner.estimates(batch))).log_prob
    learner.finish(batch)
    seen = batch["obs"][:, :-1].flatten(0, 2)
    norm = mac.normalisers["obs"]
    th.testing.assert_close(norm.mean.float(), seen.mean(0), rtol=1e-4, atol=1e-5)
    th.testing.assert_close(norm.var.float(), seen.var(0, correction=0), rtol=1e-4, atol=1e-5)
    expected = learner.values(batch), learner.evaluate(learner.sample(batch, learner.estimates(batch))).log_prob
    assert not any(th.allclose(one, other) for one, other in zip(before, expected, strict=True))
    # the same networks see the same in a batch that is normalised
    args.normalise_observations = False
    plain = PolicyMAC(batch.scheme, batch.groups, args)
    plain.agent.load_state_dict(mac.agent.state_dict())
    other = PPOLearner(plain, batch.scheme, RecordingLogger(), args)
    other.critic.load_state_dict(learner.critic.state_dict())
    batch["obs"].copy_(norm.normalize(batch["obs"]))
    found = other.values(batch), other.evaluate(other.sample(batch, other.estimates(batch))).log_prob
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


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "changes"), [("ippo", {}), ("mappo", {"chunk_length": 3, "agent": "lstm"})])
def test_it_learns_to_remember(algorithm, changes, monkeypatch, tmp_path):
    """Rollouts of six steps, and parts of three, cut the episodes of four; without memory a quarter is the best."""
    monkeypatch.setitem(REGISTRY._entries, "recall", None)
    REGISTRY.declare("recall", Recall, "recall", batched=RecallBatch)
    config = recursive_dict_update(default_config(), load_yaml(config_path(algorithm, "algs")))
    sizes = {"batch_size_run": 32, "rollout_steps": 6, "rnn_hidden_dim": 16, "lr": 0.002, "critic_lr": 0.002}
    experiment = {"env": "recall", "t_max": 15000, "test_interval": 20000, "test_nepisode": 64, "seed": 1}
    recursive_dict_update(config, {**sizes, **experiment, **changes, "local_results_path": str(tmp_path)})
    assert run(config) > 0.9


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
