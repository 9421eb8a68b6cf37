"""Learning distributions of returns: IQN (Dabney et al. 2018b), QR-DQN (Dabney et al. 2018a), C51 (Bellemare 2017)."""

import copy
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch as th

from controllers.contract import controller
from learners.averages import AveragedWeights
from learners.base import BaseLearner
from learners.figures import Figure, figure
from learners.q_targets import gather_actions, legal_values, masked_mean
from learners.quantile_loss import SelfLossScale, projected, quantile_huber
from modules.agents.iqn_agent import IQNAgent, fixed_fractions, mirrored_fractions
from modules.noisy import put_noise
from utils.errors import ConfigError
from utils.rl_utils import discount_of, rewards_of, terminations, valid_transitions
from utils.tensors.optimisers import build_optimiser
from utils.tensors.shared_rows import is_sharing, shared


@dataclass
class Distributions:
    """Of the actions taken in B transitions of n agents, and their targets.

    `values` `[Q, B, n]` of the fractions `taus`, and `targets` `[Q', B, n]` of `target_taus`; with atoms, logits of the
    atoms, and their target probabilities. `means`, `target_means`, `mask`: `[B, n]`.
    """

    values: th.Tensor
    taus: th.Tensor | None
    targets: th.Tensor
    target_taus: th.Tensor | None
    means: th.Tensor
    target_means: th.Tensor
    mask: th.Tensor


class SoftReset:
    """When a network is reset, and how.

    Args:
        flag: any number; when another one is seen, a reset is due.
    """

    def __init__(self, flag: int):
        # transitions learned from since the last reset
        self.used = 0
        self.flag = flag

    def due(self, used: int, interval: int, flag: int) -> bool:
        """If a reset follows an update from `used` transitions: every `interval` of them (0: never), or by flag."""
        self.used += used
        if flag == self.flag and not (interval and self.used >= interval):
            return False
        self.used, self.flag = 0, flag
        return True

    @staticmethod
    @th.no_grad()
    def mix(network: Any, share: float, last_share: float) -> None:
        """Move the weights of an agent by `share` towards new random ones, those of its last layers by `last_share`."""
        fresh = copy.deepcopy(network)
        # torch's global generator belongs to acting
        fresh.initialise(th.Generator().manual_seed(int(np.random.randint(2**31))))
        last = {id(weight) for weight in network.last_weights()}
        for weight, new in zip(network.parameters(), fresh.parameters(), strict=True):
            weight.lerp_(new, last_share if id(weight) in last else share)

    def state_dict(self) -> dict[str, int]:
        return {"used": self.used, "flag": self.flag}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.used, self.flag = int(state["used"]), int(state["flag"])


class IQNLearner(BaseLearner):
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

    def distributions(self, batch: Any) -> Distributions:
        """Of a batch of two time steps, with the present weights."""
        agent, n = self.mac.agent, self.args.n_agents
        outputs, taus = self._outputs(self.mac, batch, 0)
        actions = batch["actions"][:, 0].expand(len(outputs), -1, -1, -1)
        values = gather_actions(outputs, actions)
        with th.no_grad():
            following, target_taus = self._following(batch)
            targets = self._targets(batch, following if agent.atoms is None else self._atoms_like(following))
            if agent.atoms is None:
                means, target_means = values.mean(dim=0), targets.mean(dim=0)
            else:
                target_means = (targets * following).sum(dim=0)
                targets = projected(targets, following, agent.atoms)
                means = agent.mean(values)
        mask = valid_transitions(batch, by_agent=True)[:, 0].expand(-1, n)
        return Distributions(values, taus, targets, target_taus, means, target_means, mask)

    def _noise(self, shape: tuple[int, ...], device: th.device) -> th.Tensor:
        """Standard normal numbers of NumPy's."""
        return self.made(lambda: np.random.standard_normal(shape).astype(np.float32), device)

    @th.no_grad()
    def test_loss(self, batch: Any) -> float:
        """The mean loss on a sample that is not learned from, of the noise of the last update if there is any."""
        now = self.distributions(batch)
        return float(masked_mean(self._losses(now), now.mask))

    def _losses(self, now: Distributions) -> th.Tensor:
        """Of each transition, `[B, n]`."""
        if now.taus is None:
            return -(now.targets * now.values.log_softmax(dim=0)).sum(dim=0)
        return quantile_huber(now.values, now.taus, now.targets, self.args.kappa)

    def _outputs(self, mac: Any, batch: Any, t: int) -> tuple[th.Tensor, th.Tensor | None]:
        """What the agent puts out at step `t`, `[Q, B, n, A]`, and the fractions of its quantiles, `[Q, B, n]`."""
        n, size, agent = self.args.n_agents, batch.batch_size, mac.agent
        taus = None
        if agent.implicit:
            shape = (agent.args.quantiles // 2, size * n)
            uniform = self.made(lambda: np.random.random(shape).astype(np.float32), batch["filled"].device)
            taus = mirrored_fractions(uniform)
        inputs = mac.inputs.parts_at(batch, t)
        outputs = self._forward(lambda: _quantiles(agent, agent.encode(inputs), taus))
        if taus is None and agent.atoms is None:
            fixed = self.made(lambda: fixed_fractions(agent.outputs).numpy(), outputs.device)
            taus = fixed.unsqueeze(1).expand(-1, size * n)
        shaped = outputs.unflatten(1, (size, n))
        return shaped, None if taus is None else taus.unflatten(1, (size, n))

    def _following(self, batch: Any) -> tuple[th.Tensor, th.Tensor | None]:
        """The best actions' quantiles after each transition, or probabilities of atoms, `[Q', B, n]`; and fractions.

        Without `double_q`, each quantile has its best action (Linesight's maximum per quantile); atoms have one.
        """
        agent, legal = self.mac.agent, batch["avail_actions"][:, 1]
        outputs, taus = self._outputs(self.target_mac, batch, 1)
        if agent.atoms is None and not self.args.double_q:
            return legal_values(outputs, legal).amax(dim=-1), taus
        judged = self._outputs(self.mac, batch, 1)[0] if self.args.double_q else outputs
        best = legal_values(agent.mean(judged), legal).argmax(dim=-1, keepdim=True).expand(len(outputs), -1, -1, -1)
        outputs = outputs if agent.atoms is None else outputs.softmax(dim=0)
        return gather_actions(outputs, best), taus

    def _targets(self, batch: Any, following: th.Tensor) -> th.Tensor:
        """r + gamma Z(s'), `[Q', B, n]`."""
        rewards, ended = rewards_of(batch)[:, 0], terminations(batch, by_agent=True)[:, 0]
        return rewards + discount_of(batch, self.args.gamma) * (1 - ended) * following

    def _atoms_like(self, following: th.Tensor) -> th.Tensor:
        return self.mac.agent.atoms.view(-1, 1, 1).expand_as(following)

    @th.no_grad()
    def _shrink_weights(self) -> None:
        """weights <- (1 - lr `weight_decay`) weights."""
        if self.args.weight_decay:
            for group in self.optimiser.param_groups:
                th._foreach_mul_(list(group["params"]), 1 - group["lr"] * self.args.weight_decay)


def _quantiles(agent: Any, encoded: th.Tensor, taus: th.Tensor | None) -> th.Tensor:
    """`IQNAgent.quantiles_of`, whose rows processes may share."""
    if not is_sharing():
        return agent.quantiles_of(encoded, taus)
    by_rows = None if taus is None else taus.mT

    def of_rows(x: th.Tensor, fractions: th.Tensor | None) -> th.Tensor:
        return agent.quantiles_of(x, None if fractions is None else fractions.mT)

    return shared(of_rows, encoded, by_rows, out_axis=1, owner=agent)
