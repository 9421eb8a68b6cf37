"""Linear recurrences by recursive doubling, beside loops over their steps."""

import pytest
import torch as th

from components.normalisers import ReturnScale
from gpu_runs import on_gpu
from utils.rl_utils import build_gae_targets, td_lambda_returns
from utils.tensors.recurrence import from_the_end


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 7, 8, 9, 33])
def test_every_length_is_as_a_loop_has_it(length):
    generator = th.Generator().manual_seed(length)
    terms = th.randn(3, length, 2, generator=generator, dtype=th.float64)
    factors = th.randn(3, length - 1, 1, generator=generator, dtype=th.float64)
    expected = terms.clone()
    for t in reversed(range(length - 1)):
        expected[:, t] += factors[:, t] * expected[:, t + 1]
    th.testing.assert_close(from_the_end(factors, terms), expected)


@pytest.mark.slow
@pytest.mark.parametrize("length", [1, 2, 50])
def test_returns_on_a_gpu_are_those_of_the_cpu(length):
    """With steps that do not count, some of which have numbers that are none."""
    generator = th.Generator().manual_seed(length)
    rewards, values = th.randn(4, length, 1, generator=generator), th.randn(4, length + 1, 2, generator=generator)
    ended = (th.rand(4, length, 1, generator=generator) < 0.1).float()
    mask = (th.rand(4, length, 1, generator=generator) < 0.8).float()
    rewards[mask == 0] = th.nan
    gamma = th.rand(4, 1, generator=generator)
    there = on_gpu(_returns, rewards, ended, mask, values, gamma, "cuda")
    here = _returns(rewards, ended, mask, values, gamma, "cpu")
    for one, other in zip(there, here, strict=True):
        th.testing.assert_close(one, other, rtol=1e-4, atol=1e-5, equal_nan=True)


def _returns(rewards, ended, mask, values, gamma, device):
    rewards, ended, mask, values, gamma = (x.to(device) for x in (rewards, ended, mask, values, gamma))
    so_far = values[:, 0, :1].clone()
    return [
        td_lambda_returns(rewards, ended, mask, values[:, 1:], 0.99, 0.95).cpu(),
        td_lambda_returns(rewards, ended, mask, values[:, 1:], gamma, 0.5).cpu(),
        *(x.cpu() for x in build_gae_targets(ended.expand(-1, -1, 2), mask, values, 0.99, 0.9)),
        ReturnScale(0.9).to(device)(values[:, :-1, :1], ended, mask, so_far).cpu(),
        so_far.cpu(),
    ]


@pytest.mark.slow
def test_a_long_rollout_takes_few_operations_on_a_gpu():
    short, long = on_gpu(_operations, 8), on_gpu(_operations, 64)
    assert long - short == 3 * 3  # three times twice as long


def _operations(length):
    from torch.utils._python_dispatch import TorchDispatchMode

    class Counting(TorchDispatchMode):
        count = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.count += not func.is_view
            return func(*args, **(kwargs or {}))

    ones = th.ones(2, length, 1, device="cuda")
    with Counting() as counting:
        td_lambda_returns(ones, ones, ones, ones, 0.99, 0.95)
    return counting.count
