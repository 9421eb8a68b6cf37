"""Linear layers on the CPU, in the order, and by the library, that computes them fastest.

Torch leaves products of float32 on the CPU to MKL, which does without AVX-512 on AMD's processors. oneDNN, in the same
torch, uses it and takes half the time (benchmarks/fast_linear.py). Its operator is the one that torch's compiler
calls. It is not part of torch's public interface: where it is missing, or `torch.backends.mkldnn.enabled` is off,
layers are torch's own.
"""

from pathlib import Path

import torch as th
import torch.nn as nn
import torch.nn.functional as F

# With fewer multiplications, a call of oneDNN's costs more than it saves
LEAST_WORK = 2_000_000
# Of numbers of rows that may be any, only multiples of it: these occur again, or seldom
SOME = 32
# layers of one stack, of which one after another takes less time than all in one product of MKL's
FEW_LAYERS = 8
# numbers that a processor multiplies at once, at most; and rows, of which fewer are not worth another order
LANES, FEW_ROWS = 16, 64


def rows_step(rows: int) -> int:
    """A power of 2 between 1/64 and 1/128 of so many rows, 16 at least.

    oneDNN compiles a kernel for each number of rows. That pays for numbers that occur again, so few should occur: who
    can, makes them multiples of this.
    """
    return max(16, 1 << max(0, rows.bit_length() - 7))


def rows_in_steps(rows: int, width: int) -> int:
    """The fewest rows, as many as these at least, whose places are a multiple of `rows_step`."""
    while rows * width % rows_step(rows * width):
        rows += 1
    return rows


class FastLinear(nn.Linear):
    """`nn.Linear`, by `fast_linear`."""

    def forward(self, x: th.Tensor) -> th.Tensor:
        return fast_linear(x, self.weight, self.bias)


def fast_linear(x: th.Tensor, weight: th.Tensor, bias: th.Tensor | None) -> th.Tensor:
    """`F.linear`, `[..., in]` -> `[..., out]`, equal but for rounding."""
    if _by_onednn(x.shape[:-1].numel(), weight.numel(), x, weight):
        return _Layer.apply(x, weight, bias)
    return F.linear(x, weight, bias)


def stacked_linear(x: th.Tensor, weight: th.Tensor, bias: th.Tensor | None = None) -> th.Tensor:
    """S layers, each of rows of its own: `[S, N, I]` by `[S, I, O]`, and `[S, 1, O]`, make `[S, N, O]`.

    Where the outputs leave lanes of such a processor empty, as five actions do, the transposed product takes half the
    time, with its gradients; for a single output, sums take half of that. On Intel's processors both take up to three
    times as long as MKL's product.
    """
    layers, rows, outputs = len(x), x.size(1), weight.size(2)
    if not (x.is_cpu and _FASTER) or th.jit.is_tracing():
        return _sums(x, weight, bias)
    if layers <= FEW_LAYERS and _by_onednn(rows, weight.numel() // layers, x, weight):
        return _Stack.apply(x, weight, bias)
    if rows < FEW_ROWS or outputs % LANES == 0 or outputs == layers == 1:
        return _sums(x, weight, bias)
    if outputs > 1:
        return _sums(weight.mT, x.mT, None if bias is None else bias.mT).mT
    out = (x * weight.mT).sum(2, keepdim=True)
    return out if bias is None else out + bias


def linear_into(out: th.Tensor, x: th.Tensor, weight: th.Tensor, bias: th.Tensor | None = None) -> None:
    """`fast_linear` of rows `[N, in]` without gradients, into the memory of `out`, `[N, out]`."""
    if _by_onednn(len(x), weight.numel(), x, weight):
        out.copy_(_product(x, weight, bias))
    elif bias is None:
        th.mm(x, weight.t(), out=out)
    else:
        th.addmm(bias, x, weight.t(), out=out)


def sum_of_products(a: th.Tensor, b: th.Tensor) -> th.Tensor:
    """`a.T @ b` of `[rows, A]` and `[rows, B]`; torch's own where gradients of it are wanted."""
    if th.is_grad_enabled() or not _by_onednn(len(a), a.size(1) * b.size(1), a, b):
        return a.t() @ b
    # the operator copies its first operand: let it be the narrower
    return _product(a.t(), b.t()) if a.size(1) < b.size(1) else _product(b.t(), a.t()).t()


def _sums(left: th.Tensor, right: th.Tensor, added: th.Tensor | None) -> th.Tensor:
    return th.bmm(left, right) if added is None else th.baddbmm(added, left, right)


def _operator():
    packet = getattr(th.ops.mkldnn, "_linear_pointwise", None) if th.backends.mkldnn.is_available() else None
    return getattr(packet, "default", None)


def _is_faster() -> bool:
    """Whether this processor has AVX-512, and MKL does without it."""
    try:
        is_intel = "GenuineIntel" in Path("/proc/cpuinfo").read_text()
    except OSError:
        is_intel = True
    return not is_intel and th.backends.cpu.get_cpu_capability() == "AVX512"


_OPERATOR = _operator()
_FASTER = _is_faster()


def _by_onednn(rows: int, times: int, x: th.Tensor, y: th.Tensor) -> bool:
    """Whether it multiplies these, which takes so many multiplications for each of the rows."""
    return bool(
        x.is_cpu
        and not th.jit.is_tracing()  # a file for other programs
        and rows * times >= LEAST_WORK
        and x.dtype == y.dtype == th.float32
        and rows % min(rows_step(rows), SOME) == 0
        and _FASTER
        and _OPERATOR is not None
        and th.backends.mkldnn.enabled
        and not th.is_autocast_enabled("cpu")
        and not th.compiler.is_compiling()  # torch's compiler chooses itself
    )


def _product(x: th.Tensor, weight: th.Tensor, bias: th.Tensor | None = None) -> th.Tensor:
    return _OPERATOR(_dense(x), _dense(weight), bias, "none", [], "")


def _dense(matrix: th.Tensor) -> th.Tensor:
    """Without gaps between rows or columns, with which oneDNN may take a thousand times as long."""
    return matrix if matrix.is_contiguous() or matrix.mT.is_contiguous() else matrix.contiguous()


class _Layer(th.autograd.Function):
    @staticmethod
    def forward(ctx, x: th.Tensor, weight: th.Tensor, bias: th.Tensor | None) -> th.Tensor:
        ctx.save_for_backward(x, weight)
        return _product(x, weight, bias)

    @staticmethod
    def backward(ctx, gradient: th.Tensor) -> tuple[th.Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        of_x, of_weight, of_bias = ctx.needs_input_grad
        rows, x = gradient.flatten(0, -2), x.flatten(0, -2)
        return (
            _gradient_of_rows(gradient, weight) if of_x else None,
            sum_of_products(rows, x) if of_weight else None,
            rows.sum(0) if of_bias else None,
        )


class _Stack(th.autograd.Function):
    @staticmethod
    def forward(ctx, x: th.Tensor, weight: th.Tensor, bias: th.Tensor | None) -> th.Tensor:
        ctx.save_for_backward(x, weight)
        biases = [None] * len(x) if bias is None else bias.squeeze(1)
        return th.stack([_product(*layer) for layer in zip(x, weight.mT, biases, strict=True)])

    @staticmethod
    def backward(ctx, gradient: th.Tensor) -> tuple[th.Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        of_x, of_weight, of_bias = ctx.needs_input_grad
        return (
            th.stack([_gradient_of_rows(*layer) for layer in zip(gradient, weight.mT, strict=True)]) if of_x else None,
            th.stack([sum_of_products(*layer) for layer in zip(x, gradient, strict=True)]) if of_weight else None,
            gradient.sum(1, keepdim=True) if of_bias else None,
        )


def _gradient_of_rows(gradient: th.Tensor, weight: th.Tensor) -> th.Tensor:
    """`gradient @ weight`; torch's own where gradients of it are wanted, too."""
    return gradient @ weight if th.is_grad_enabled() else _product(gradient, weight.t().contiguous())
