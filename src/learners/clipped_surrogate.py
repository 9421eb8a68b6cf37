"""PPO's clipped surrogate objective, with its derivative."""

from typing import Any

import torch as th
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from learners.q_targets import SMALLEST


def clipped_surrogate(
    log_prob: th.Tensor, old_log_prob: th.Tensor, advantages: th.Tensor, weights: th.Tensor, eps_clip: float
) -> tuple[th.Tensor, th.Tensor, th.Tensor]:
    """Minus the clipped surrogate (Schulman et al. 2017, eq. 7), a mean by `weights`; all arguments `[..., n]`.

    Returns:
        the loss, with a gradient for `log_prob`; the ratio of probabilities, and its logarithm: 1 and 0 where the
        weight is 0.
    """
    return _ClippedSurrogate.apply(log_prob, old_log_prob, advantages, weights, eps_clip)


# the objective with its derivative, one node of autograd, not one for every operation (see `mean_square`)


class _ClippedSurrogate(Function):
    @staticmethod
    def forward(ctx: Any, log_prob, old_log_prob, advantages, weights, eps_clip):
        log_ratio = (log_prob - old_log_prob).masked_fill_(weights == 0, 0.0)
        ratio = log_ratio.exp()
        free, held = ratio * advantages, ratio.clamp(1 - eps_clip, 1 + eps_clip).mul_(advantages)
        # the smaller of both: no reward for moving further (eq. 7)
        gain, shares = th.minimum(free, held), weights / weights.sum().clamp(min=SMALLEST)
        loss = -(gain * shares).sum()
        # d ratio / d log_prob is the ratio; where the clipped term is the smaller one, the loss is constant
        ctx.save_for_backward((gain * shares).masked_fill_(free > held, 0.0).neg_())
        ctx.mark_non_differentiable(ratio, log_ratio)
        return loss, ratio, log_ratio

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_loss, *_):
        (slope,) = ctx.saved_tensors
        return slope * of_loss, None, None, None, None
