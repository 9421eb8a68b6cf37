"""A GRU cell over sequences on a GPU, by cuDNN; of many sequences with a derivative of ours.

cuDNN's own derivative of 32 steps takes 1.5 ms of an H200 for each 1,000 sequences, ours 2 to 3 ms for any number up to
20,000: it has three operations a step, where launches take as long as arithmetic.
"""

import warnings

import torch as th

from utils.tensors.captured import capturing
from utils.tensors.devices import to_device

# sequences from which on our derivative is faster
MANY = 2048
# weights have their own memory, because optimisers and checkpoints hold them; cuDNN copies these 100 kB at each call
warnings.filterwarnings("ignore", "RNN module weights are not part of single contiguous chunk")


def states_on_gpu(x: th.Tensor, hidden: th.Tensor, weights: tuple[th.Tensor, ...], sizes: list[int]) -> th.Tensor:
    """As `gru_sequence`; `weights`: of x, of the state, and the biases of both."""
    if len(sizes) == 1 and capturing():
        # graphs have sequences of one step, for which cuDNN does more than a cell
        return th.gru_cell(x, hidden.contiguous(), *weights)
    if th.is_grad_enabled() and sizes[0] >= MANY:
        return GRUOnGPU.apply(x, hidden, *weights, sizes)
    return _by_cudnn(x, hidden, weights, sizes)


def _by_cudnn(x: th.Tensor, hidden: th.Tensor, weights: tuple[th.Tensor, ...], sizes: list[int]) -> th.Tensor:
    """In one call for all steps, with zeros where a sequence has ended: packed sequences take cuDNN twice as long."""
    steps, rows = len(sizes), sizes[0]
    places = None if sizes[-1] == rows else _places(sizes, x.device)
    if places is not None:
        x = x.new_zeros(steps * rows, x.size(1)).index_copy(0, places, x)
    # cuDNN refuses states that are views, and has a derivative only in training
    start, training = hidden.contiguous().unsqueeze(0), th.is_grad_enabled()
    states = th.gru(x.view(steps, rows, -1), start, weights, True, 1, 0.0, training, False, False)[0].flatten(0, 1)
    return states if places is None else states.index_select(0, places)


def _places(sizes: list[int], device: th.device) -> th.Tensor:
    """Where packed steps are among those of as many sequences in each step: int64 `[P]`, t * sizes[0] + sequence."""
    of_step = to_device(th.tensor(sizes), device)
    # by how much each place is behind that of packed steps
    behind = th.arange(len(sizes), device=device) * sizes[0] - (of_step.cumsum(0) - of_step)
    packed = th.arange(sum(sizes), device=device)
    return packed + behind.repeat_interleave(of_step, output_size=len(packed))


class GRUOnGPU(th.autograd.Function):
    """The sequence as one node of the graph.

    With the gates as `torch.nn.GRUCell` has them, the derivatives of the sums in r and z, and of what n gets from h,
    are the derivative of the new state times factors that do not depend on it. The factors of all steps are computed
    at once, from the states; three operations a step remain, from the last step to the first.
    """

    @staticmethod
    def forward(ctx, x, hidden, w_ih, w_hh, b_ih, b_hh, sizes):
        states = _by_cudnn(x, hidden, (w_ih, w_hh, b_ih, b_hh), sizes)
        ctx.save_for_backward(x, hidden, w_ih, w_hh, b_ih, b_hh, states)
        ctx.sizes = sizes
        return states

    @staticmethod
    @th.autograd.function.once_differentiable
    def backward(ctx, d_states):
        x, hidden, w_ih, w_hh, b_ih, b_hh, states = ctx.saved_tensors
        sizes = ctx.sizes
        # the state before each step: of the sequences that have it
        before = th.cat([hidden, *(h[:size] for h, size in zip(states.split(sizes), sizes[1:], strict=False))])
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


def _factors(x, before, w_ih, w_hh, b_ih, b_hh) -> tuple[th.Tensor, th.Tensor, th.Tensor]:
    """Of all steps: what the derivative of a state is multiplied by for those of the sums from h, `[P, 3, H]`; z; what
    it is multiplied by for that of the sum in n, `[P, H]`."""
    size = before.size(1)
    from_x, from_h = th.addmm(b_ih, x, w_ih.t()), th.addmm(b_hh, before, w_hh.t())
    rz_from_x, n_from_x = from_x.split((2 * size, size), dim=1)
    rz_from_h, n_from_h = from_h.split((2 * size, size), dim=1)
    r, z = rz_from_x.add_(rz_from_h).sigmoid_().split(size, dim=1)
    n = n_from_x.addcmul_(r, n_from_h).tanh_()
    to_n = (1 - z) * (1 - n * n)
    factors = x.new_empty(len(x), 3, size)
    of_r, of_z, of_n = factors.unbind(1)
    th.mul(to_n, r, out=of_n)
    th.mul(of_n, n_from_h, out=of_r).mul_(1 - r)
    th.sub(before, n, out=of_z).mul_(z).mul_(1 - z)
    return factors, z, to_n
