"""CDS: rewards for differing by loops, what learns, and a game that agents with nothing of their own cannot play."""

from itertools import product

import numpy as np
import pytest
import torch as th

from checks.options import completed
from checks.parts import ChosenParts, check_options_of_parts
from controllers.basic_controller import BasicMAC
from controllers.unroll import BatchUnroll, unroll_mac
from fakes import RecordingLogger
from helpers import empty_batch, fill, make_args, random_batch
from learners.cds_learner import CDSLearner
from learners.q_targets import legal_values
from modules.next_obs import NextObservation
from utils.config.merging import default_config
from utils.errors import ConfigError
from utils.rl_utils import valid_transitions

LENGTHS, H, BETA, BETA1, BETA2 = [3, 5, 1], 4, 0.2, 0.7, 1.3
SETTINGS = {
    "learner": "cds_learner",
    "agent": "rnn_cds",
    "mixer": "vdn",
    "rnn_hidden_dim": H,
    "learner_log_interval": 1,
    "lr": 0.01,
    "target_update_interval": 1000,
    "diversity_coef": BETA,
    "beta1": BETA1,
    "beta2": BETA2,
    "own_values_coef": 0.4,
    "own_values_of_padding": False,
    "predict_net_dim": 6,
    "predict_lr": 0.01,
    "predict_batch_size": 7,
}


def learner_of(batch, **changes):
    args = make_args(**SETTINGS | changes)
    learner = CDSLearner(BasicMAC(batch.scheme, batch.groups, args), batch.scheme, RecordingLogger(), args)
    targets = learner.target_networks.values()
    for seed, part in enumerate([learner.mac.agent, learner.target_mac.agent, *learner.networks.values(), *targets]):
        fill(part.parameters(), seed=seed, scale=0.8)
    return learner


def rewards_by_hand(learner, batch):
    """Of each transition: (row, t) -> the mean of the agents' rewards for differing, by the target predictors."""
    with th.no_grad():
        values, memory = unroll_mac(learner.mac, batch)
        p, q = (learner.target_networks[name] for name in ("predictor", "predictor_with_id"))
        found = {}
        for row, length in enumerate(LENGTHS):
            for t in range(length):
                policies = [values[row, t, i].softmax(0) for i in range(2)]
                mean, rewards = (policies[0] + policies[1]) / 2, []
                for i in range(2):
                    before = memory[row, t - 1, i] if t else th.zeros(H)
                    seen = th.cat([before, batch["obs"][row, t, i], batch["actions_onehot"][row, t, i]])
                    after, known = batch["obs"][row, t + 1, i], th.cat([seen, th.eye(2)[i]])
                    log_p, log_q = -((p(seen) - after) ** 2).sum(), -((q(known) - after) ** 2).sum()
                    scaled = (BETA1 * values[row, t, i]).softmax(0)
                    parted = (scaled * (scaled / mean).log()).sum()
                    rewards.append(float(BETA1 * log_q - log_p + BETA2 * parted))
                found[row, t] = np.mean(rewards)
    return found


def test_the_team_is_paid_for_agents_that_differ():
    batch = random_batch(LENGTHS, 6, ["terminated", "truncated", "terminated"])
    learner = learner_of(batch)
    expected = rewards_by_hand(learner, batch)
    assert len({round(value, 3) for value in expected.values()}) == sum(LENGTHS)
    unroll, mask = BatchUnroll(batch, learner.mac), valid_transitions(batch)
    mac_out, known = learner._values(unroll, learner.mac)
    seen = learner._look_ahead(unroll, mac_out, legal_values(mac_out, unroll.avail_actions), mask, (known, None))
    rewards = learner._rewards(batch, mask, seen)
    for (row, t), bonus in expected.items():
        assert float(rewards[row, t]) == pytest.approx(float(batch["reward"][row, t]) + BETA * bonus, rel=1e-4)
    again = learner_of(batch)
    again.train(batch, 0, 0)
    mean = np.mean(list(expected.values()))
    assert again.logger.last()["intrinsic_reward"] == pytest.approx(mean, rel=1e-4)


def test_predictions_learn_from_what_was_done_and_pay_after_the_targets_follow():
    """What stands in padding teaches nothing."""
    found = []
    for noise in (0.0, 50.0):
        batch = random_batch(LENGTHS, 6)
        batch["obs"][0, 4:] = noise
        learner = learner_of(batch)
        seen = th.cat([th.zeros(2, H), batch["obs"][1, 0], batch["actions_onehot"][1, 0].float()], dim=-1)
        before = [learner.networks["predictor"].errors(seen, batch["obs"][1, 1]).mean().item()]
        target = learner.target_networks["predictor"].linear1.weight.clone()
        np.random.seed(0)
        for update in range(30):
            learner.train(batch, update, 0)
        assert th.equal(target, learner.target_networks["predictor"].linear1.weight)
        learner.train(batch, 30, 1000)
        assert th.equal(*(nets["predictor"].linear1.weight for nets in (learner.networks, learner.target_networks)))
        after = learner.networks["predictor"].errors(seen, batch["obs"][1, 1]).mean().item()
        assert after < 0.7 * before[0]
        found.append(after)
    assert found[0] == found[1]


@pytest.mark.parametrize("padding", [False, True])
def test_own_values_are_kept_small(padding):
    batch = random_batch(LENGTHS, 6)
    learner = learner_of(batch, own_values_of_padding=padding)
    with th.no_grad():
        own = learner.mac.agent.own_values(unroll_mac(learner.mac, batch)[1]).abs()
    filled = th.ones_like(batch["filled"]) if padding else batch["filled"]
    expected = float((own.mean(dim=(2, 3)) * filled[..., 0]).sum() / filled.sum())
    learner.train(batch, 0, 0)
    stats = learner.logger.last()
    assert stats["own_values"] == pytest.approx(expected, rel=1e-4)
    plain = learner_of(batch, own_values_of_padding=padding, own_values_coef=0.0)
    plain.train(batch, 0, 0)
    assert stats["loss"] - plain.logger.last()["loss"] == pytest.approx(0.4 * expected, rel=1e-3)


@pytest.mark.parametrize("own_values_coef", [0.1, 100.0])
def test_agents_that_see_the_same_share_out_a_task_by_values_of_their_own(own_values_coef):
    """Two agents without identities are paid if they differ; never, if values of their own cost too much."""
    batch = empty_batch(4, 2, n_agents=2, n_actions=2, obs_shape=1, state_shape=1)
    shown = {"obs": [[1.0], [1.0]], "state": [1.0], "avail_actions": [[1, 1], [1, 1]]}
    for row, (first, second) in enumerate(product(range(2), repeat=2)):
        batch.update(
            {**shown, "actions": [first, second], "reward": [first != second], "terminated": [1]}, bs=row, ts=0
        )
        batch.update({**shown, "actions": [0, 0]}, bs=row, ts=1)
    sizes = {"n_agents": 2, "n_actions": 2, "obs_shape": 1, "state_shape": 1}
    settings = {"mixer": "dmaq_qatten", "rnn_hidden_dim": 8, "obs_agent_id": False, "own_values_coef": own_values_coef}
    th.manual_seed(1)
    args = make_args(**SETTINGS | sizes | settings | {"target_update_interval": 10, "predict_batch_size": 256})
    learner = CDSLearner(BasicMAC(batch.scheme, batch.groups, args), batch.scheme, RecordingLogger(), args)
    for update in range(100):
        learner.train(batch, update, update)
    with th.no_grad():
        first, second = unroll_mac(learner.mac, batch)[0][0, 0].argmax(dim=-1).tolist()
    assert (first != second) == (own_values_coef < 1)


def test_who_acts_is_seen_by_both_layers():
    network = NextObservation(3, 5, 2, identities=2)
    fill(network.parameters(), scale=1.0)
    with th.no_grad():
        network.linear1.weight[:, 3:] = 0
        one, other = (network(th.cat([th.ones(3), th.eye(2)[i]])) for i in range(2))
    assert not th.allclose(one, other)


def test_all_agents_share_the_rest():
    with pytest.raises(ConfigError, match=r"agent=rnn_cds has weights that all agents share.*share_params=True"):
        check_options_of_parts(ChosenParts(completed({**default_config(), **SETTINGS, "share_params": False})))
