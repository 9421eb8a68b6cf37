"""A GRU cell over sequences of unequal length: fewer, larger operations than step by step."""

import torch as th
import torch.nn as nn

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
    if x.is_cuda:  # there the number of launches decides, and cuDNN makes one of all steps
        return th.gru(x, th.tensor(sizes), hidden.unsqueeze(0), weights, True, 1, 0.0, cell.training, False)[0]
    if th.is_autocast_enabled(x.device.type):
        return _step_by_step(cell, x, sizes, hidden)
    return _GRUSequence.apply(x, hidden, *weights, sizes)


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


class _GRUSequence(th.autograd.Function):
    """The sequence as one node of the graph, with its derivative written out.

    Gates of Cho et al. (2014) as torch.nn.GRUCell has them: r and z are sigmoids of x W_i + b_i + h W_h + b_h,
    n = tanh(x W_in + b_in + r (h W_hn + b_hn)), h' = (1 - z) n + z h. Work that does not
    wait for the step before is done for a block of steps at once, small enough for the processor's cache.
    tanh(a) is 2 sigmoid(2 a) - 1, three times as fast on a CPU, with the first factor in the weights.
    """

    @staticmethod
    def forward(ctx, x, hidden, w_ih, w_hh, b_ih, b_hh, sizes):
        size = hidden.size(1)
        rz, n = slice(0, 2 * size), slice(2 * size, 3 * size)
        w_i, w_h = w_ih.t().clone(), w_hh.t().clone()
        w_i[:, n] *= 2
        w_h[:, n] *= 2
        w_h_rz, w_h_n = w_h[:, rz], w_h[:, n].contiguous()
        b_rzn = th.cat([b_ih[rz] + b_hh[rz], 2 * b_ih[n]])
        minus_one = x.new_tensor(-1.0)
        gates, states = x.new_empty(len(x), 3 * size), x.new_empty(len(x), size)
        from_h = (2 * b_hh[n]).expand(len(x), size).contiguous()
        r, z = (part.split(sizes) for part in gates[:, rz].split(size, dim=1))
        at = [part.split(sizes) for part in (gates[:, rz], gates[:, n], from_h, states)]
        h = hidden
        for steps, rows in _blocks(sizes):
            th.addmm(b_rzn, x[rows], w_i, out=gates[rows])
            for t in steps:
                rz_t, n_t, from_h_t, state_t = (part[t] for part in at)
                h = h[: sizes[t]]
                rz_t.addmm_(h, w_h_rz).sigmoid_()
                n_t.addcmul_(r[t], from_h_t.addmm_(h, w_h_n)).sigmoid_()
                th.add(minus_one, n_t, alpha=2, out=n_t)
                h = th.lerp(n_t, h, z[t], out=state_t)
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
        at = [part.split(sizes) for part in (*gates.split(size, dim=1), from_h, d_states)]
        state_after = states.split(sizes)
        blocks = _blocks(sizes)
        most = max(rows.stop - rows.start for _, rows in blocks)
        # d_i, d_h: derivatives of the gates' sums from x, and of those from h; h before each step
        buffers = [x.new_empty(most, width * size) for width in (3, 3, 1)]
        all_through_z, all_scratch = th.empty_like(hidden), th.empty_like(hidden)
        for steps, rows in reversed(blocks):
            d_i, d_h, before = (buffer[: rows.stop - rows.start] for buffer in buffers)
            parts = (*d_i.split(size, dim=1), d_i[:, rz], d_h, d_h[:, rz], d_h[:, n], before)
            in_block = list(zip(*(part.split([sizes[t] for t in steps]) for part in parts), strict=True))
            for t in reversed(steps):
                r_t, z_t, n_t, from_h_t, d_state_t = (part[t] for part in at)
                d_r, d_z, d_n, d_i_rz, d_h_t, d_h_rz, d_from_h, before_t = in_block[t - steps[0]]
                count = sizes[t]
                through_z, scratch = all_through_z[:count], all_scratch[:count]

                before_t.copy_(state_after[t - 1][:count] if t else hidden)
                d_state = d_hidden[:count].add_(d_state_t)
                th.mul(d_state, z_t, out=through_z)
                th.sub(d_state, through_z, out=d_n)
                th.sub(before_t, n_t, out=scratch).mul_(z_t)
                th.mul(scratch, d_n, out=d_z)
                th.mul(d_n, n_t, out=scratch)
                d_n.addcmul_(scratch, n_t, value=-1)
                th.mul(d_n, r_t, out=d_from_h)
                th.mul(d_from_h, from_h_t, out=scratch)
                scratch.addcmul_(scratch, r_t, value=-1)
                th.mul(scratch, 0.5, out=d_r)  # from_h was doubled with the weights
                d_h_rz.copy_(d_i_rz)
                th.addmm(through_z, d_h_t, w_hh, out=d_state)
            th.mm(d_i, w_ih, out=d_x[rows])
            d_w_ih.addmm_(d_i.t(), x[rows])
            d_w_hh.addmm_(d_h.t(), before)
            d_b_ih += d_i.sum(0)
            d_b_hn += d_h[:, n].sum(0)
        return d_x, d_hidden, d_w_ih, d_w_hh, d_b_ih, th.cat([d_b_ih[rz], d_b_hn]), None
