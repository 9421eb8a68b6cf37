"""A GRU cell over sequences of unequal length: fewer, larger operations than step by step."""

import torch as th
import torch.nn as nn


def gru_sequence(cell: nn.GRUCell, x: th.Tensor, sizes: list[int], hidden: th.Tensor) -> th.Tensor:
    """Hidden states of `cell` over packed sequences (the order of `torch.nn.utils.rnn.PackedSequence`).

    Args:
        x: inputs `[P, I]`: step 0 of the first `sizes[0]` sequences, step 1 of the first `sizes[1]` of them, ...
        sizes: sequences that have each step; never rising.
        hidden: initial hidden states `[sizes[0], H]`.

    Returns:
        Hidden states after each step, `[P, H]`.
    """
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


class _GRUSequence(th.autograd.Function):
    """The sequence as one node of the graph, with its derivative written out.

    Gates of Cho et al. (2014) as torch.nn.GRUCell has them: r and z are sigmoids of x W_i + b_i + h W_h + b_h,
    n = tanh(x W_in + b_in + r (h W_hn + b_hn)), h' = (1 - z) n + z h. All that belongs to one step is done while it
    is in the processor's cache: products over all steps at once are slower. tanh(a) is 2 sigmoid(2 a) - 1, three
    times as fast on a CPU, with the first factor in the weights.
    """

    @staticmethod
    def forward(ctx, x, hidden, w_ih, w_hh, b_ih, b_hh, sizes):
        size = hidden.size(1)
        rz, n = slice(0, 2 * size), slice(2 * size, 3 * size)
        w_i, w_h = w_ih.t().clone(), w_hh.t().clone()
        w_i[:, n] *= 2
        w_h[:, n] *= 2
        w_h_rz, w_h_n, b_h_n = w_h[:, rz], w_h[:, n].contiguous(), 2 * b_hh[n]
        b_rzn = th.cat([b_ih[rz] + b_hh[rz], 2 * b_ih[n]])
        minus_one = x.new_tensor(-1.0)
        gates, from_h, states = (x.new_empty(len(x), width * size) for width in (3, 1, 1))
        h = hidden
        steps = zip(*(part.split(sizes) for part in (x, gates, from_h, states)), strict=True)
        for x_t, gates_t, from_h_t, state_t in steps:
            h = h[: len(x_t)]
            th.addmm(b_rzn, x_t, w_i, out=gates_t)
            gates_t[:, rz].addmm_(h, w_h_rz).sigmoid_()
            th.addmm(b_h_n, h, w_h_n, out=from_h_t)
            n_t = gates_t[:, n].addcmul_(gates_t[:, :size], from_h_t).sigmoid_()
            th.add(minus_one, n_t, alpha=2, out=n_t)
            h = th.lerp(n_t, h, gates_t[:, size : 2 * size], out=state_t)
        ctx.save_for_backward(x, hidden, w_ih, w_hh, gates, from_h, states)
        ctx.sizes = sizes
        return states

    @staticmethod
    @th.autograd.function.once_differentiable
    def backward(ctx, d_states):
        x, hidden, w_ih, w_hh, gates, from_h, states = ctx.saved_tensors
        rows, size = hidden.shape
        rz, n = slice(0, 2 * size), slice(2 * size, 3 * size)
        d_x, d_w_ih, d_w_hh = th.empty_like(x), th.zeros_like(w_ih), th.zeros_like(w_hh)
        d_b_ih, d_b_hn = x.new_zeros(3 * size), x.new_zeros(size)
        # d_i, d_h: derivatives of the gates' sums of what comes from x, and of what comes from h
        all_d_i, all_d_h, all_scratch = (x.new_empty(rows, width * size) for width in (3, 3, 2))
        d_hidden = th.zeros_like(hidden)
        steps = list(zip(*(p.split(ctx.sizes) for p in (x, gates, from_h, d_states, d_x, states)), strict=True))
        for t in reversed(range(len(steps))):
            x_t, gates_t, from_h_t, d_state_t, d_x_t, _ = steps[t]
            count = len(x_t)
            before = steps[t - 1][-1][:count] if t else hidden[:count]
            r_t, z_t, n_t = gates_t.split(size, dim=1)
            d_i, d_h = all_d_i[:count], all_d_h[:count]
            through_z, scratch = all_scratch[:count].split(size, dim=1)
            d_r, d_z, d_n = d_i.split(size, dim=1)
            d_from_h = d_h[:, n]

            d_state = d_hidden[:count].add_(d_state_t)
            th.mul(d_state, z_t, out=through_z)
            th.sub(d_state, through_z, out=d_n)
            th.sub(before, n_t, out=scratch).mul_(z_t)
            th.mul(scratch, d_n, out=d_z)
            th.mul(d_n, n_t, out=scratch)
            d_n.addcmul_(scratch, n_t, value=-1)
            th.mul(d_n, r_t, out=d_from_h)
            th.mul(d_from_h, from_h_t, out=scratch).mul_(0.5)  # from_h was doubled with the weights
            th.addcmul(scratch, scratch, r_t, value=-1, out=d_r)
            d_h[:, rz] = d_i[:, rz]

            th.addmm(through_z, d_h, w_hh, out=d_state)
            th.mm(d_i, w_ih, out=d_x_t)
            d_w_ih.addmm_(d_i.t(), x_t)
            d_w_hh.addmm_(d_h.t(), before)
            d_b_ih += d_i.sum(0)
            d_b_hn += d_from_h.sum(0)
        return d_x, d_hidden, d_w_ih, d_w_hh, d_b_ih, th.cat([d_b_ih[rz], d_b_hn]), None
