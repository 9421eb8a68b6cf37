"""Distributions of returns that networks put out, their targets and losses, of batches of two time steps."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch as th

from learners.base import BaseLearner
from learners.q_targets import gather_actions, legal_values
from learners.quantile_loss import projected, quantile_huber
from modules.agents.iqn_agent import fixed_fractions, mirrored_fractions
from utils.rl_utils import discount_of, rewards_of, terminations, valid_transitions
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


class DistributionLearner(BaseLearner):
    """What a controller and its target network say of returns: quantiles of random or fixed fractions, or atoms."""

    target_mac: Any

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


def _quantiles(agent: Any, encoded: th.Tensor, taus: th.Tensor | None) -> th.Tensor:
    """`IQNAgent.quantiles_of`, whose rows processes may share."""
    if not is_sharing():
        return agent.quantiles_of(encoded, taus)
    by_rows = None if taus is None else taus.mT

    def of_rows(x: th.Tensor, fractions: th.Tensor | None) -> th.Tensor:
        return agent.quantiles_of(x, None if fractions is None else fractions.mT)

    return shared(of_rows, encoded, by_rows, out_axis=1, owner=agent)
