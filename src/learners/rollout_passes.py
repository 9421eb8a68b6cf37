"""The common part of learners that make several passes over each rollout: the critic's, and policies in turn."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch as th
import torch.nn.functional as F
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from learners.actor_critic import ActorCriticLearner
from learners.figures import Averages, Figure
from learners.q_targets import SMALLEST, masked_mean
from utils.numbers.schedules import Schedule


class RolloutPasses(ActorCriticLearner):
    """`epochs` passes in `minibatches` updates.

    A minibatch is some of the rollout's rows or, with `chunk_length`, of its parts of that length.
    """

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        self.eps_clip = Schedule.of(self.args.eps_clip)
        self.estimator.normalised_later = self.args.value_norm_passes > 0 and self.estimator.value_norm is not None
        self.chunks_across = self.args.chunk_across
        self.minibatches = self.compose({"recurrent_minibatches": {"parts": self.args.minibatches}})

    def update_in_turn(
        self, batch: Any, found: dict[str, th.Tensor], improve: Callable[[Any, Any], None], t_env: int, stats: Averages
    ) -> None:
        """The policies one after another, by `improve(sample, mac)`, and then the critic, in passes of its own."""
        assert self.order is not None
        chunks = self.args.chunk_length, self.args.burn_in
        for mac, mine, own in self.order.turns(batch, found, self.log_prob):
            improve(self.sample(mine, own, *chunks, mac), mac)
        sample, eps_clip = self.sample(batch, found, *chunks), self.eps_clip.eval(t_env)
        for _ in range(self.args.epochs):
            for part in self.minibatches(sample):
                stats.note(self.captured(self._update_values, part, eps_clip, stats.wanted))

    def _update_values(self, part: Any, eps_clip: float, with_statistics: bool) -> dict[str, Figure]:
        return self.step_values(part, partial(self.value_loss, part, eps_clip), with_statistics)

    def value_loss(self, part: Any, eps_clip: float, values: th.Tensor) -> th.Tensor:
        """The mean error of values `[B, T, n]`; with `value_clip`, of the worse of two values, one near the old one."""
        loss = self._mean_error(part, eps_clip, values)
        return 0.5 * loss if self.args.halve_central_loss else loss

    def _mean_error(self, part: Any, eps_clip: float, values: th.Tensor) -> th.Tensor:
        returns = for_clipped = part["returns"]
        if self.estimator.normalised_later:
            for_clipped, returns = self._normalised(returns, part["mask"])
        if not self.args.value_clip and self.args.huber_delta is None:
            return mean_square(values, returns, part["mask"])
        errors = self._error(values, returns)
        if self.args.value_clip:
            near = part["old_values"] + (values - part["old_values"]).clamp(-eps_clip, eps_clip)
            errors = th.maximum(errors, self._error(near, for_clipped))
        return masked_mean(errors, part["mask"])

    def _normalised(self, returns: th.Tensor, mask: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """Returns `[..., n]` after each of the `value_norm_passes`, in which they count: the first, and the last."""
        after = []
        for _ in range(self.args.value_norm_passes):
            self.estimator.take_in(returns, mask)
            after.append(self.estimator.value_norm.normalize(returns))
        return after[0], after[-1]

    def _error(self, values: th.Tensor, returns: th.Tensor) -> th.Tensor:
        """Squared; beyond `huber_delta`, if there is one, linear with the same slope (Huber 1964)."""
        if self.args.huber_delta is None:
            return (values - returns) ** 2
        errors = 2 * F.huber_loss(values, returns, reduction="none", delta=self.args.huber_delta)
        if self.args.huber_one_sided:
            errors = th.where(values - returns > self.args.huber_delta, 0.0, errors)
        return errors


def mean_square(values: th.Tensor, targets: th.Tensor, weights: th.Tensor) -> th.Tensor:
    """The mean of squared errors by `weights`, with a gradient for `values`; all `[..., n]`.

    One node of autograd, not one for every operation: in updates of some hundred rows, the nodes of a loss take longer
    than its arithmetic.
    """
    return _MeanSquare.apply(values, targets, weights)


class _MeanSquare(Function):
    @staticmethod
    def forward(ctx: Any, values, targets, weights):
        errors, shares = values - targets, weights / weights.sum().clamp(min=SMALLEST)
        weighted = errors * shares
        ctx.save_for_backward(weighted)
        return (errors * weighted).sum()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_loss):
        (weighted,) = ctx.saved_tensors
        return weighted * (2 * of_loss), None, None
