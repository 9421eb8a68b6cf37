"""The GRU over packed sequences against torch's own cell and derivative."""

import pytest
import torch as th

from modules.agents.gru_sequence import gru_sequence

SIZES = [5, 3, 3, 1]
KEEP = {"nothing forgotten": None, "forgetting": [1, 0, 1, 1, 0, 1, 1, 0, 1, 0, 1, 1]}


def _inputs(keep, dtype=th.double):
    th.manual_seed(3)
    cell = th.nn.GRUCell(3, 4).to(dtype)
    x = th.randn(sum(SIZES), 3, dtype=dtype, requires_grad=True)
    hidden = th.randn(SIZES[0], 4, dtype=dtype, requires_grad=True)
    keep = None if KEEP[keep] is None else th.tensor(KEEP[keep], dtype=dtype).unsqueeze(1)
    return cell, x, hidden, keep


def _sequence_by_sequence(cell, x, hidden, keep):
    """Each sequence alone, gathered from its places in the packed order."""
    states = [None] * sum(SIZES)
    for sequence in range(SIZES[0]):
        h, place = hidden[sequence : sequence + 1], 0
        for size in SIZES:
            if sequence < size:
                row = place + sequence
                h = cell(x[row : row + 1], h if keep is None else h * keep[row])
                states[row] = h
            place += size
    return th.cat(states)


@pytest.mark.parametrize("keep", KEEP)
def test_states_and_gradients_are_the_cells(keep):
    cell, x, hidden, keep = _inputs(keep)
    weights = th.randn(sum(SIZES), 4, dtype=th.double)
    results = []
    for states in (gru_sequence(cell, x, SIZES, hidden, keep), _sequence_by_sequence(cell, x, hidden, keep)):
        results.append((states, *th.autograd.grad((states * weights).sum(), [x, hidden, *cell.parameters()])))
    th.testing.assert_close(*results)


@pytest.mark.parametrize("keep", KEEP)
def test_its_derivative_is_that_of_finite_differences(keep):
    cell, x, hidden, keep = _inputs(keep)

    def states(x, hidden, *_):
        return gru_sequence(cell, x, SIZES, hidden, keep)

    assert th.autograd.gradcheck(states, (x, hidden, *cell.parameters()))


def test_mixed_precision_has_the_cells_values():
    cell, x, hidden, _ = _inputs("nothing forgotten", th.float32)
    exact = gru_sequence(cell, x, SIZES, hidden)
    with th.autocast("cpu", dtype=th.bfloat16):
        rounded = gru_sequence(cell, x, SIZES, hidden)
    th.testing.assert_close(rounded.float(), exact, atol=0.03, rtol=0.03)
    assert not th.equal(rounded.float(), exact)
