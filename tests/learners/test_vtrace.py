"""V-trace against sums by hand, and GAE, which it is for the policy that acted."""

import numpy as np
import pytest
import torch as th
from hypothesis import given
from hypothesis import strategies as st

from learners.vtrace import vtrace
from utils.rl_utils import gae


@given(st.integers(1, 8), st.floats(0, 1), st.sampled_from([0, 0.7, 1]), st.integers(0, 9999))
def test_vtrace_is_the_sum_of_corrected_td_errors(steps, gamma, trace_lambda, seed):
    """Espeholt et al. 2018, eq. 1, as a sum over later steps, of agents that come, end and go."""
    rng = np.random.default_rng(seed)
    agents = 2
    rewards, values = rng.normal(size=(steps, agents)), rng.normal(size=(steps + 1, agents)) * 10
    ratios = np.exp(rng.normal(size=(steps, agents)))
    mask = (rng.random((steps, agents)) < 0.8).astype(float)
    ends = mask * (rng.random((steps, agents)) < 0.3)
    mask[1:] *= 1 - ends[:-1]
    ends *= mask
    as_batch = [th.tensor(x)[None] for x in (rewards, ends, mask, values, ratios)]
    targets, advantages = (x[0].numpy() for x in vtrace(*as_batch, gamma, trace_lambda))
    rho = np.minimum(ratios, 1)
    errors = rho * (rewards + gamma * (1 - ends) * values[1:] - values[:-1])
    for i in range(agents):
        for t in range(steps):
            if not mask[t, i]:
                assert targets[t, i] == advantages[t, i] == 0
                continue
            total, weight, k = values[t, i], 1.0, t
            while True:
                total += weight * errors[k, i]
                weight *= gamma * trace_lambda * rho[k, i]
                if ends[k, i] or k + 1 == steps or not mask[k + 1, i]:
                    break
                k += 1
            assert targets[t, i] == pytest.approx(total, abs=1e-9)
            after = targets[t + 1, i] if t + 1 < steps and mask[t + 1, i] and not ends[t, i] else values[t + 1, i]
            expected = rho[t, i] * (rewards[t, i] + gamma * (1 - ends[t, i]) * after - values[t, i])
            assert advantages[t, i] == pytest.approx(expected, abs=1e-9)


def test_vtrace_of_the_policy_that_acted_is_gae():
    rng = np.random.default_rng(0)
    rewards, values = th.tensor(rng.normal(size=(2, 6, 1))), th.tensor(rng.normal(size=(2, 7, 1)))
    ends, mask = th.zeros_like(rewards), th.ones_like(rewards)
    targets, _ = vtrace(rewards, ends, mask, values, th.ones_like(rewards), 0.9, 0.8)
    th.testing.assert_close(targets, gae(rewards, ends, mask, values, 0.9, 0.8)[1])
