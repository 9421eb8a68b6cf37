"""RIIT: its mixed value and its two steps of the critic by brute force, and the buffer of old and newest episodes."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch as th

from components.buffers.on_off import OnOffReplay
from controllers.basic_controller import BasicMAC
from fakes import RecordingLogger
from helpers import fill, make_args, random_batch
from learners.options import check_old_episodes
from learners.riit_learner import RIITLearner
from utils.errors import ConfigError

GAMMA = 0.9
OLD = [("terminated", 3), ("truncated", 5)]
NEW = [("truncated", 4), ("terminated", 2), ("terminated", 5)]


def learner_of(batch, **changes):
    settings = {
        "agent_output_type": "pi_logits",
        "action_selector": "soft_policies",
        "learner": "riit_learner",
        "critic": "own_policies",
        "mixer": "vdn",
        "rnn_hidden_dim": 4,
        "critic_hidden_dim": 5,
        "learner_log_interval": 1,
        "gamma": GAMMA,
        "td_lambda": 0.0,
        "entropy_coef": 0.5,
        "entropy_in_pg_loss": False,
        "grad_norm_clip": 1e9,
        "off_batch_size": 0,
        "target_update_interval": 1000,
    }
    args = make_args(**settings | changes)
    learner = RIITLearner(BasicMAC(batch.scheme, batch.groups, args), batch.scheme, RecordingLogger(), args)
    for seed, part in enumerate([learner.mac.agent, learner.critic, learner.target_critic]):
        fill(part.parameters(), seed=seed)
    return learner


def episodes(ends):
    return random_batch([length for _, length in ends], 6, [end for end, _ in ends])


def team_value(critic, policies, obs):
    """Of one step, the sum over agents: probabilities `[n, A]`, observations `[n, O]`."""
    w, total = critic.state_dict(), 0.0
    for agent, (policy, seen) in enumerate(zip(policies, obs, strict=True)):
        x = th.cat([seen, th.eye(len(obs))[agent], policy])
        for layer in ("fc1", "fc2"):
            x = (w[f"{layer}.weight"] @ x + w[f"{layer}.bias"]).clamp(min=0)
        total += float(w["fc3.weight"] @ x + w["fc3.bias"])
    return total


def mean_error(learner, batch, critic):
    """Of one-step targets, squared, over the steps that were done."""
    taken, obs, ended = batch["actions_onehot"].float(), batch["obs"], batch["terminated"] | batch["truncated"]
    errors = []
    for row, t in np.argwhere(batch["filled"][:, :-1, 0].numpy()):
        if t > 0 and ended[row, t - 1]:
            continue
        following = team_value(learner.target_critic, taken[row, t + 1], obs[row, t + 1])
        y = float(batch["reward"][row, t]) + GAMMA * (1 - int(batch["terminated"][row, t])) * following
        errors.append((team_value(critic, taken[row, t], obs[row, t]) - y) ** 2)
    return np.mean(errors)


@pytest.mark.parametrize("halve", [False, True])
def test_the_value_is_mixed_of_each_agents(halve):
    batch = episodes(NEW)
    learner = learner_of(batch, halve_central_loss=halve)
    expected = mean_error(learner, batch, learner.critic)
    learner.train(batch, 1, 0)
    assert learner.logger.last()["critic_loss"] == pytest.approx(expected * (0.5 if halve else 1), rel=1e-4)


def test_old_episodes_come_first_and_move_the_critic_alone():
    batch = episodes([*OLD, *NEW])
    both, old, new = learner_of(batch, off_batch_size=2, td_lambda=0.7), learner_of(batch), learner_of(batch)
    both.train(batch, 1, 0)
    # the same critic after the old ones, then a whole update from the newest
    old._train_critic(batch[:2], (batch["filled"] * 1.0)[:2, :-1] * _undone(batch[:2]), 0.0)
    for part in ("critic_optimiser", "critic"):
        getattr(new, part).load_state_dict(getattr(old, part).state_dict())
    new.args.td_lambda = 0.7
    new.train(batch[2:], 1, 0)
    for one, other in ((both.critic, new.critic), (both.mac.agent, new.mac.agent)):
        for mine, expected in zip(one.parameters(), other.parameters(), strict=True):
            th.testing.assert_close(mine, expected)


def _undone(batch):
    """1 where the episode was not over before the step."""
    ended = (batch["terminated"] | batch["truncated"]).float()[:, :-1]
    return 1 - th.cat([th.zeros_like(ended[:, :1]), ended[:, :-1]], 1)


def test_targets_follow_by_episodes():
    batch = episodes(NEW)
    learner = learner_of(batch, target_update_interval=8)

    def follows():
        pairs = zip(learner.critic.parameters(), learner.target_critic.parameters(), strict=True)
        return all(th.equal(one, other) for one, other in pairs)

    learner.train(batch, 1, 7)
    assert not follows()
    learner.train(batch, 2, 8)
    assert follows()


def test_old_episodes_need_their_buffer():
    sizes = {"buffer": "on_off", "off_batch_size": 4, "recent_size": 3, "batch_size": 3, "buffer_size": 4}
    assert check_old_episodes(sizes) is None and check_old_episodes({**sizes, "recent_size": 0}) is None
    assert check_old_episodes({"off_batch_size": 0, "buffer": "episodes"}) is None
    with pytest.raises(ConfigError, match="off_batch_size=4 needs buffer=on_off"):
        check_old_episodes({"off_batch_size": 4, "buffer": "episodes"})
    with pytest.raises(ConfigError, match="off_batch_size=0 has no old episodes"):
        check_old_episodes({"off_batch_size": 0, "buffer": "on_off"})
    for key, value, message in (
        ("recent_size", 2, r"^recent_size=2: batch_size=3 different episodes .* Use 3 or more, or 0\.$"),
        ("recent_size", 5, r"^recent_size=5 is more than the buffer holds: buffer_size=4\.$"),
        ("off_batch_size", 5, r"^off_batch_size=5 is more than the buffer holds"),
    ):
        with pytest.raises(ConfigError, match=message):
            check_old_episodes({**sizes, key: value})


@pytest.mark.parametrize("recent", [0, 4])
def test_a_sample_has_recent_old_and_the_newest_episodes(recent):
    """Of a buffer of 6 after 9 episodes, each with its number as reward."""
    one = episodes([("terminated", 5)])
    settings = {"batch_size": 2, "buffer_size": 6, "buffer_cpu_only": True, "buffer_dtype": "float32", "device": "cpu"}
    args = SimpleNamespace(**settings, off_batch_size=3, recent_size=recent)
    scheme = {key: info for key, info in one.scheme.items() if key != "filled"}
    buffer = OnOffReplay(scheme, one.groups, 6, {}, args, RecordingLogger())
    for number in range(9):
        assert buffer.ready() == (number >= max(3, recent))
        one["reward"][:] = number
        buffer.insert(one)
    seen = []
    for _ in range(60):
        numbers = [int(x) for x in buffer.sample()["reward"][:, 0, 0]]
        assert numbers[-2:] == [8, 7]
        seen.append(numbers[:-2])
    first = [numbers[:2] for numbers in seen] if recent else []
    old = [numbers[-3:] for numbers in seen]
    assert all(len(numbers) == 3 + 2 * bool(recent) and len(set(numbers[-3:])) == 3 for numbers in seen)
    assert {number for part in old for number in part} == set(range(3, 9))
    assert {number for part in first for number in part} == (set(range(5, 9)) if recent else set())
