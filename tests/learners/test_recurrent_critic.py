"""Critics with a memory."""

import pytest
import torch as th

from fakes import RecordingLogger
from learners.a2c_learner import A2CLearner
from learners.recurrent_critic import unroll
from random_rollouts import random_rollout
from utils.errors import ConfigError
from utils.rl_utils import episode_starts


def learner_of(size=3, steps=9, **changes):
    batch, mac, args = random_rollout(size=size, steps=steps, batch_size_run=size, critic_rnn=True, **changes)
    return batch, A2CLearner(mac, batch.scheme, RecordingLogger(), args)


def step_by_step(critic, batch, before):
    """Values and memory by PyTorch's own cell."""
    starts, hidden, values, states = episode_starts(batch), before.flatten(0, 1), [], []
    for t in range(batch.max_seq_length):
        fresh = starts[:, t].repeat_interleave(critic.n_agents).unsqueeze(1)
        x = critic.encode(lambda key, t=t: batch[key][:, t], 1)
        hidden = critic.rnn(x.flatten(0, 1), th.where(fresh, th.zeros_like(hidden), hidden))
        states.append(hidden.view_as(before))
        values.append(critic.fc3(critic.norm3(hidden)).view(before.shape[:2]))
    return th.stack(values, 1), th.stack(states, 1)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("share", [False, True])
def test_it_remembers_within_episodes(share, missing):
    batch, learner = learner_of(share_critic_params=share)
    before = th.randn(3, 2, learner.critic.rnn.weight_hh.shape[-1])
    if missing:
        batch["filled"][1, 0] = 0
    assert episode_starts(batch).any()
    for found, wanted in zip(
        unroll(learner.critic, batch, batch.__getitem__, before),
        step_by_step(learner.critic, batch, before),
        strict=True,
    ):
        th.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


def test_it_remembers_from_rollout_to_rollout():
    batch, learner = learner_of(steps=17)
    ended = batch["terminated"][:, :, 0].clone()
    at = next(t for t in range(4, 13) if not ended[:, t - 2 : t + 1].any())
    whole = learner.values(batch)

    other = learner_of(steps=17)[1]
    other.critic.load_state_dict(learner.critic.state_dict())
    first = other.values(batch[:, : at + 1])
    other.state_values.next_rollout()
    th.testing.assert_close(first, whole[:, : at + 1], rtol=1e-4, atol=1e-5)
    second = batch[:, at:]
    th.testing.assert_close(other.values(second)[:, 0], whole[:, at], rtol=1e-4, atol=1e-5)
    resumed = learner_of(steps=17)[1]
    resumed.critic.load_state_dict(learner.critic.state_dict())
    resumed.state_values.load_state_dict(other.state_values.state_dict())
    assert th.equal(resumed.values(second), other.values(second))


@pytest.mark.parametrize("end", ["terminated", "truncated", "the start of an episode"])
def test_an_episode_that_starts_with_a_rollout_starts_without_memory(end):
    batch, learner = learner_of()
    if end == "the start of an episode":
        batch["truncated"][0, -3] = 1
    else:
        batch[end][0, -2] = 1
    learner.train(batch, 10, 0)
    before = learner.state_values.fields_before(batch)["critic_before"]
    assert not before[0].any()
    assert before[1:].any()


def test_whole_episodes_start_without_memory():
    batch, learner = learner_of()
    learner.train(batch, 10, 0)
    episodes = batch[:, :]
    scheme = {key: info for key, info in batch.scheme.items() if not key.startswith("hidden_before")}
    episodes.scheme = scheme
    assert learner.state_values.fields_before(episodes) == {}
    found, _ = unroll(learner.critic, episodes, batch.__getitem__)
    assert th.equal(learner.values(episodes), found)


def test_a_target_network_is_refused():
    with pytest.raises(ConfigError, match="a critic with a memory has no target network"):
        learner_of(target_update_interval_or_tau=0.01)
