"""What is taken in where a mask says so, without asking a GPU how much that is: as the CPU, which chooses the rows."""

import pytest
import torch as th

from components.normalisers import RunningNorm
from gpu_runs import on_gpu, waits_so_far
from learners.ppo_learner import _scaled
from utils.tensors.masked_rows import mean_where
from utils.value_norm import ValueNorm

MASKS = [[1, 0, 1, 1], [0, 0, 1, 0], [0, 0, 0, 0]]


def test_means_by_hand():
    rows = th.tensor([[1.0, 2.0], [th.nan, 9.0], [3.0, 6.0]])
    assert mean_where(th.tensor([True, False, True]), rows).tolist() == [2, 4]
    assert mean_where(th.zeros(3, dtype=th.bool), rows).tolist() == [0, 0]


@pytest.mark.slow
def test_a_gpu_finds_the_same_and_is_not_waited_for():
    there, waits = on_gpu(_taken_in, "cuda")
    assert waits == 0
    th.testing.assert_close(there, _taken_in("cpu")[0])


def _taken_in(device):
    generator = th.Generator().manual_seed(3)
    values, masks = th.randn(len(MASKS), 4, generator=generator).to(device), th.tensor(MASKS).to(device)
    norms = [ValueNorm((), beta=0.9), ValueNorm((), beta=0.9, per_element_update=True), RunningNorm(), RunningNorm()]
    norms = [norm.to(device) for norm in norms]
    norms[-1].freeze()
    before = waits_so_far()
    scaled = []
    for row, mask in zip(values, masks, strict=True):
        for norm in norms:
            norm.update(row, mask)
        scaled.append(_scaled(row, mask))
    waits = waits_so_far() - before
    return [x.cpu() for x in (*scaled, *(buffer for norm in norms for buffer in norm.buffers()))], waits
