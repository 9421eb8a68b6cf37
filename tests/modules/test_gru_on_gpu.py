"""The GRU over packed sequences as a GPU computes it, against torch's own cell: it runs on a CPU, too."""

import pytest
import torch as th

import modules.agents.gru_on_gpu as module
from modules.agents.gru_on_gpu import GRUOnGPU, states_on_gpu

SIZES = ([5, 3, 3, 1], [4, 4, 4], [2])


def _inputs(sizes):
    th.manual_seed(3)
    cell = th.nn.GRUCell(3, 4).double()
    x = th.randn(sum(sizes), 3, dtype=th.double, requires_grad=True)
    hidden = th.randn(sizes[0], 4, dtype=th.double, requires_grad=True)
    return cell, x, hidden


def _weights(cell):
    return cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh


def _step_by_step(cell, x, sizes, hidden):
    states = []
    for x_t in x.split(sizes):
        hidden = cell(x_t, hidden[: len(x_t)])
        states.append(hidden)
    return th.cat(states)


@pytest.mark.parametrize("many", [1, 100])
@pytest.mark.parametrize("sizes", SIZES)
def test_states_and_gradients_are_the_cells(sizes, many, monkeypatch):
    monkeypatch.setattr(module, "MANY", many)
    cell, x, hidden = _inputs(sizes)
    weights = th.randn(sum(sizes), 4, dtype=th.double)
    results = []
    for states in (states_on_gpu(x, hidden, _weights(cell), sizes), _step_by_step(cell, x, sizes, hidden)):
        if not results:
            assert ("GRUOnGPU" in str(states.grad_fn)) == (many == 1)
        results.append((states, *th.autograd.grad((states * weights).sum(), [x, hidden, *cell.parameters()])))
    th.testing.assert_close(*results)


@pytest.mark.parametrize("sizes", SIZES)
def test_its_derivative_is_that_of_finite_differences(sizes):
    cell, x, hidden = _inputs(sizes)

    def states(x, hidden, *weights):
        return GRUOnGPU.apply(x, hidden, *weights, sizes)

    assert th.autograd.gradcheck(states, (x, hidden, *_weights(cell)))


def test_the_gradient_it_is_given_stays_as_it_is():
    sizes = SIZES[0]
    cell, x, hidden = _inputs(sizes)
    given = th.randn(sum(sizes), 4, dtype=th.double)
    before = given.clone()
    GRUOnGPU.apply(x, hidden, *_weights(cell), sizes).backward(given)
    assert th.equal(given, before)


def test_cudnns_kernel_gets_no_views(monkeypatch):
    """It refuses them; on a CPU the same call takes anything."""
    kernel, seen = th.gru, []

    def strict(x, states, *others):
        seen.append(states.is_contiguous() and x.is_contiguous())
        return kernel(x, states, *others)

    monkeypatch.setattr(th, "gru", strict)
    cell, x, hidden = _inputs(SIZES[0])
    for view in (hidden[:1].expand(SIZES[0][0], -1), hidden.t().contiguous().t()):
        states = states_on_gpu(x, view, _weights(cell), SIZES[0])
        th.testing.assert_close(states, _step_by_step(cell, x, SIZES[0], view).detach())
    assert seen == [True, True]
