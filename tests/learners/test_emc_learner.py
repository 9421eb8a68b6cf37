"""EMC's episodic memory: what it keeps, its term in the loss by hand, and that what was found once is learned soon."""

import numpy as np
import pytest
import torch as th

from checks.options import completed
from checks.parts import ChosenParts, check_options_of_parts
from controllers.basic_controller import BasicMAC
from controllers.unroll import unroll_mac
from fakes import RecordingLogger
from helpers import fill, make_args, random_batch
from learners.emc_learner import EMCLearner
from learners.intrinsic.rewards import attach, rewarded
from modules.episodic_memory import EpisodicMemory
from utils.config.merging import default_config
from utils.errors import ConfigError

LENGTHS, GAMMA, COEF = [3, 5, 1], 0.9, 0.3
ENDS = ["terminated", "truncated", "terminated"]
SETTINGS = {
    "learner": "emc_learner",
    "mixer": "vdn",
    "rnn_hidden_dim": 4,
    "learner_log_interval": 1,
    "gamma": GAMMA,
    "target_update_interval": 1000,
    "memory_coef": COEF,
    "memory_size": 1000,
    "memory_latent_dim": 3,
    "intrinsic": None,
}


def learner_of(batch, **changes):
    args = make_args(**SETTINGS | changes)
    learner = EMCLearner(BasicMAC(batch.scheme, batch.groups, args), batch.scheme, RecordingLogger(), args)
    for seed, part in enumerate([learner.mac.agent, learner.target_mac.agent]):
        fill(part.parameters(), seed=seed, scale=0.8)
    return attach(learner, batch.scheme, args)


def recalled(memory, states):
    returns, known = memory.recall(states)
    return [float(x) if found else None for x, found in zip(returns, known, strict=True)]


def test_it_keeps_the_largest_return_of_each_state():
    memory, states = EpisodicMemory(4, 3, 1000), th.randn(6, 4)
    rows, returns = th.tensor([0, 1, 0, 2, 0, 3]), th.tensor([1.0, -5.0, 3.0, 2.0, -4.0, 9.0])
    memory.remember(states[rows], returns, th.tensor([True, True, True, True, True, False]))
    assert recalled(memory, states) == [3.0, -5.0, 2.0, None, None, None]
    memory.remember(states[[0, 1, 4]], th.tensor([2.0, -1.0, 0.5]), th.ones(3, dtype=th.bool))
    assert recalled(memory, states) == [3.0, -1.0, 2.0, None, 0.5, None]
    # states that differ by rounding are one, others are not
    assert recalled(memory, states[:2] + 1e-7) == [3.0, -1.0] and recalled(memory, states[:2] + 0.1) == [None, None]


def test_it_is_bounded_and_the_newest_states_take_places():
    """Of more states than places nothing is mixed up: who is known has a return of its own."""
    memory = EpisodicMemory(4, 3, 16)
    states, returns = th.randn(200, 4), th.arange(200.0)
    for part in range(0, 200, 20):
        memory.remember(states[part : part + 20], returns[part : part + 20], th.ones(20, dtype=th.bool))
        # all newest states that met in no place
        found = recalled(memory, states[part : part + 20])
        places = (memory.key(states[part : part + 20]) % 16).tolist()
        assert sum(value is not None for value in found) == len(set(places))
    found = recalled(memory, states)
    assert all(value is None or value == row for row, value in enumerate(found))
    assert memory.keys.shape == (16,) and 10 <= sum(value is not None for value in found) <= 16
    memory.remember(states[:1], th.tensor([-7.0]), th.ones(1, dtype=th.bool))
    assert recalled(memory, states[:1]) == [-7.0], "a state that had left starts again"


def returns_by_hand(batch):
    """Of each transition, (row, t) -> the discounted rewards to the end."""
    found = {}
    for row, length in enumerate(LENGTHS):
        value = 0.0
        for t in reversed(range(length)):
            value = found[row, t] = float(batch["reward"][row, t]) + GAMMA * value
    return found


def test_it_remembers_the_returns_of_what_was_really_done():
    batch = random_batch(LENGTHS, 6, ENDS)
    learner = learner_of(batch)
    learner.take_rollout(batch, 0)
    expected = returns_by_hand(batch)
    for row, length in enumerate(LENGTHS):
        found = recalled(learner.memory, batch["state"][row])
        assert found[:length] == pytest.approx([expected[row, t] for t in range(length)], rel=1e-5)
        assert found[length:] == [None] * (6 - length), "closing states and padding"


@pytest.mark.parametrize("intrinsic", [None, "rnd"])
def test_its_term_in_the_loss(intrinsic):
    """By a loop; the second episode is known, and of the others only that nothing follows their ends."""
    batch = random_batch(LENGTHS, 6, ENDS)
    learner, plain = learner_of(batch, intrinsic=intrinsic), learner_of(batch, memory_coef=0.0, intrinsic=intrinsic)
    if intrinsic:
        plain.intrinsic.load_state_dict(learner.intrinsic.state_dict())
    learner.take_rollout(batch[1:2], 0)
    returns, errors = returns_by_hand(batch), []
    with th.no_grad():
        values = unroll_mac(learner.mac, batch)[0].gather(3, batch["actions"])[..., 0].sum(2)
    for row, (end, length) in enumerate(zip(ENDS, LENGTHS, strict=True)):
        for t in range(length):
            last = t == length - 1
            if (row == 1 and not last) or (last and end == "terminated"):
                following = 0.0 if last else GAMMA * returns[row, t + 1]
                errors.append(float(batch["reward"][row, t]) + following - float(values[row, t]))
    assert len(errors) == 6
    for each in (learner, plain):
        each.train(rewarded(each, batch, 0), 0, 0)
    stats = learner.logger.last()
    assert stats["memory_hits"] == pytest.approx(6 / 9)
    assert stats["memory_loss"] == pytest.approx(np.square(errors).sum() / 9, rel=1e-4)
    difference = stats["loss"] - plain.logger.last()["loss"]
    assert difference == pytest.approx(COEF * stats["memory_loss"], rel=1e-3)


def test_what_was_found_once_is_learned_from_at_once():
    """A chain whose last step pays: the first step's value comes near the return long before its TD error tells."""
    steps, found = 6, []
    for coef in (0.0, 9.0):
        batch = random_batch([steps], steps + 1)
        batch["reward"][:] = 0.0
        batch["reward"][0, steps - 1] = 1.0
        th.manual_seed(0)
        learner = learner_of(batch, memory_coef=coef, td_lambda=0.0, lr=0.01, optimizer="adam")
        fill([*learner.mac.parameters(), *learner.target_mac.parameters()], scale=0.05)
        learner.take_rollout(batch, 0)
        for update in range(40):
            learner.train(batch, update, 0)
        with th.no_grad():
            found.append(unroll_mac(learner.mac, batch)[0].gather(3, batch["actions"])[0, 0].sum().item())
    best = GAMMA ** (steps - 1)
    assert found[0] < 0.2 * best and found[1] > 0.7 * best


@pytest.mark.parametrize("key", ["standardise_rewards", "standardise_returns"])
def test_returns_are_remembered_as_they_are(key):
    with pytest.raises(ConfigError, match=rf"learner=emc_learner remembers returns as they are. Use {key}=False"):
        check_options_of_parts(ChosenParts(completed({**default_config(), **SETTINGS, key: True})))


def test_states_that_wait_are_found_after_the_next_targets():
    batch = random_batch(LENGTHS, 6, ENDS)
    learner = learner_of(batch, memory_waits=True)
    learner._update_targets()
    learner.take_rollout(batch, 0)
    shares = []
    for _ in range(2):
        learner.train(batch, 0, 0)
        shares.append(learner.logger.last()["memory_hits"])
        learner.log_stats_t = -2
        learner._update_targets()
    # the two ends, and then all but the last state of the episode that was cut off
    assert shares == pytest.approx([2 / 9, 8 / 9])


def test_pymarlzoos_adds_standardised_rewards_to_returns_as_they_are():
    batch = random_batch(LENGTHS, 6, ENDS)
    settings = {"memory_mixes_units": True, "standardise_rewards": True, "intrinsic": "rnd"}
    learner = learner_of(batch, **settings)
    check_options_of_parts(ChosenParts(completed({**default_config(), **SETTINGS, **settings, "intrinsic": None})))
    learner.take_rollout(batch, 0)
    mask = th.tensor([[t < length for t in range(5)] for length in LENGTHS])
    own, returns, errors = batch["reward"][:, :5, 0].clone(), returns_by_hand(batch), []
    with th.no_grad():
        values = unroll_mac(learner.mac, batch)[0].gather(3, batch["actions"])[..., 0].sum(2)
    learner.train(rewarded(learner, batch, 0), 0, 0)
    standard = learner.standardised._rewards.normalize(own.unsqueeze(2)).squeeze(2)
    assert abs(float(standard[mask].mean())) < 0.01, "of the environment's rewards alone"
    for row, (end, length) in enumerate(zip(ENDS, LENGTHS, strict=True)):
        for t in range(length - (end == "truncated")):
            following = 0.0 if t == length - 1 else GAMMA * returns[row, t + 1]
            errors.append(float(standard[row, t]) + following - float(values[row, t]))
    assert learner.logger.last()["memory_loss"] == pytest.approx(np.square(errors).sum() / 9, rel=1e-3)
