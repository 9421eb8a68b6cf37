"""MASER: subgoals, their rewards and its three losses, by hand and by loops over episodes and agents."""

import numpy as np
import pytest
import torch as th
import torch.nn.functional as F

from controllers.basic_controller import BasicMAC
from controllers.unroll import BatchUnroll, unroll_mac
from fakes import RecordingLogger
from helpers import fill, make_args, random_batch
from learners.maser_learner import MASERLearner
from learners.q_targets import legal_values
from utils.rl_utils import valid_transitions

ENDS = [("terminated", 3), ("truncated", 5), ("terminated", 1)]
LENGTHS = [length for _, length in ENDS]
GAMMA, ALPHA, LAMBDA = 0.9, 0.3, 0.5
SETTINGS = {
    "learner": "maser_learner",
    "mixer": "vdn",
    "rnn_hidden_dim": 4,
    "learner_log_interval": 1,
    "gamma": GAMMA,
    "lr": 0.01,
    "target_update_interval": 1000,
    "subgoal_alpha": ALPHA,
    "subgoal_reward": LAMBDA,
    "distance_embed_dim": 6,
    "individual_coef": 0.7,
    "distance_coef": 0.2,
    "explore_coef": 0.1,
    "distance_untrained": False,
    "subgoals_of_padding": False,
}


def episodes():
    return random_batch(LENGTHS, 6, [end for end, _ in ENDS])


def learner_of(batch, **changes):
    args = make_args(**SETTINGS | changes)
    learner = MASERLearner(BasicMAC(batch.scheme, batch.groups, args), batch.scheme, RecordingLogger(), args)
    for seed, part in enumerate([learner.mac.agent, learner.target_mac.agent, learner.distance]):
        fill(part.parameters(), seed=seed, scale=0.8)
    return learner


def by_hand(learner, batch, alpha=ALPHA, lengths=LENGTHS):
    """Of each valid step and agent: (row, t, agent) -> distance, error, certainty, whether after its subgoal."""
    with th.no_grad():
        (online, _), (target, _) = (unroll_mac(mac, batch) for mac in (learner.mac, learner.target_mac))
        legal = batch["avail_actions"] > 0
        found = {}
        for row, length in enumerate(lengths):
            greedy = [[_best(online[row, t, i], legal[row, t, i]) for i in range(2)] for t in range(length)]
            own = np.array([[float(target[row, t, i, greedy[t][i]]) for i in range(2)] for t in range(length)])
            for i in range(2):
                goal = int(np.argmax(alpha * own[:, i] + (1 - alpha) * own.sum(1) / 2))
                for t in range(length):
                    places = [learner.distance(batch["obs"][row, step, i]) for step in (t, goal)]
                    values = [target[row, step, i] * legal[row, step, i] for step in (t, goal)]
                    distance = float((places[0] - places[1]).norm())
                    unlike = 1 - float(F.cosine_similarity(*values, dim=0))
                    policy = online[row, t, i].masked_fill(~legal[row, t, i], -1e9).softmax(0) + 1e-6
                    certainty = float((policy * (policy * len(policy)).log()).sum())
                    found[row, t, i] = distance, (distance - unlike) ** 2, certainty, t >= goal
    return found


def _best(values, legal):
    return int(values.masked_fill(~legal, -1e9).argmax())


def seen_by(learner, batch):
    unroll = BatchUnroll(batch, learner.mac)
    mac_out, target = unroll.outputs(learner.mac), unroll.outputs(learner.target_mac)
    mask = valid_transitions(batch)
    return learner._look_ahead(unroll, mac_out, legal_values(target, unroll.avail_actions), mask), mask


@pytest.mark.parametrize("alpha", [0.0, 0.7, 1.0])
def test_subgoals_are_the_most_promising_steps(alpha):
    lengths = [6, 3, 5] * 5
    batch = random_batch(lengths, 7)
    learner = learner_of(batch, subgoal_alpha=alpha)
    seen, _ = seen_by(learner, batch)
    expected = by_hand(learner, batch, alpha, lengths)
    # not all at one end
    assert 0 < sum(found[3] for found in expected.values()) < len(expected)
    for (row, t, i), (distance, error, certainty, after) in expected.items():
        found = [float(part.detach()[row, t, i]) for part in (seen.distances, seen.errors, seen.certainty, seen.after)]
        assert found == pytest.approx([distance, error, certainty, float(after)], rel=1e-4, abs=1e-5)


def test_the_team_is_paid_the_mean_of_its_agents_nearness():
    batch = episodes()
    learner = learner_of(batch)
    seen, mask = seen_by(learner, batch)
    rewards = learner._rewards(batch, mask, seen)
    expected = by_hand(learner, batch)
    for row, length in enumerate(LENGTHS):
        for t in range(length):
            bonus = -LAMBDA * (expected[row, t, 0][0] + expected[row, t, 1][0]) / 2
            assert float(rewards[row, t]) == pytest.approx(float(batch["reward"][row, t]) + bonus, rel=1e-4)


def test_its_losses_are_those_of_loops():
    batch = episodes()
    learner = learner_of(batch)
    expected = by_hand(learner, batch)
    with th.no_grad():
        (online, _), (target, _) = (unroll_mac(mac, batch) for mac in (learner.mac, learner.target_mac))
    legal, own_errors, explored = batch["avail_actions"] > 0, [], []
    for row, (end, length) in enumerate(ENDS):
        for i in range(2):
            explored.append(np.mean([expected[row, t, i][2] for t in range(length) if expected[row, t, i][3]]))
        for t in range(length):
            chosen = [_best(online[row, t + 1, i], legal[row, t + 1, i]) for i in range(2)]
            following = np.array([float(target[row, t + 1, i, chosen[i]]) for i in range(2)])
            shares = np.exp(following) / np.exp(following).sum()
            near = -LAMBDA * np.array([expected[row, t, i][0] for i in range(2)])
            reward = float(batch["reward"][row, t]) + near.mean()
            over = end == "terminated" and t == length - 1
            wanted = shares * reward + near + GAMMA * (not over) * following
            taken = [float(online[row, t, i, batch["actions"][row, t, i, 0]]) for i in range(2)]
            own_errors.append(np.square(taken - wanted).sum())
    learner.train(batch, 0, 0)
    stats = learner.logger.last()
    assert stats["individual_loss"] == pytest.approx(np.mean(own_errors), rel=1e-4)
    assert stats["explore_loss"] == pytest.approx(np.mean(explored), rel=1e-4)
    assert stats["distance_loss"] == pytest.approx(np.mean([found[1] for found in expected.values()]), rel=1e-4)
    assert stats["intrinsic_reward"] == pytest.approx(-np.mean([found[0] for found in expected.values()]), rel=1e-4)
    plain = learner_of(batch, individual_coef=0.0, distance_coef=0.0, explore_coef=0.0)
    plain.train(batch, 0, 0)
    added = 0.7 * stats["individual_loss"] + 0.2 * stats["distance_loss"] + 0.1 * stats["explore_loss"]
    assert stats["loss"] - plain.logger.last()["loss"] == pytest.approx(added, rel=1e-3)


@pytest.mark.parametrize("untrained", [False, True])
def test_distances_learn_how_unlike_values_are(untrained):
    batch = episodes()
    learner = learner_of(batch, distance_untrained=untrained, lr=0.01)
    before = learner.distance[0].weight.clone()
    losses = []
    for step in range(12):
        learner.train(batch, step, 0)
        losses.append(learner.logger.last()["distance_loss"])
    assert th.equal(learner.distance[0].weight, before) == untrained
    assert untrained or losses[-1] < 0.5 * losses[0]


def test_padding_counts_if_it_is_to():
    """By what stands in padded observations, which the distances see."""
    found = []
    for padding, noise in ((False, 0.0), (False, 9.0), (True, 0.0), (True, 9.0)):
        batch = episodes()
        batch["obs"][0, 4:] = noise
        learner = learner_of(batch, subgoals_of_padding=padding)
        learner.train(batch, 0, 0)
        found.append(learner.logger.last()["distance_loss"])
    assert found[0] == found[1] and found[2] != found[3]
