"""The GRU over packed sequences, on the CPU and as a GPU computes it, against torch's own cell and derivative."""

import pytest
import torch as th

from modules import fast_linear
from modules.agents import gru_on_gpu, gru_sequence
from modules.agents.gru_on_gpu import GRUOnGPU, states_on_gpu

SIZES = ([5, 3, 3, 1], [4, 4, 4], [2])


def _inputs(sizes=SIZES[0], dtype=th.double):
    th.manual_seed(3)
    cell = th.nn.GRUCell(3, 4).to(dtype)
    x = th.randn(sum(sizes), 3, dtype=dtype, requires_grad=True)
    hidden = th.randn(sizes[0], 4, dtype=dtype, requires_grad=True)
    return cell, x, hidden


def _weights(cell):
    return cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh


def _sequence_by_sequence(cell, x, sizes, hidden):
    """Each sequence alone, gathered from its places in the packed order."""
    states = [None] * sum(sizes)
    for sequence in range(sizes[0]):
        h, place = hidden[sequence : sequence + 1], 0
        for size in sizes:
            if sequence < size:
                row = place + sequence
                h = cell(x[row : row + 1], h)
                states[row] = h
            place += size
    return th.cat(states)


def _with_gradients(states, x, hidden, cell):
    weights = th.linspace(-1, 1, states.numel(), dtype=th.double).view_as(states)
    return states, *th.autograd.grad((states * weights).sum(), [x, hidden, *cell.parameters()])


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("block_rows", [1, 6, 100])
def test_states_and_gradients_are_the_cells(block_rows, sizes, monkeypatch):
    monkeypatch.setattr(gru_sequence, "BLOCK_ROWS", block_rows)
    cell, x, hidden = _inputs(sizes)
    found = gru_sequence.gru_sequence(cell, x, sizes, hidden)
    expected = _sequence_by_sequence(cell, x, sizes, hidden)
    th.testing.assert_close(*(_with_gradients(states, x, hidden, cell) for states in (found, expected)))


@pytest.mark.skipif(fast_linear._OPERATOR is None, reason="this torch is without oneDNN's operator")
@pytest.mark.parametrize("sizes", SIZES)
def test_with_products_of_onednns_they_are_the_cells(sizes, monkeypatch):
    """The gates from the inputs in each block, and there the gradients of inputs and of both weights."""
    asked, own = [], fast_linear._OPERATOR
    monkeypatch.setattr(fast_linear, "_OPERATOR", lambda *all_: asked.append(all_) or own(*all_))
    monkeypatch.setattr(fast_linear, "_FASTER", True)
    monkeypatch.setattr(fast_linear, "LEAST_WORK", 0)
    monkeypatch.setattr(fast_linear, "SOME", 1)
    cell, x, hidden = _inputs(sizes, th.float32)
    found = gru_sequence.gru_sequence(cell, x, sizes, hidden)
    expected = _sequence_by_sequence(cell, x, sizes, hidden)
    exact = [_with_gradients(states.double(), x, hidden, cell) for states in (found, expected)]
    th.testing.assert_close(*exact, rtol=1e-4, atol=1e-5)
    assert len(asked) == 4


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("many", [1, 100])
def test_on_a_gpu_states_and_gradients_are_the_cells(many, sizes, monkeypatch):
    """The same calls run on a CPU, too."""
    monkeypatch.setattr(gru_on_gpu, "MANY", many)
    cell, x, hidden = _inputs(sizes)
    found = states_on_gpu(x, hidden, _weights(cell), sizes)
    assert ("GRUOnGPU" in str(found.grad_fn)) == (many == 1)
    expected = _sequence_by_sequence(cell, x, sizes, hidden)
    th.testing.assert_close(*(_with_gradients(states, x, hidden, cell) for states in (found, expected)))


@pytest.mark.parametrize("sizes", SIZES)
def test_its_derivative_is_that_of_finite_differences(sizes, monkeypatch):
    monkeypatch.setattr(gru_sequence, "BLOCK_ROWS", 4)
    cell, x, hidden = _inputs(sizes)
    inputs = (x, hidden, *_weights(cell))
    assert th.autograd.gradcheck(lambda x, hidden, *_: gru_sequence.gru_sequence(cell, x, sizes, hidden), inputs)
    assert th.autograd.gradcheck(lambda x, hidden, *weights: GRUOnGPU.apply(x, hidden, *weights, sizes), inputs)


def test_mixed_precision_has_the_cells_values():
    cell, x, hidden = _inputs(dtype=th.float32)
    exact = gru_sequence.gru_sequence(cell, x, SIZES[0], hidden)
    with th.autocast("cpu", dtype=th.bfloat16):
        rounded = gru_sequence.gru_sequence(cell, x, SIZES[0], hidden)
    th.testing.assert_close(rounded.float(), exact, atol=0.03, rtol=0.03)
    assert not th.equal(rounded.float(), exact)


@pytest.mark.parametrize("block_rows", [1, 6, 100])
def test_without_gradients_states_are_the_same_bits_in_less_memory(block_rows, monkeypatch):
    monkeypatch.setattr(gru_sequence, "BLOCK_ROWS", block_rows)
    cell, x, hidden = _inputs(dtype=th.float32)
    expected, rows = gru_sequence.gru_sequence(cell, x, SIZES[0], hidden), []
    buffers = gru_sequence._gate_buffers
    monkeypatch.setattr(gru_sequence, "_gate_buffers", lambda x, h, most: rows.append(most) or buffers(x, h, most))
    with th.no_grad():
        assert th.equal(gru_sequence.gru_sequence(cell, x, SIZES[0], hidden), expected)
    assert rows == [{1: 5, 6: 8, 100: sum(SIZES[0])}[block_rows]]


def test_the_gradient_it_is_given_stays_as_it_is():
    cell, x, hidden = _inputs()
    given = th.randn(len(x), 4, dtype=th.double)
    before = given.clone()
    GRUOnGPU.apply(x, hidden, *_weights(cell), SIZES[0]).backward(given)
    assert th.equal(given, before)


def test_cudnns_kernel_gets_no_views(monkeypatch):
    """It refuses them; on a CPU the same call takes anything."""
    kernel, seen = th.gru, []

    def strict(x, states, *others):
        seen.append(states.is_contiguous() and x.is_contiguous())
        return kernel(x, states, *others)

    monkeypatch.setattr(th, "gru", strict)
    cell, x, hidden = _inputs()
    for view in (hidden[:1].expand(SIZES[0][0], -1), hidden.t().contiguous().t()):
        states = states_on_gpu(x, view, _weights(cell), SIZES[0])
        th.testing.assert_close(states, _sequence_by_sequence(cell, x, SIZES[0], view).detach())
    assert seen == [True, True]
