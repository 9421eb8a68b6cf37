"""Linear layers of many tokens, by oneDNN where that is faster than what torch calls.

Torch leaves products of float32 on the CPU to MKL, which does without AVX-512 on AMD's processors. oneDNN, in the same
torch, uses it and takes half the time; with AVX2 alone it takes about as long (benchmarks/token_linear.py). Its
operator is the one that torch's compiler calls. It is not part of torch's public interface: where it is missing, or
`torch.backends.mkldnn.enabled` is off, layers are `F.linear`.
"""

import torch as th
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd.function import once_differentiable

# With fewer multiplications, a call of oneDNN's costs more than it saves
LEAST_WORK = 2_000_000


def tokens_step(tokens: int) -> int:
    """A power of 2 between 1/64 and 1/128 of so many tokens, 16 at least: oneDNN does multiples of it only.

    It compiles a kernel for each number of tokens. That pays for numbers that occur again, so few should occur.
    """
    return max(16, 1 << max(0, tokens.bit_length() - 7))


def rows_in_steps(rows: int, width: int) -> int:
    """The fewest rows, as many as these at least, whose places are a multiple of `tokens_step`."""
    while rows * width % tokens_step(rows * width):
        rows += 1
    return rows


class TokenLinear(nn.Linear):
    """`nn.Linear`, by `token_linear`."""

    def forward(self, x: th.Tensor) -> th.Tensor:
        return token_linear(x, self.weight, self.bias)


def token_linear(x: th.Tensor, weight: th.Tensor, bias: th.Tensor) -> th.Tensor:
    """`F.linear`, `[..., in]` -> `[..., out]`, equal but for rounding; it has no gradients of gradients."""
    return _Product.apply(x, weight, bias) if _by_onednn(x, weight) else F.linear(x, weight, bias)


def _operator():
    packet = getattr(th.ops.mkldnn, "_linear_pointwise", None) if th.backends.mkldnn.is_available() else None
    return getattr(packet, "default", None)


_OPERATOR = _operator()


def _by_onednn(x: th.Tensor, weight: th.Tensor) -> bool:
    tokens = x.numel() // weight.shape[1]
    return bool(
        tokens * weight.numel() >= LEAST_WORK
        and tokens % tokens_step(tokens) == 0
        and x.device.type == "cpu"
        and x.dtype == weight.dtype == th.float32
        and _OPERATOR is not None
        and th.backends.mkldnn.enabled
        and not th.is_autocast_enabled("cpu")
    )


def _product(x: th.Tensor, weight: th.Tensor, bias: th.Tensor | None = None) -> th.Tensor:
    return _OPERATOR(x, weight, bias, "none", [], "")


class _Product(th.autograd.Function):
    @staticmethod
    def forward(ctx, x: th.Tensor, weight: th.Tensor, bias: th.Tensor) -> th.Tensor:
        ctx.save_for_backward(x, weight)
        return _product(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient: th.Tensor) -> tuple[th.Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        of_x, of_weight, of_bias = ctx.needs_input_grad
        tokens, x = gradient.flatten(0, -2), x.flatten(0, -2)
        return (
            _product(gradient, weight.t().contiguous()) if of_x else None,
            _sum_of_products(tokens, x) if of_weight else None,
            tokens.sum(0) if of_bias else None,
        )


def _sum_of_products(a: th.Tensor, b: th.Tensor) -> th.Tensor:
    """`a.T @ b` of `[tokens, A]` and `[tokens, B]`. The operator copies its first operand: let it be the narrower."""
    return _product(a.t(), b.t()) if a.shape[1] < b.shape[1] else _product(b.t(), a.t()).t()
