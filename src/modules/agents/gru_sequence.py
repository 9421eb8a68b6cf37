"""A GRU cell over sequences of unequal length: fewer, larger operations than step by step."""

import torch as th
import torch.nn as nn

from modules.agents.gru_on_gpu import states_on_gpu
from modules.fast_linear import linear_into, sum_of_products
from modules.unshared import AgentGRUCell

# Rows of a block of steps: the gates of 64 hidden units are then 400 kB, which fits a core's cache
BLOCK_ROWS = 512


def gru_sequence(cell: nn.GRUCell | AgentGRUCell, x: th.Tensor, sizes: list[int], hidden: th.Tensor) -> th.Tensor:
    """Hidden states of `cell` over packed sequences (the order of `torch.nn.utils.rnn.PackedSequence`).

    Args:
        x: inputs `[P, I]`: step 0 of the first `sizes[0]` sequences, step 1 of the first `sizes[1]` of them, ...
        sizes: sequences that have each step; never rising.
        hidden: initial hidden states `[sizes[0], H]`.

    Returns:
        Hidden states after each step, `[P, H]`.
    """
    if isinstance(cell, AgentGRUCell):
        return cell.sequence(x, sizes, hidden)
    weights = (cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
    if x.is_cuda:
        return _on_gpu(x, hidden, weights, sizes)
    if th.is_autocast_enabled(x.device.type):
        return _step_by_step(cell, x, sizes, hidden)
    if th.is_grad_enabled():
        return _GRUSequence.apply(x, hidden, *weights, sizes)
    return _states(x, hidden, *weights, sizes, *_gate_buffers(x, hidden, _most_rows(_blocks(sizes))))


def _on_gpu(x: th.Tensor, hidden: th.Tensor, weights: tuple, sizes: list[int]) -> th.Tensor:
    """In float32 also where other layers have less precision: what errors of many steps add up to stays small."""
    with th.autocast(x.device.type, enabled=False):
        return states_on_gpu(x.to(weights[0].dtype), hidden.to(weights[0].dtype), weights, sizes)


def _step_by_step(cell: nn.GRUCell, x: th.Tensor, sizes: list[int], hidden: th.Tensor) -> th.Tensor:
    states = []
    for x_t in x.split(sizes):
        hidden = cell(x_t, hidden[: len(x_t)])
        states.append(hidden)
    return th.cat(states)


def _blocks(sizes: list[int]) -> list[tuple[range, slice]]:
    """The steps in blocks of at least `BLOCK_ROWS` rows of the packed sequences (the last may have fewer)."""
    blocks, first, start, end = [], 0, 0, 0
    for t, size in enumerate(sizes):
        end += size
        if end - start >= BLOCK_ROWS or t == len(sizes) - 1:
            blocks.append((range(first, t + 1), slice(start, end)))
            first, start = t + 1, end
    return blocks


def _most_rows(blocks: list[tuple[range, slice]]) -> int:
    return max(rows.stop - rows.start for _, rows in blocks)


def _gate_buffers(x: th.Tensor, hidden: th.Tensor, rows: int) -> tuple[th.Tensor, th.Tensor]:
    """Room for the gates r, z, n of some rows, and for what n gets from h."""
    size = hidden.size(1)
    return x.new_empty(rows, 3 * size), x.new_empty(rows, size)


def _states(x, hidden, w_ih, w_hh, b_ih, b_hh, sizes, gates, from_h) -> th.Tensor:
    """Hidden states after each step; `gates` and `from_h` have a row for each of `x`, or are used again in each block.

    tanh(a) is 2 sigmoid(2 a) - 1, three times as fast on a CPU. The first factor is in the weights of x; doubling is
    exact.
    """
    size = hidden.size(1)
    rz, n = slice(0, 2 * size), slice(2 * size, 3 * size)
    w_i, w_h = w_ih.t().clone(), w_hh.t().clone()
    w_i[:, n] *= 2
    w_h_rz, w_h_n = w_h[:, rz], w_h[:, n].contiguous()
    b_rzn, b_hn = th.cat([b_ih[rz] + b_hh[rz], 2 * b_ih[n]]), b_hh[n]
    minus_one = x.new_tensor(-1.0)
    states, kept = x.new_empty(len(x), size), len(gates) == len(x)
    h = hidden
    for steps, rows in _blocks(sizes):
        here = rows if kept else slice(0, rows.stop - rows.start)
        linear_into(gates[here], x[rows], w_i.t(), b_rzn)
        from_h[here] = b_hn
        r, z, n_gate = gates[here].split(size, dim=1)
        of_step = [sizes[t] for t in steps]
        parts = [part.split(of_step) for part in (gates[here][:, rz], r, z, n_gate, from_h[here], states[rows])]
        for rz_t, r_t, z_t, n_t, from_h_t, state_t in zip(*parts, strict=True):
            h = h[: len(state_t)]
            rz_t.addmm_(h, w_h_rz).sigmoid_()
            n_t.addcmul_(r_t, from_h_t.addmm_(h, w_h_n), value=2).sigmoid_()
            th.add(minus_one, n_t, alpha=2, out=n_t)
            h = th.lerp(n_t, h, z_t, out=state_t)
    return states


class _GRUSequence(th.autograd.Function):
    """The sequence as one node of the graph, with its derivative written out.

    Gates of Cho et al. (2014) as torch.nn.GRUCell has them: r and z are sigmoids of x W_i + b_i + h W_h + b_h,
    n = tanh(x W_in + b_in + r (h W_hn + b_hn)), h' = (1 - z) n + z h. Work that does not
    wait for the step before is done for a block of steps at once, small enough for the processor's cache.
    """

    @staticmethod
    def forward(ctx, x, hidden, w_ih, w_hh, b_ih, b_hh, sizes):
        gates, from_h = _gate_buffers(x, hidden, len(x))
        states = _states(x, hidden, w_ih, w_hh, b_ih, b_hh, sizes, gates, from_h)
        ctx.save_for_backward(x, hidden, w_ih, w_hh, gates, from_h, states)
        ctx.sizes = sizes
        return states

    @staticmethod
    @th.autograd.function.once_differentiable
    def backward(ctx, d_states):
        x, hidden, w_ih, w_hh, gates, from_h, states = ctx.saved_tensors
        sizes, size = ctx.sizes, hidden.size(1)
        rz, n = slice(0, 2 * size), slice(2 * size, 3 * size)
        d_x, d_w_ih, d_w_hh = th.empty_like(x), th.zeros_like(w_ih), th.zeros_like(w_hh)
        d_b_ih, d_b_hn = x.new_zeros(3 * size), x.new_zeros(size)
        d_hidden = th.zeros_like(hidden)
        at = list(zip(*(part.split(sizes) for part in (*gates.split(size, dim=1), from_h, d_states)), strict=True))
        state_before = (hidden, *states.split(sizes))
        blocks = _blocks(sizes)
        most = _most_rows(blocks)
        # derivatives of the gates' sums from h; of n's from x, which r multiplies in the former; h before each step
        all_d, all_d_n, all_before = (x.new_empty(most, width * size) for width in (3, 1, 1))
        all_through_z, all_scratch = th.empty_like(hidden), th.empty_like(hidden)
        for steps, rows in reversed(blocks):
            d, d_n_x, before = (buffer[: rows.stop - rows.start] for buffer in (all_d, all_d_n, all_before))
            of_step = [sizes[t] for t in steps]
            parts = [part.split(of_step) for part in (*d.split(size, dim=1), d, d_n_x)]
            in_block = list(zip(*parts, strict=True))
            for t in reversed(steps):
                r_t, z_t, n_t, from_h_t, d_state_t = at[t]
                d_r, d_z, d_from_h, d_t, d_n = in_block[t - steps[0]]
                count = sizes[t]
                through_z, scratch, before_t = all_through_z[:count], all_scratch[:count], state_before[t][:count]

                d_state = d_hidden[:count].add_(d_state_t)
                th.mul(d_state, z_t, out=through_z)
                th.sub(d_state, through_z, out=d_n)
                th.sub(before_t, n_t, out=scratch).mul_(z_t)
                th.mul(scratch, d_n, out=d_z)
                th.mul(d_n, n_t, out=scratch)
                d_n.addcmul_(scratch, n_t, value=-1)
                th.mul(d_n, r_t, out=d_from_h)
                th.mul(d_from_h, from_h_t, out=scratch)
                th.addcmul(scratch, scratch, r_t, value=-1, out=d_r)
                th.addmm(through_z, d_t, w_hh, out=d_state)
            if len(steps) == 1:
                before = before_t
            else:
                th.cat([state_before[t][: sizes[t]] for t in steps], out=before)
            d_w_hh += sum_of_products(d, before)
            d_b_hn += d[:, n].sum(0)
            d[:, n] = d_n_x
            linear_into(d_x[rows], d, w_ih.t())
            d_w_ih += sum_of_products(d, x[rows])
            d_b_ih += d.sum(0)
        return d_x, d_hidden, d_w_ih, d_w_hh, d_b_ih, th.cat([d_b_ih[rz], d_b_hn]), None
