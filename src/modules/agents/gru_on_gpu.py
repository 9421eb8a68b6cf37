"""A GRU cell over sequences on a GPU, where the number of launches decides: cuDNN's states, and a derivative of ours.

cuDNN's own derivative takes six times as long on an H200 with 20,480 rows: 13.5 of 15 ms are one of its kernels.
"""

import warnings
from collections.abc import Sequence

import torch as th

# weights have their own memory, because optimisers and checkpoints hold them; cuDNN copies these 100 kB at each call
warnings.filterwarnings("ignore", "RNN module weights are not part of single contiguous chunk")


def states_on_gpu(x: th.Tensor, hidden: th.Tensor, weights: tuple[th.Tensor, ...], sizes: list[int]) -> th.Tensor:
    """As `gru_sequence`, in one call of cuDNN; `weights`: of x, of the state, and the biases of both."""
    steps, rows = len(sizes), sizes[0]
    # without gradients: the derivative needs nothing of what cuDNN would keep
    with th.no_grad():
        # cuDNN refuses states that are views
        start, of_steps = hidden.contiguous().unsqueeze(0), _padded(x, sizes).view(steps, rows, -1)
        states = th.gru(of_steps, start, weights, True, 1, 0.0, False, False, False)[0]
    return (
        states.flatten(0, 1)
        if sizes[-1] == rows
        else th.cat([state[:n] for state, n in zip(states, sizes, strict=True)])
    )


def _padded(x: th.Tensor, sizes: list[int]) -> th.Tensor:
    """Packed steps `[P, I]` with zeros where a sequence has ended: `[T * sizes[0], I]`."""
    rows = sizes[0]
    if sizes[-1] == rows:
        return x
    zeros = x.new_zeros(rows - sizes[-1], x.size(1))
    return th.cat([part for x_t in x.split(sizes) for part in (x_t, zeros[: rows - len(x_t)])])


class GRUOnGPU(th.autograd.Function):
    """The sequence as one node of the graph.

    With the gates as `torch.nn.GRUCell` has them, the derivatives of the sums in r and z, and of what n gets from h,
    are the derivative of the new state times factors that do not depend on it. The factors of all steps are computed
    at once, from the states; three operations a step remain, from the last step to the first.
    """

    @staticmethod
    def forward(ctx, x, hidden, w_ih, w_hh, b_ih, b_hh, sizes):
        states = states_on_gpu(x, hidden, (w_ih, w_hh, b_ih, b_hh), sizes)
        ctx.save_for_backward(x, hidden, w_ih, w_hh, b_ih, b_hh, states)
        ctx.sizes = sizes
        return states

    @staticmethod
    @th.autograd.function.once_differentiable
    def backward(ctx, d_states):
        x, hidden, w_ih, w_hh, b_ih, b_hh, states = ctx.saved_tensors
        sizes = ctx.sizes
        before = th.cat([hidden, *_next_rows(states, sizes)])
        # d: first the factors [P, 3, H], then the derivatives of the sums from h
        d, z, to_n = _factors(x, before, w_ih, w_hh, b_ih, b_hh)
        total = d_states.clone(memory_format=th.contiguous_format)
        d_hidden = th.zeros_like(hidden)
        steps = list(zip(*(part.split(sizes) for part in (d, z, total)), strict=True))
        for t in reversed(range(len(sizes))):
            d_t, z_t, total_t = steps[t]
            earlier = steps[t - 1][2][: sizes[t]] if t else d_hidden
            d_t.mul_(total_t.unsqueeze(1))
            earlier.addcmul_(total_t, z_t).addmm_(d_t.flatten(1), w_hh)
        from_h = d.flatten(1)
        d_w_hh, d_b_hh = from_h.t().mm(before), from_h.sum(0)
        # r multiplies only what n gets from h
        th.mul(total, to_n, out=d[:, 2])
        return d.flatten(1).mm(w_ih), d_hidden, from_h.t().mm(x), d_w_hh, from_h.sum(0), d_b_hh, None


def _next_rows(states: th.Tensor, sizes: list[int]) -> Sequence[th.Tensor]:
    """The states before each step but the first: of the sequences that have it."""
    return [state[:size] for state, size in zip(states.split(sizes), sizes[1:], strict=False)]


def _factors(x, before, w_ih, w_hh, b_ih, b_hh) -> tuple[th.Tensor, th.Tensor, th.Tensor]:
    """Of all steps: what the derivative of a state is multiplied by for those of the sums from h, `[P, 3, H]`; z; what
    it is multiplied by for that of the sum in n, `[P, H]`."""
    size = before.size(1)
    from_x, from_h = th.addmm(b_ih, x, w_ih.t()), th.addmm(b_hh, before, w_hh.t())
    rz, n = slice(0, 2 * size), slice(2 * size, 3 * size)
    r, z = from_x[:, rz].add_(from_h[:, rz]).sigmoid_().split(size, dim=1)
    n_from_h = from_h[:, n]
    n = from_x[:, n].addcmul_(r, n_from_h).tanh_()
    to_n = (1 - z) * (1 - n * n)
    factors = x.new_empty(len(x), 3, size)
    of_r, of_z, of_n = factors.unbind(1)
    th.mul(to_n, r, out=of_n)
    th.mul(of_n, n_from_h, out=of_r).mul_(1 - r)
    th.sub(before, n, out=of_z).mul_(z).mul_(1 - z)
    return factors, z, to_n
