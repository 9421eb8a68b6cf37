"""PPO: proximal policy optimisation with clipping (Schulman et al. 2017), for teams (MAPPO, Yu et al. 2022)."""

from collections import defaultdict
from typing import Any

import torch as th
import torch.nn.functional as F
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from learners.action_evaluation import statistics
from learners.actor_critic import ActorCriticLearner
from learners.figures import Figure, figure
from learners.q_targets import SMALLEST, masked_mean
from utils.errors import ConfigError
from utils.numbers.schedules import Schedule
from utils.tensors.masked_rows import mean_where
from utils.tensors.schemes import entity_actions


class PPOLearner(ActorCriticLearner):
    """Several epochs of minibatches on each rollout, with the ratio of new and old probabilities clipped.

    A minibatch is some of the rollout's rows or, with `chunk_length`, of its parts of that length.
    """

    @staticmethod
    def needs_acting(args) -> tuple[str, ...]:
        """What it needs of decisions, by its options."""
        from_acting = args.use_rollout_values and args.critic == "trunk"
        return ("log_prob", "value") if from_acting else ("log_prob",)

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        if self.args.use_rollout_values and self.shared_trunk:
            self.state_values.take_from_acting()
            if self.args.recompute_advantages:
                raise ConfigError(
                    "use_rollout_values=True: recompute_advantages=True needs values of the present weights."
                )
        self.eps_clip = Schedule.of(self.args.eps_clip)
        actions = entity_actions(scheme).values() if self.args.kl_mean == "actions" else ()
        self._slots = [slice(*action["slots"]) for action in actions]
        self._minibatches = self.compose({"recurrent_minibatches": {"parts": self.args.minibatches}})

    def train(self, batch, t_env: int, episode_num: int) -> None:
        """`epochs` passes over `batch`, each in `minibatches` updates, unless the policy has moved too far before."""
        self.anneal(t_env)
        eps_clip, entropy_coef = self.eps_clip.eval(t_env), self.entropy_coef.eval(t_env)
        rewards = self.estimator.rewards(batch)
        old = {} if self.args.use_rollout_log_probs else self._old_policy(batch)
        stats: dict[str, list] | None = defaultdict(list) if self._log_due(t_env) else None
        sample = None
        for _ in range(self.args.epochs):
            if sample is None or self.args.recompute_advantages:
                found = self.estimates(batch, rewards) | old
                sample = self.sample(batch, found, self.args.chunk_length, self.args.burn_in)
                if stats:
                    stats.clear()
            if not self._epoch(sample, eps_clip, entropy_coef, stats):
                break
        self.finish(batch)
        if stats is not None:
            self._log({key: sum(values) / len(values) for key, values in stats.items()}, t_env)

    @th.no_grad()
    def _old_policy(self, batch) -> dict[str, th.Tensor]:
        """Log-probabilities of the actions by the present policy, in the place of those of acting."""
        return {"old_log_prob": self.evaluate_actions(self.sample(batch, {})).log_prob}

    def _epoch(self, sample, eps_clip: float, entropy_coef: float, stats: dict[str, list] | None) -> bool:
        """One pass over all rows; whether the policy is still near the one that acted. Adds to `stats`, if there is."""
        for part in self._minibatches(sample):
            found = self.captured(self._update, part, eps_clip, entropy_coef, stats is not None)
            if stats is not None:
                for key, value in found.items():
                    stats[key].append(value)
            if self.args.target_kl_after == "minibatch" and self._has_moved(found):
                return False
        return not self._has_moved(found)

    def _has_moved(self, found: dict[str, float]) -> bool:
        return bool(self.args.target_kl) and found["approx_kl"] > self.args.target_kl

    def _value_loss(self, values: th.Tensor, part, mask: th.Tensor, eps_clip: float) -> th.Tensor:
        """The mean error of values `[B, T, n]`; with `value_clip`, of the worse of two values, one near the old one."""
        if not self.args.value_clip and self.args.huber_delta is None:
            return mean_square(values, part["returns"], mask)
        errors = self._error(values, part["returns"])
        if self.args.value_clip:
            near = part["old_values"] + (values - part["old_values"]).clamp(-eps_clip, eps_clip)
            errors = th.maximum(errors, self._error(near, part["returns"]))
        return masked_mean(errors, mask)

    def _error(self, values: th.Tensor, returns: th.Tensor) -> th.Tensor:
        """Squared; beyond `huber_delta`, if there is one, linear with the same slope (Huber 1964)."""
        if self.args.huber_delta is None:
            return (values - returns) ** 2
        return 2 * F.huber_loss(values, returns, reduction="none", delta=self.args.huber_delta)

    def _update(self, part, eps_clip: float, entropy_coef: float, with_statistics: bool = True) -> dict[str, Figure]:
        """One gradient step on some rows; returns "approx_kl" if needed or, `with_statistics`, all that is logged."""
        mask, choices, advantages = part["mask"], part["choices"], part["advantages"]
        if self.args.normalise_advantages_per_minibatch:
            advantages = _scaled(advantages, mask)
        now = self.evaluate_actions(part)
        pg_loss, ratio, log_ratio = clipped_surrogate(now.log_prob, part["old_log_prob"], advantages, choices, eps_clip)
        entropy = masked_mean(now.entropy, choices)
        value_loss = self._value_loss(now.values, part, mask, eps_clip)
        loss = pg_loss - entropy_coef * entropy
        norms = self.step(loss, value_loss)
        if not (with_statistics or self.args.target_kl):
            return {}
        with th.no_grad():
            # the unbiased estimate of low variance (Schulman 2020)
            approx_kl = figure(self._kl_mean(ratio - 1 - log_ratio, choices))
            if not with_statistics:
                return {"approx_kl": approx_kl}
            return {
                "pg_loss": figure(loss if self.args.entropy_in_pg_loss else pg_loss),
                "critic_loss": figure(value_loss),
                "approx_kl": approx_kl,
                "clip_fraction": figure(self._kl_mean(((ratio - 1).abs() > eps_clip).float(), choices)),
                **statistics(part, now),
                **norms,
            }

    def _kl_mean(self, values: th.Tensor, choices: th.Tensor) -> th.Tensor:
        """Of values `[..., n]` where there are `choices`, by `kl_mean`."""
        if not self._slots:
            return masked_mean(values, choices)
        weights = th.stack([choices[..., slots].sum() for slots in self._slots])
        sums = th.stack([(values * choices)[..., slots].sum() for slots in self._slots])
        return (sums / weights.clamp(min=1)).sum() / (weights > 0).sum().clamp(min=1)


def _scaled(advantages: th.Tensor, mask: th.Tensor) -> th.Tensor:
    """Minus their mean, over their unbiased deviation + 1e-8, both where `mask` is not 0; one alone stays as it is."""
    if advantages.device.type == "cpu":
        counted = advantages[mask > 0]
        if len(counted) < 2:
            return advantages
        return (advantages - counted.mean()) / (counted.std() + 1e-8) * mask
    # the same where choosing these would wait for the card
    counted = mask > 0
    number = counted.sum()
    distances = advantages - mean_where(counted.flatten(), advantages.flatten())
    squares = th.where(counted, distances.square(), 0.0).sum()
    scaled = distances / ((squares / (number - 1)).sqrt() + 1e-8) * mask
    return th.where(number < 2, advantages, scaled)


def clipped_surrogate(
    log_prob: th.Tensor, old_log_prob: th.Tensor, advantages: th.Tensor, weights: th.Tensor, eps_clip: float
) -> tuple[th.Tensor, th.Tensor, th.Tensor]:
    """Minus the clipped surrogate (Schulman et al. 2017, eq. 7), a mean by `weights`; all arguments `[..., n]`.

    Returns:
        the loss, with a gradient for `log_prob`; the ratio of probabilities, and its logarithm: 1 and 0 where the
        weight is 0.
    """
    return _ClippedSurrogate.apply(log_prob, old_log_prob, advantages, weights, eps_clip)


def mean_square(values: th.Tensor, targets: th.Tensor, weights: th.Tensor) -> th.Tensor:
    """The mean of squared errors by `weights`, with a gradient for `values`; all `[..., n]`."""
    return _MeanSquare.apply(values, targets, weights)


# the objective and squared errors with their derivatives, each one node of autograd, not one for every operation: in
# updates of some hundred rows, the nodes of a loss take longer than its arithmetic


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
