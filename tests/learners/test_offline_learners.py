"""CQL, TD3+BC, implicit Q-learning and behavioural cloning: losses against NumPy, and gradients by differences."""

import numpy as np
import pytest
import torch as th

from controllers.basic_controller import BasicMAC
from controllers.policy_controller import PolicyMAC
from controllers.unroll import BatchUnroll
from fakes import RecordingLogger
from helpers import fill, make_args, random_batch
from learners import REGISTRY
from learners.bc_learner import BCLearner
from learners.cql_learner import CQLLearner
from learners.icq_learner import ICQLearner, mean_one
from learners.q_targets import policies
from modules.critics import REGISTRY as CRITICS
from off_policy import (
    DDPG,
    SAC,
    agent_outputs,
    critic_outputs,
    differences,
    drawn,
    make_learner,
    make_sample,
    numeric,
    require_gradients,
    units_of,
)
from utils.errors import ConfigError
from utils.rl_utils import valid_transitions

ENDED = np.array([1, 0, 0, 1, 0, 0])


def cql_learner(mixer=None, **changes):
    batch = random_batch([3, 5], 6)
    defaults = REGISTRY.entry("cql_learner").defaults
    args = make_args(**{**defaults, "mixer": mixer, "rnn_hidden_dim": 8, "learner_log_interval": 1, **changes})
    mac = BasicMAC(batch.scheme, batch.groups, args)
    fill(mac.parameters())
    made = CQLLearner(mac, batch.scheme, RecordingLogger(), args)
    if mixer:
        fill(made.mixer.parameters(), seed=1)
    made._update_targets()
    return made, batch


def values_by_hand(learner, batch):
    """All values with illegal ones far below, those taken, and which transitions count; by loops over steps."""
    with th.no_grad():
        unroll = BatchUnroll(batch, learner.mac)
        values = unroll.spread(unroll.outputs(learner.mac)).double().numpy()
    legal = np.where(batch["avail_actions"].numpy() != 0, values, -np.inf)
    taken = np.take_along_axis(values, batch["actions"].numpy(), axis=3)[..., 0]
    return legal, taken, valid_transitions(batch)[..., 0].numpy()


def test_each_agents_values_of_all_legal_actions_are_lowered():
    learner, batch = cql_learner(cql_weight=0.7)
    legal, taken, valid = values_by_hand(learner, batch)
    gaps = []
    for b, t in zip(*valid.nonzero(), strict=True):
        for agent in range(legal.shape[2]):
            gaps.append(np.log(np.exp(legal[b, t, agent]).sum()) - taken[b, t, agent])
    plain, _ = cql_learner(cql_weight=0)
    plain.train(batch, 10, 1)
    learner.train(batch, 10, 1)
    found = learner.logger.last()
    assert found["cql_loss"] == pytest.approx(np.mean(gaps), rel=1e-5)
    assert found["loss"] == pytest.approx(plain.logger.last()["loss"] + 0.7 * np.mean(gaps), rel=1e-5)


def test_joint_actions_that_are_drawn_are_legal_and_mixed():
    learner, batch = cql_learner("vdn", cql_actions=3)
    np.random.seed(4)
    unroll = BatchUnroll(batch, learner.mac)
    draws = learner._drawn(unroll.avail_actions)
    assert draws.shape[0] == 3
    avail = unroll.avail_actions.expand(3, *unroll.avail_actions.shape)
    assert bool((avail.gather(-1, draws) == 1).all())
    np.random.seed(4)
    learner.train(batch, 10, 1)
    with th.no_grad():
        fresh, _ = cql_learner("vdn", cql_actions=3)
        of_all = BatchUnroll(batch, fresh.mac).outputs(fresh.mac)
    joint = [unroll.take(batch["actions"]), *draws]
    sums = np.stack([unroll.spread(of_all.gather(-1, each).sum(dim=(-1, -2))).double().numpy() for each in joint])
    valid = valid_transitions(batch)[..., 0].numpy()
    gap = (np.log(np.exp(sums).sum(0)) - sums[0])[:, :-1]
    assert learner.logger.last()["cql_loss"] == pytest.approx((gap * valid).sum() / valid.sum(), rel=1e-4)


def test_all_legal_actions_are_drawn_alike():
    learner, _ = cql_learner("vdn", cql_actions=4000)
    drawn_actions = learner._drawn(th.tensor([[[1, 0, 1, 1]]]))
    counts = np.bincount(drawn_actions.flatten().numpy(), minlength=4)
    assert counts[1] == 0 and np.allclose(counts[[0, 2, 3]] / 4000, 1 / 3, atol=0.03)


def test_td3_bc_stays_near_the_data():
    learner, mac = make_learner(**DDPG, bc_alpha=2.5)
    batch = make_sample()
    x = numeric(batch)
    obs, taken = x.obs[:, 0, 0], units_of(x.actions[:, 0, 0])

    def values():
        units = np.tanh(agent_outputs(mac, obs))
        return critic_outputs(learner.critic, np.concatenate([obs, units], axis=-1))[..., 0], units

    learner._learn_values = lambda now, log=True: {}
    size = np.abs(values()[0]).mean()  # a constant of the loss

    def loss():
        found, units = values()
        return -2.5 / size * found.mean() + ((units - taken) ** 2).mean()

    expected, first = differences(loss, mac.parameters()), loss()
    learner.train(batch, 0, 0)
    assert learner.logger.last()["pg_loss"] == pytest.approx(first, rel=1e-5)
    require_gradients(mac.parameters(), expected)


def test_cqls_critics_by_numpy():
    learner, mac = make_learner(**{**SAC, "learner": "cql_actor_learner"}, cql_actions=2, cql_weight=3.0, critics=2)
    batch = make_sample()
    x, now = numeric(batch), learner.transitions(batch)
    np.random.seed(5)
    loss, logged = learner._critic_loss(now, True)
    np.random.seed(5)
    np.random.standard_normal((6, 1, 2))  # of the soft actor-critic's own targets
    units = (np.random.random((2, 6, 1, 2)) * 2 - 1).astype(np.float32)[:, :, 0]
    candidates = [(each, np.full(6, -2 * np.log(2))) for each in units]
    for t in (0, 1):
        outputs = agent_outputs(mac, x.obs[:, t, 0])
        for _ in range(2):
            noise = np.random.standard_normal((6, 1, 2)).astype(np.float32)[:, 0]
            candidates.append(drawn(outputs, noise))
    expected = 0
    for estimate in range(2):
        of = [
            critic_outputs(learner.critic, np.concatenate([x.obs[:, 0, 0], units], -1), estimate)[..., 0] - log_prob
            for units, log_prob in candidates
        ]
        taken = critic_outputs(
            learner.critic, np.concatenate([x.obs[:, 0, 0], units_of(x.actions[:, 0, 0])], -1), estimate
        )[..., 0]
        expected += (np.log(np.exp(of).mean(0)) - taken).mean()
    assert float(logged["cql_loss"]) == pytest.approx(expected, rel=1e-4)
    np.random.seed(5)
    plain, _ = super(type(learner), learner)._critic_loss(now, False)
    assert float(loss.detach()) == pytest.approx(float(plain.detach()) + 3 * expected, rel=1e-4)


def test_cqls_critics_of_choices_by_numpy():
    learner, _ = make_learner(choices=3, learner="cql_actor_learner", cql_weight=3.0, critics=2)
    batch = make_sample(choices=3)
    now = learner.transitions(batch)
    with th.no_grad():
        values = learner.values(now, 0, now.taken)[:, :, 0].double().numpy()
    legal, taken = batch["avail_actions"][:, 0, 0].numpy() != 0, batch["actions"][:, 0, 0, 0].numpy()
    expected = 0
    for estimate in values:
        gaps = [np.log(np.exp(row[ok]).sum()) - row[a] for row, ok, a in zip(estimate, legal, taken, strict=True)]
        expected += np.mean(gaps)
    assert float(learner._critic_loss(now, True)[1]["cql_loss"]) == pytest.approx(expected, rel=1e-4)


def implicit_learner(**changes):
    kept = {"learner": "implicit_q_learner", "deviation": "parameter", "squash": "clip", "critics": 2}
    return make_learner(**kept | changes)


@pytest.mark.parametrize("choices", [0, 3])
def test_implicit_q_learning_by_numpy(choices):
    learner, mac = implicit_learner(choices=choices, expectile=0.8, advantage_weight=2.0)
    batch = make_sample(choices=choices)
    now = learner.transitions(batch)
    with th.no_grad():
        state_values = learner._state_values(now, 0).double().numpy()[:, 0]
        following = learner._state_values(now, 1).double().numpy()[:, 0]
        of_targets = learner.values(now, 0, now.taken, target=True)
        if choices:
            of_targets = (of_targets * now.taken).sum(-1)
        least = of_targets.amin(0).double().numpy()[:, 0]
        taken = learner.taken_values(now).double().numpy()[..., 0]
        policy = mac.policy_at(batch, 0)
        path = "actions"
        chosen = batch[path][:, 0, :, 0] if choices else batch[path][:, 0].float()
        log_prob = policy.log_prob({path: chosen}).double().numpy()[:, 0]
    advantage = least - state_values
    weight = np.where(advantage < 0, 0.2, 0.8)
    reward = batch["reward"][:, 0, 0].double().numpy()
    targets = reward + 0.9 * (1 - ENDED) * following
    learner.args.lr = 0
    for optimiser in learner.optimisers.values():
        optimiser.param_groups[0]["lr"] = 0.0  # so that V stays what it was in the other losses
    learner.train(batch, 0, 0)
    found = learner.logger.last()
    assert found["value_loss"] == pytest.approx((weight * advantage**2).mean(), rel=1e-4)
    assert found["critic_loss"] == pytest.approx(((taken - targets) ** 2).mean(1).sum(), rel=1e-4)
    cloned = np.minimum(np.exp(2 * advantage), 100) * log_prob
    assert found["pg_loss"] == pytest.approx(-cloned.mean(), rel=1e-4)


def test_the_expectile_of_two_values_by_hand():
    """Values 0 and 1, equally often: the 0.9-expectile v has 0.9 (1 - v) = 0.1 v, so v = 0.9."""
    v, learner = th.tensor(0.0, requires_grad=True), implicit_learner(expectile=0.9)[0]
    optimiser = th.optim.SGD([v], lr=0.5)
    for _ in range(200):
        advantage = th.tensor([0.0, 1.0]) - v
        share = th.where(advantage < 0, 1 - learner.args.expectile, learner.args.expectile)
        optimiser.zero_grad()
        (share * advantage**2).mean().backward()
        optimiser.step()
    assert v.item() == pytest.approx(0.9, abs=1e-4)


def test_what_these_learners_do_not_take():
    with pytest.raises(ConfigError, match="needs probabilities of actions: deviation=parameter"):
        implicit_learner(deviation="none", squash="tanh")
    with pytest.raises(ConfigError, match="cloning needs probabilities of actions"):
        make_learner(deviation="none", squash="tanh", learner="bc_learner")
    with pytest.raises(ConfigError, match="clones all agents at once"):
        implicit_learner(update_order="sequential")


def test_weights_are_one_in_the_mean_of_what_counts():
    x = th.tensor([[[1.0, 700.0], [2.0, 1e9]], [[3.0, 700.0], [-5.0, 0.0]]])
    mask = th.tensor([[[1.0, 1.0], [1.0, 0.0]], [[1.0, 1.0], [0.0, 0.0]]])
    found = mean_one(x, mask)
    powers = np.exp([1.0, 2.0, 3.0])
    assert found[..., 0].flatten().tolist() == pytest.approx([*(3 * powers / powers.sum())[[0, 1, 2]], 0])
    assert found[..., 1].flatten().tolist() == [1, 0, 1, 0]
    assert mean_one(x, 0 * mask).abs().max() == 0


def icq_learner():
    batch = random_batch([3, 5], 6, ["terminated", "truncated"])
    args = make_args(
        **{**REGISTRY.entry("icq_learner").defaults, **CRITICS.entry("own_actions").defaults},
        agent_output_type="pi_logits",
        mixer="linear",
        critic="own_actions",
        rnn_hidden_dim=8,
        learner_log_interval=1,
        gamma=0.9,
        action_selector="multinomial",
        epsilon_start=0.0,
        epsilon_finish=0.0,
    )
    args.icq_value_temperature, args.icq_advantage_temperature, args.critic_hidden_dim = 0.5, 0.3, 8
    mac = BasicMAC(batch.scheme, batch.groups, args)
    fill(mac.parameters())
    learner = ICQLearner(mac, batch.scheme, RecordingLogger(), args)
    for number, network in enumerate((learner.critic, learner.mixer, learner.target_critic, learner.target_mixer)):
        fill(network.parameters(), seed=number + 1)
    return learner, batch


def test_icq_by_numpy():
    learner, batch = icq_learner()
    valid = valid_transitions(batch)[..., 0].numpy()
    with th.no_grad():
        pi = policies(learner, batch).double().numpy()
        values, of_target = (net(batch).double().numpy() for net in (learner.critic, learner.target_critic))
        state = batch["state"]
        counts = learner.mixer.k(state).double().numpy()

        def mixed(mixer, of_agents):
            return mixer(th.as_tensor(of_agents).float(), state)[..., 0].double().numpy()

        taken = np.take_along_axis(values, batch["actions"].numpy(), axis=3)[..., 0]
        target_taken = np.take_along_axis(of_target, batch["actions"].numpy(), axis=3)[..., 0]
        q_tot, joint = mixed(learner.mixer, taken), mixed(learner.target_mixer, target_taken)
        expected = mixed(learner.target_mixer, (pi * of_target).sum(-1))
    reward, terminated = (batch[key][..., 0].double().numpy() for key in ("reward", "terminated"))
    places = [(b, t) for b, t in zip(*valid.nonzero(), strict=True)]
    # the episode that was cut off continues with what the policies make of its closing state
    after = {(b, t): joint[b, t + 1] if (b, t + 1) in places else expected[b, t + 1] for b, t in places}
    continuing = [place for place in places if not terminated[place]]
    scale = np.mean([np.exp(after[place] / 0.5) for place in continuing])
    errors = []
    for place in places:
        following = 0 if terminated[place] else np.exp(after[place] / 0.5) / scale * after[place]
        errors.append(q_tot[place] - reward[place] - 0.9 * following)
    terms = []
    for agent in range(taken.shape[2]):
        advantages = {p: taken[(*p, agent)] - (pi[p][agent] * values[p][agent]).sum() for p in places}
        own_scale = np.mean([np.exp(a / 0.3) for a in advantages.values()])
        for p, advantage in advantages.items():
            likely = pi[p][agent][batch["actions"].numpy()[p][agent, 0]]
            terms.append(counts[p][agent] * np.exp(advantage / 0.3) / own_scale * np.log(likely))
    learner.train(batch, 10, 1)
    found = learner.logger.last()
    assert found["critic_loss"] == pytest.approx(np.mean(np.square(errors)), rel=1e-4)
    assert found["pg_loss"] == pytest.approx(-np.mean(terms), rel=1e-4)


@pytest.mark.parametrize("agent", ["rnn", "ff"])
def test_cloning_by_numpy_and_its_gradient(agent):
    batch = random_batch([3, 5], 6)
    args = make_args(agent=agent, rnn_hidden_dim=5, learner_log_interval=1, agent_output_type="pi_logits", critic="own")
    mac = PolicyMAC(batch.scheme, batch.groups, args)
    fill(mac.parameters(), scale=0.4)
    learner = BCLearner(mac, batch.scheme, RecordingLogger(), args)
    legal, valid = batch["avail_actions"].numpy() != 0, valid_transitions(batch)[..., 0].numpy()
    taken = batch["actions"].numpy()[..., 0]

    def loss():
        with th.no_grad():
            unroll = BatchUnroll(batch, mac)
            logits = unroll.spread(unroll.outputs(mac)).double().numpy()
        terms = []
        for b, t in zip(*valid.nonzero(), strict=True):
            for i in range(logits.shape[2]):
                if legal[b, t, i].sum() > 1:
                    of = logits[b, t, i]
                    terms.append(np.log(np.exp(of[legal[b, t, i]]).sum()) - of[taken[b, t, i]])
        return np.mean(terms)

    expected, first = differences(loss, mac.parameters()), loss()
    assert learner.test_loss(batch) == pytest.approx(first, rel=1e-5)
    learner.train(batch, 10, 1)
    assert learner.logger.last()["loss"] == pytest.approx(first, rel=1e-5)
    scale = learner.logger.last()["grad_norm"]
    clip = min(1, args.grad_norm_clip / scale)
    require_gradients(mac.parameters(), [gradient * clip for gradient in expected])
