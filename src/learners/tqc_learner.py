"""TQC: truncated quantile critics (Kuznetsov et al. 2020), for continuous actions and, as SAC, for choices."""

from typing import Any

import torch as th

from learners.off_policy import Transitions
from learners.q_targets import masked_mean
from learners.quantile_loss import quantile_huber
from learners.sac_learner import SACLearner
from modules.agents.iqn_agent import fixed_fractions
from utils.errors import ConfigError

# errors up to it count squared
KAPPA = 1.0


class TQCLearner(SACLearner):
    """SAC whose critics have M quantiles of returns each; targets leave out the largest of all of them.

    Of E critics, the E * `dropped_quantiles` largest of the E * M quantiles of the next state are left out (eq. 9),
    which is what keeps values from growing too large: the policy goes up the mean of all quantiles (eq. 13).
    """

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        if self.args.value_network:
            raise ConfigError(f"learner={self.args.learner} has no state values. Use value_network=False.")
        dropped, quantiles = self.args.dropped_quantiles, self.args.critic_quantiles
        if dropped >= quantiles:
            raise ConfigError(
                f"dropped_quantiles={dropped} leaves none of critic_quantiles={quantiles}. Use a smaller number."
            )
        self._kept = self.args.critics * (quantiles - dropped)

    def _judged(self, values: th.Tensor) -> th.Tensor:
        """The mean of all quantiles of all critics, from `[E, ..., M]`."""
        return values.mean(dim=(0, -1))

    def of_actions(
        self, now: Transitions, t: int, values: th.Tensor, actions: th.Tensor, target: bool = False
    ) -> th.Tensor:
        """Quantiles `[E, B, n, M]` of actions."""
        return values if self.mac.continuous else (values * actions.unsqueeze(-1)).sum(dim=-2)

    @th.no_grad()
    def targets_of(self, now: Transitions) -> th.Tensor:
        """r + gamma (z - alpha log pi(a' | s')) for each quantile z that is kept, `[K, B, n]` (eq. 10)."""
        units, log_prob = self._following_actions(now)
        quantiles = self.of_actions(now, 1, self.values(now, 1, units, target=True), units)
        pooled = quantiles.movedim(-1, 1).flatten(0, 1)
        kept = pooled.sort(dim=0).values[: self._kept]
        return now.rewards + now.discount * (1 - now.ended) * (kept - self.entropy_weight * log_prob)

    def _critic_loss(self, now: Transitions, log: bool) -> tuple[th.Tensor, dict[str, Any]]:
        targets, values = self.targets_of(now), self.taken_values(now)
        loss = self._quantile_loss(values, targets, now)
        with th.no_grad():
            means, target_means = values.mean(dim=(0, -1)), targets.mean(dim=0)
            errors = (means - target_means).abs()
            if isinstance(now.weights, th.Tensor):
                self.new_priorities = (errors * now.mask).sum(dim=1) / now.mask.sum(dim=1).clamp(min=1)
            if not log:
                return loss, {}
            figures = {"td_error_abs": errors, "q_taken_mean": means, "target_mean": target_means}
            figures["quantile_spread"] = values.std(dim=-1).mean(dim=0)
            return loss, {"critic_loss": loss.detach()} | {k: masked_mean(x, now.mask) for k, x in figures.items()}

    def _quantile_loss(self, values: th.Tensor, targets: th.Tensor, now: Transitions) -> th.Tensor:
        """The sum over critics of the mean quantile Huber losses of their quantiles `[E, B, n, M]` (eq. 8)."""
        quantiles = values.size(-1)
        taus = self.made(lambda: fixed_fractions(quantiles).numpy(), values.device).view(-1, 1, 1, 1)
        losses = quantile_huber(values.movedim(-1, 0), taus, targets.unsqueeze(1), KAPPA) / quantiles
        return (losses * now.weights * now.mask).sum() / now.mask.sum()

    @th.no_grad()
    def test_loss(self, batch: Any) -> float:
        """The critics' loss on a sample that is not learned from."""
        now = self.transitions(batch)
        return float(self._quantile_loss(self.taken_values(now), self.targets_of(now), now))
