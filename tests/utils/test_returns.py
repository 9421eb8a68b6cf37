"""Returns and advantages against tables made by hand and sums made by brute force."""

import numpy as np
import pytest
import torch as th
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from utils.rl_utils import (
    build_gae_targets,
    build_q_lambda_targets,
    build_target_q,
    build_td_lambda_targets,
    gae,
    n_step_returns,
    td_lambda_returns,
)


def test_td_lambda_by_hand():
    """gamma 0.5, lambda 0.5, V = 8, 4, 2 after the steps; rewards 1, 2, 3.

    Terminated:  G2 = 3;                G1 = 2 + .5 (.5 x 4 + .5 x 3) = 3.75;  G0 = 1 + .5 (.5 x 8 + .5 x 3.75) = 3.9375
    Truncated:   G2 = 3 + .5 x 2 = 4;   G1 = 2 + .5 (.5 x 4 + .5 x 4) = 4;     G0 = 1 + .5 (.5 x 8 + .5 x 4) = 4
    """
    rewards = th.tensor([1.0, 2.0, 3.0, 9.0]).view(1, 4, 1).repeat(2, 1, 1)
    next_values = th.tensor([8.0, 4.0, 2.0, 77.0]).view(1, 4, 1).repeat(2, 1, 1)
    mask = th.tensor([1.0, 1.0, 1.0, 0.0]).view(1, 4, 1).repeat(2, 1, 1)
    terminated = th.zeros(2, 4, 1)
    terminated[0, 2] = 1
    returns = td_lambda_returns(rewards, terminated, mask, next_values, 0.5, 0.5)
    assert returns[0, :, 0].tolist() == [3.9375, 3.75, 3.0, 0.0]
    assert returns[1, :, 0].tolist() == [4.0, 4.0, 4.0, 0.0]


@pytest.mark.parametrize(
    ("n_steps", "terminated", "truncated"),
    [
        (1, [1 + 0.5 * 8, 2 + 0.5 * 4, 3, 0], [5, 4, 3 + 0.5 * 2, 0]),
        (2, [1 + 0.5 * (2 + 0.5 * 4), 2 + 0.5 * 3, 3, 0], [3, 2 + 0.5 * (3 + 0.5 * 2), 4, 0]),
        (9, [1 + 0.5 * (2 + 0.5 * 3), 3.5, 3, 0], [1 + 0.5 * (2 + 0.5 * (3 + 0.5 * 2)), 4, 4, 0]),
    ],
)
def test_n_step_returns_by_hand(n_steps, terminated, truncated):
    """The episodes of `test_td_lambda_by_hand`: three steps, then padding."""
    rewards = th.tensor([1.0, 2.0, 3.0, 9.0]).view(1, 4, 1).repeat(2, 1, 1)
    next_values = th.tensor([8.0, 4.0, 2.0, 77.0]).view(1, 4, 1).repeat(2, 1, 1)
    mask = th.tensor([1.0, 1.0, 1.0, 0.0]).view(1, 4, 1).repeat(2, 1, 1)
    ends = th.zeros(2, 4, 1)
    ends[0, 2] = 1
    returns = n_step_returns(rewards, ends, mask, next_values, 0.5, n_steps)
    assert returns.squeeze(2).tolist() == [terminated, truncated]


def _n_step_by_hand(rewards, ends, mask, values, gamma, n_steps, t):
    total = 0.0
    for k in range(n_steps):
        total += gamma**k * rewards[t + k]
        if ends[t + k]:
            return total
        if k == n_steps - 1 or t + k + 1 == len(mask) or not mask[t + k + 1]:
            return total + gamma ** (k + 1) * values[t + k]
    return total


@given(st.integers(1, 9), st.integers(1, 5), st.floats(0, 1), st.sampled_from([0, 0.7, 1]), st.integers(0, 9999))
def test_returns_of_agents_that_come_and_go(steps, n_steps, gamma, td_lambda, seed):
    """Each agent has its own mask and ends; after an end comes a step that does not count."""
    rng = np.random.default_rng(seed)
    agents = 3
    rewards, values = rng.normal(size=(steps, agents)), rng.normal(size=(steps + 1, agents)) * 10
    mask = (rng.random((steps, agents)) < 0.8).astype(float)
    ends = mask * (rng.random((steps, agents)) < 0.3)
    mask[1:] *= 1 - ends[:-1]
    ends *= mask
    as_batch = [th.tensor(x)[None] for x in (rewards, ends, mask)]
    returns = n_step_returns(*as_batch, th.tensor(values[1:])[None], gamma, n_steps)[0]
    of_all_states = th.tensor(values)[None]
    advantages, lambda_returns = (x[0] for x in gae(*as_batch, of_all_states, gamma, td_lambda))
    assert th.equal(build_td_lambda_targets(*as_batch, of_all_states, agents, gamma, td_lambda)[0], lambda_returns)
    for i in range(agents):
        for t in range(steps):
            if not mask[t, i]:
                assert returns[t, i] == advantages[t, i] == lambda_returns[t, i] == 0
                continue
            expected = _n_step_by_hand(rewards[:, i], ends[:, i], mask[:, i], values[1:, i], gamma, n_steps, t)
            assert returns[t, i].item() == pytest.approx(expected, abs=1e-9)
            # eq. 16, as a sum of TD errors up to the end of the valid steps
            total, weight = 0.0, 1.0
            for k in range(t, steps):
                if not mask[k, i]:
                    break
                total += weight * (rewards[k, i] + gamma * (1 - ends[k, i]) * values[k + 1, i] - values[k, i])
                weight *= gamma * td_lambda
                if ends[k, i]:
                    break
            assert advantages[t, i].item() == pytest.approx(total, abs=1e-9)
            assert lambda_returns[t, i].item() == pytest.approx(total + values[t, i], abs=1e-9)


def test_q_lambda_by_hand():
    """gamma 0.5, lambda 0.5; E = 1, 4, 8 and Q = 0, 2, 8 of the states; rewards 1, 2.

    Corrected rewards are 1 + 1 - 0 = 2 and 2 + 4 - 2 = 4. The second step terminates: 4; before it:
    2 + .5 (.5 x 4 + .5 x 4) = 4. Cut off instead: 4 + .5 x 8 = 8, and 2 + .5 (.5 x 4 + .5 x 8) = 5.
    """
    column = lambda *x: th.tensor(x, dtype=th.float32).view(1, -1, 1)  # noqa: E731
    settings = {"exp_qvals": column(1, 4, 8), "qvals": column(0, 2, 8), "gamma": 0.5, "td_lambda": 0.5}
    for last, expected in ((1, [4, 4]), (0, [5, 8])):
        targets = build_q_lambda_targets(column(1, 2), column(0, last), column(1, 1), **settings)
        assert targets.flatten().tolist() == expected
    masked = build_q_lambda_targets(column(1, 2), column(1, 0), column(1, 0), **settings)
    assert masked.flatten().tolist() == [2, 0]


def test_gae_by_hand():
    """gamma 0.5, lambda 0.5; V = 4, 2, 6, 8; rewards 1, 2, 3; nothing follows the last step.

    deltas: 1 + 1 - 4 = -2;  2 + 3 - 2 = 3;  3 - 6 = -3.  A: -3;  3 - .75 = 2.25;  -2 + .25 x 2.25 = -1.4375.
    """
    column = lambda *x: th.tensor(x, dtype=th.float32).view(1, -1, 1, 1).repeat(2, 1, 3, 1)  # noqa: E731
    values = column(4, 2, 6, 8)
    advantages, returns = build_gae_targets(column(1, 2, 3), column(1, 1, 0), values, 0.5, 0.5)
    assert advantages.shape == returns.shape == (2, 3, 3, 1)
    assert advantages[1, :, 2, 0].tolist() == [-1.4375, 2.25, -3]
    assert returns[0, :, 0, 0].tolist() == [2.5625, 4.25, 3]
    # PyMARL2's PPO passes the mask of taken steps: the last one bootstraps, 3 + .5 x 8 - 6 = 1
    assert build_gae_targets(column(1, 2, 3), column(1, 1, 1), values, 0.5, 0.5)[0][0, 2, 0, 0] == 1


def test_tree_backup_by_hand():
    """gamma lambda 0.5; deltas 1, 2, 4; the actions' probabilities 0.9, 0.5, 0.25 and 0.1 after the last step.

    n = 1: only the own delta. n = 2: 1 + .5 x .5 x 2 = 1.5;  2 + .5 x .25 x 4 = 2.5;  4.
    n = 3 adds .25 x .5 x .25 x 4 = .125 to the first.
    """
    column = lambda *x: th.tensor(x, dtype=th.float32).view(1, -1, 1)  # noqa: E731
    deltas, policy, values = column(1, 2, 4), column(0.9, 0.5, 0.25, 0.1), column(10, 20, 30)
    for n, expected in ((1, [11, 22, 34]), (2, [11.5, 22.5, 34]), (3, [11.625, 22.5, 34]), (9, [11.625, 22.5, 34])):
        targets = build_target_q(deltas, values, policy, None, 0.5, 1.0, n)
        assert targets.flatten().tolist() == pytest.approx(expected), n


class CallsOfTorch(TorchDispatchMode):
    count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += 1
        return func(*args, **(kwargs or {}))


def test_on_a_cpu_td_lambda_calls_torch_as_often_for_a_long_rollout_as_for_a_short_one_and_to_the_same_bits():
    counts = []
    for length in (3, 50):
        rewards, values = th.randn(4, length, 1), th.randn(4, length, 2)
        ended, mask = (th.rand(4, length, 1) < 0.1).float(), (th.rand(4, length, 1) < 0.8).float()
        with CallsOfTorch() as calls:
            returns = td_lambda_returns(rewards, ended, mask, values, 0.99, 0.95)
        counts.append(calls.count)
        step_by_step = td_lambda_returns(rewards, ended, mask, values.requires_grad_(), 0.99, 0.95)
        assert th.equal(returns, step_by_step.detach())
    assert counts[0] == counts[1]
