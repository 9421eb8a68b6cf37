"""The GRU over packed sequences against torch's own cell and derivative."""

import pytest
import torch as th

import modules.agents.gru_sequence as module
from modules.agents.gru_sequence import gru_sequence

SIZES = [5, 3, 3, 1]


def _inputs(dtype=th.double):
    th.manual_seed(3)
    cell = th.nn.GRUCell(3, 4).to(dtype)
    x = th.randn(sum(SIZES), 3, dtype=dtype, requires_grad=True)
    hidden = th.randn(SIZES[0], 4, dtype=dtype, requires_grad=True)
    return cell, x, hidden


def _sequence_by_sequence(cell, x, hidden):
    """Each sequence alone, gathered from its places in the packed order."""
    states = [None] * sum(SIZES)
    for sequence in range(SIZES[0]):
        h, place = hidden[sequence : sequence + 1], 0
        for size in SIZES:
            if sequence < size:
                row = place + sequence
                h = cell(x[row : row + 1], h)
                states[row] = h
            place += size
    return th.cat(states)


@pytest.mark.parametrize("block_rows", [1, 6, 100])
def test_states_and_gradients_are_the_cells(block_rows, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_ROWS", block_rows)
    cell, x, hidden = _inputs()
    weights = th.randn(sum(SIZES), 4, dtype=th.double)
    results = []
    for states in (gru_sequence(cell, x, SIZES, hidden), _sequence_by_sequence(cell, x, hidden)):
        results.append((states, *th.autograd.grad((states * weights).sum(), [x, hidden, *cell.parameters()])))
    th.testing.assert_close(*results)


def test_its_derivative_is_that_of_finite_differences(monkeypatch):
    monkeypatch.setattr(module, "BLOCK_ROWS", 4)
    cell, x, hidden = _inputs()

    def states(x, hidden, *_):
        return gru_sequence(cell, x, SIZES, hidden)

    assert th.autograd.gradcheck(states, (x, hidden, *cell.parameters()))


def test_mixed_precision_has_the_cells_values():
    cell, x, hidden = _inputs(th.float32)
    exact = gru_sequence(cell, x, SIZES, hidden)
    with th.autocast("cpu", dtype=th.bfloat16):
        rounded = gru_sequence(cell, x, SIZES, hidden)
    th.testing.assert_close(rounded.float(), exact, atol=0.03, rtol=0.03)
    assert not th.equal(rounded.float(), exact)


@pytest.mark.parametrize("block_rows", [1, 6, 100])
def test_without_gradients_states_are_the_same_bits_in_less_memory(block_rows, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_ROWS", block_rows)
    cell, x, hidden = _inputs(th.float32)
    expected, rows = gru_sequence(cell, x, SIZES, hidden), []
    buffers = module._gate_buffers
    monkeypatch.setattr(module, "_gate_buffers", lambda x, h, most: rows.append(most) or buffers(x, h, most))
    with th.no_grad():
        assert th.equal(gru_sequence(cell, x, SIZES, hidden), expected)
    assert rows == [{1: 5, 6: 8, 100: sum(SIZES)}[block_rows]]
