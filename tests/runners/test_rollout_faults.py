"""Environments that fail during a rollout: their episodes are cut off, and the next ones start at once."""

import pytest
import torch as th
from playing_on import assembled, declare_counting

from controllers.unroll import BatchUnroll, unroll_mac
from envs import REGISTRY
from fakes import FaultyEnv
from helpers import recreation_seed_by_hand
from utils.rl_utils import episode_starts, valid_transitions
from vector_envs import TRANSPORTS

pytestmark = pytest.mark.slow

STEPS = 4


@pytest.fixture(autouse=True)
def faulty(monkeypatch):
    declare_counting(monkeypatch)
    monkeypatch.setitem(REGISTRY._entries, "counting", None)
    REGISTRY["counting"] = FaultyEnv


def playing(faults, transport="pipe", **changes):
    """Two environments, seeded 5 and 6, in processes; episodes of five steps, of which one has six columns."""
    args = {"vector_env": "workers", "env_transport": transport, "batch_size_run": 2, "rollout_steps": STEPS}
    return assembled("rollout", **args, lengths=(5,), ends=("terminated",), faults=faults, **changes)


def seeds_and_steps(chunk, row):
    """(seed, step of its episode) in each column."""
    return [(int(obs[0]), int(obs[2])) for obs in chunk["obs"][row, :, 0]]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_worker_that_dies_in_the_first_step_of_a_rollout(transport):
    """Its column is not filled, and the new environment's first episode starts in the second one."""
    with playing([[6, 0, 5, "kill"]], transport) as parts:
        parts.runner.run()
        before, chunk = parts.runner.t_env, parts.runner.run()
        new = recreation_seed_by_hand(6, 1) % 1000
        assert seeds_and_steps(chunk, 0) == [(5, 4), (5, 5), (5, 0), (5, 1), (5, 2)]
        assert seeds_and_steps(chunk, 1) == [(6, 4), (new, 0), (new, 1), (new, 2), (new, 3)]
        assert chunk["filled"][:, :, 0].tolist() == [[1, 1, 1, 1, 1], [0, 1, 1, 1, 1]]
        assert episode_starts(chunk).int().tolist() == [[0, 0, 1, 0, 0], [0, 1, 0, 0, 0]]
        assert valid_transitions(chunk)[:, :, 0].tolist() == [[1, 0, 1, 1], [0, 1, 1, 1]]
        assert not chunk["truncated"].any()
        assert parts.runner.t_env - before == 6
        assert parts.runner.worker_restarts == 1


def test_workers_that_die_later_in_a_rollout():
    """The step before the lost one is the last of its episode, as at a time limit."""
    with playing([[6, 0, 3, "raise"], [5, 0, 1, "kill"]]) as parts:
        chunk = parts.runner.run()
        other, new = (recreation_seed_by_hand(seed, 1) % 1000 for seed in (5, 6))
        assert seeds_and_steps(chunk, 0) == [(5, 0), *((other, t) for t in range(4))]
        assert seeds_and_steps(chunk, 1) == [(6, 0), (6, 1), (6, 2), (new, 0), (new, 1)]
        assert chunk["truncated"][:, :, 0].tolist() == [[0] * 5, [0, 1, 0, 0, 0]]
        assert episode_starts(chunk).int().tolist() == [[0, 1, 0, 0, 0], [0, 0, 0, 1, 0]]
        assert valid_transitions(chunk)[:, :, 0].tolist() == [[0, 1, 1, 1], [1, 1, 0, 1]]
        assert parts.runner.t_env == 6


@pytest.mark.parametrize("agent", ["rnn", "ff"])
def test_a_learner_sees_the_outputs_that_acting_saw_after_a_loss(monkeypatch, agent):
    with playing([[6, 0, 5, "kill"]], agent=agent) as parts:
        parts.runner.run()
        acting, forward = [], parts.mac.agent.forward

        def recorded(inputs, hidden):
            out = forward(inputs, hidden)
            acting.append(out[0].detach().reshape(2, 2, -1))
            return out

        monkeypatch.setattr(parts.mac.agent, "forward", recorded)
        chunk = parts.runner.run()
        monkeypatch.setattr(parts.mac.agent, "forward", forward)
        expected, unroll = th.stack(acting, dim=1), BatchUnroll(chunk, parts.mac)
        seen = chunk["filled"][:, :STEPS, 0].bool()
        assert int(seen.sum()) == 2 * STEPS - 1
        for outputs in (unroll_mac(parts.mac, chunk)[0], unroll.spread(unroll.outputs(parts.mac))):
            th.testing.assert_close(outputs[:, :STEPS][seen], expected[seen])


def test_episodes_that_play_on_lose_only_the_one_that_failed():
    """`episodes_continuous`: what comes after a loss are whole episodes of the new environment."""
    changes = {"runner_log_interval": 1, "vector_env": "workers", "batch_size_run": 2, "lengths": (3,)}
    with assembled("episodes_continuous", ends=("terminated",), faults=[[6, 1, 2, "kill"]], **changes) as parts:
        played = [parts.runner.run() for _ in range(3)]
        new = recreation_seed_by_hand(6, 1) % 1000
    shown = [
        seeds_and_steps(batch, row)[: int(length)]
        for batch in played
        for row, length in enumerate(batch["filled"].sum((1, 2)))
    ]
    assert sorted(shown) == sorted([(seed, t) for t in range(4)] for seed in (5, 5, 5, 6, new, new))
