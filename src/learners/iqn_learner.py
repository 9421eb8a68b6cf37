"""Learning distributions of returns: IQN (Dabney et al. 2018b), QR-DQN (Dabney et al. 2018a), C51 (Bellemare 2017)."""

import copy
from contextlib import nullcontext
from typing import Any

import torch as th

from controllers.contract import controller
from learners.averages import AveragedWeights
from learners.figures import Figure, figure
from learners.q_targets import masked_mean
from learners.quantile_loss import SelfLossScale
from learners.return_distributions import DistributionLearner
from learners.soft_reset import SoftReset
from modules.agents.iqn_agent import IQNAgent
from modules.noisy import put_noise
from utils.errors import ConfigError
from utils.tensors.optimisers import build_optimiser


class IQNLearner(DistributionLearner):
    """Q-learning of distributions, of each agent alone; the form is the `distribution` of the agent.

    Random fractions are drawn from NumPy's generator: torch's belongs to acting. Truncated episodes continue with the
    value of their last state, terminated ones end.

    Raises:
        ConfigError: another agent, an odd number of random quantiles, or self-loss scaling without quantiles.
    """

    unrolls = False

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        if not isinstance(controller(mac).agent, IQNAgent):
            raise ConfigError(f"learner={self.args.learner} needs agent=iqn with mac=basic_mac.")
        for key in ("quantiles", "acting_quantiles"):
            if mac.agent.implicit and vars(mac.agent.args)[key] % 2:
                raise ConfigError(f"{key}={vars(mac.agent.args)[key]}: an even number; each has its mirror image.")
        if self.args.self_loss_scaling and mac.agent.atoms is not None:
            raise ConfigError(
                "self_loss_scaling=True goes by the width of quantiles; distribution=categorical has none."
            )
        if mac.agent.args.quantiles == 1 and (mac.agent.atoms is not None or self.args.self_loss_scaling):
            raise ConfigError("quantiles=1: one value has no width. Use 2 or more.")
        self.optimiser = self.optimisers["opt"] = build_optimiser(list(mac.parameters()), self.args.lr, self.args)
        self.target_mac = copy.deepcopy(mac)
        keeps = self.args.average_weights
        self.average = AveragedWeights(mac.parameters(), keeps) if keeps else None
        self.self_loss_scale = SelfLossScale(self.args.self_loss_start)
        self.reset = SoftReset(self.args.reset_now)
        # owed to the update plan, see `take_extra_uses`
        self.extra_uses = 0
        self.trained = 0
        # of the last sample with importance weights, `[B]`
        self.new_priorities: th.Tensor | None = None

    def train(self, batch, t_env: int, episode_num: int) -> None:
        """One update from a batch of two time steps."""
        due, scale = self._log_due(t_env), self.self_loss_scale
        means = scale.means(batch["filled"].device) if self.args.self_loss_scaling else ()
        figures, self.new_priorities, after = self.captured(self._update, batch, due, *means)
        if after:
            scale.mean, scale.divisor_mean = after
        self._shrink_weights()
        if self.reset.due(batch.batch_size, self.args.reset_interval, self.args.reset_now):
            self.reset.mix(self.mac.agent, self.args.reset_share, self.args.reset_last_share)
            self.extra_uses += self.args.reset_uses
        if self.average is not None:
            self.average.update()
        self.trained += 1
        if self.trained % self.args.target_update_every == 0:
            self._update_targets_by(self.args.target_update_interval_or_tau)
        if due:
            self._log(figures, t_env)

    def _update(
        self, batch: Any, log: bool, *means: Figure
    ) -> tuple[dict[str, Figure], th.Tensor | None, tuple[Figure, ...]]:
        """A gradient step; returns its statistics, new priorities, and the self-loss's running means after `means`."""
        for mac in (self.mac, self.target_mac):
            put_noise(mac.agent, lambda shape: self._noise(shape, batch["filled"].device))
        now = self.distributions(batch)
        losses = self._losses(now)
        weights = batch["weights"].unsqueeze(1) if "weights" in batch.scheme else 1.0
        scale = 1.0
        if means and now.taus is not None:
            self.self_loss_scale.mean, self.self_loss_scale.divisor_mean = means
            scale = self.self_loss_scale(now.targets, now.target_taus, self.args.kappa)
            means = self.self_loss_scale.mean, self.self_loss_scale.divisor_mean
        grad_norm = self._step(self.optimiser, (losses * scale * weights * now.mask).sum())
        errors = (now.means - now.target_means).abs()
        priorities, found = None, {}
        if "weights" in batch.scheme:
            priorities = ((errors * now.mask).sum(dim=1) / now.mask.sum(dim=1).clamp(min=1)).detach()
        if log:
            figures = {
                "loss": losses,
                "td_error_abs": errors,
                "q_taken_mean": now.means,
                "target_mean": now.target_means,
            }
            if now.taus is not None and len(now.values) > 1:
                figures["quantile_spread"] = now.values.std(dim=0)
            found = {key: figure(masked_mean(x.detach(), now.mask)) for key, x in figures.items()}
            found["grad_norm"] = grad_norm
        return found, priorities, means

    def save_models(self, path: str) -> None:
        """See `BaseLearner`; agent.th has the weights that tests play with."""
        with nullcontext() if self.average is None else self.average.in_place():
            super().save_models(path)

    def load_models(self, path: str) -> None:
        super().load_models(path)
        if self.average is not None:
            self.average.restart()

    def take_extra_uses(self) -> int:
        """How often transitions are to be used beside the update plan, since the last call."""
        uses, self.extra_uses = self.extra_uses, 0
        return uses

    @th.no_grad()
    def test_loss(self, batch: Any) -> float:
        """The mean loss on a sample that is not learned from, of the noise of the last update if there is any."""
        now = self.distributions(batch)
        return float(masked_mean(self._losses(now), now.mask))

    @th.no_grad()
    def _shrink_weights(self) -> None:
        """weights <- (1 - lr `weight_decay`) weights."""
        if self.args.weight_decay:
            for group in self.optimiser.param_groups:
                th._foreach_mul_(list(group["params"]), 1 - group["lr"] * self.args.weight_decay)
