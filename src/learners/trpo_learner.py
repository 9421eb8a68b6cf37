"""TRPO: trust region policy optimisation (Schulman et al. 2015); of agents in turn HATRPO (Kuba et al. 2022)."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch as th

from learners.action_evaluation import ActionEvaluation, statistics
from learners.figures import Averages, figure
from learners.q_targets import masked_mean
from learners.rollout_passes import RolloutPasses
from utils.tensors.shared_rows import averaged

Vector = th.Tensor
# of the curvature along a step, below which there is no step
LEAST = 1e-12


class TRPOLearner(RolloutPasses):
    """One step of the policy on each rollout, along the natural gradient, as far as the trust region reaches.

    The critic makes passes as PPO's. With `update_order`, each agent's policy has a trust region, and makes its step
    after another's.
    """

    learns_from_copies = True

    def train(self, batch, t_env: int, episode_num: int) -> None:
        """One update of the policies from `batch`, and `epochs` passes of the critic."""
        self.anneal(t_env)
        stats = Averages(self._log_due(t_env))
        improve = partial(self._improve, self.entropy_coef.eval(t_env), stats)
        self.update_in_turn(batch, self.estimates(batch), improve, t_env, stats)
        self.finish(batch)
        if stats.wanted:
            self._log(stats.means(), t_env)

    def _improve(self, entropy_coef: float, stats: Averages, sample: Any, mac: Any) -> None:
        """The step: max g x with x H x / 2 <= `max_kl` (Schulman et al., appendix C), then a line search."""
        weights, choices = list(mac.parameters()), sample["choices"]
        with th.no_grad():
            old = self.evaluate_actions(sample, mac)

        def objective_and_kl(now: ActionEvaluation) -> tuple[th.Tensor, th.Tensor]:
            gain = masked_mean((now.log_prob - old.log_prob).exp() * sample["advantages"], choices)
            return gain + entropy_coef * masked_mean(now.entropy, choices), masked_mean(now.kl_from(old), choices)

        now = self.evaluate_actions(sample, mac)
        before, kl = objective_and_kl(now)
        gradient = averaged(flat(th.autograd.grad(before, weights, retain_graph=True, materialize_grads=True)))
        slope = averaged(flat(th.autograd.grad(kl, weights, create_graph=True, materialize_grads=True)))

        def curvature(x: Vector) -> Vector:
            """H x, where H are the second derivatives of the divergence: Fisher's information."""
            product = th.autograd.grad(slope @ x, weights, retain_graph=True, materialize_grads=True)
            return averaged(flat(product)) + self.args.cg_damping * x

        norm = gradient.norm()
        if not self.is_finite(self.agent_optimiser, before, norm):
            return
        direction = conjugate_gradient(curvature, gradient, self.args.cg_steps)
        length = (2 * self.args.max_kl / (direction @ curvature(direction)).clamp(min=LEAST)).sqrt()
        with th.no_grad():
            share, kl = self._search(
                weights,
                direction * length,
                gradient,
                before,
                lambda: objective_and_kl(self.evaluate_actions(sample, mac)),
            )
        if stats.wanted:
            found = {"pg_loss": figure(-before), "kl": figure(kl), "step_share": figure(share)}
            stats.note({**found, "agent_grad_norm": figure(norm), **statistics(sample, now)})

    def _search(
        self, weights: list[th.Tensor], step: Vector, gradient: Vector, before: th.Tensor, evaluate: Callable
    ) -> tuple[th.Tensor, th.Tensor]:
        """Make the first of ever smaller steps that improves the policy within the trust region, or none.

        Returns the share of the step that was made, and the divergence then. A GPU tries them all: nobody asks it.
        """
        start, expected, shrink = flat(weights), gradient @ step, self.args.line_search_shrink
        taken = kl_taken = before.new_zeros(())
        for trial in range(self.args.line_search_steps):
            share = shrink**trial
            put(weights, start + share * step)
            now, kl = evaluate()
            gain = now - before
            good = (kl < self.args.max_kl) & (gain > 0) & (gain > self.args.line_search_accept * share * expected)
            first = good & (taken == 0)
            taken, kl_taken = th.where(first, share, taken), th.where(first, kl, kl_taken)
            if taken.device.type == "cpu" and taken > 0:
                break
        # not times 0, which leaves NaN
        put(weights, th.where(taken > 0, start + taken * step, start))
        return taken, kl_taken


def conjugate_gradient(product: Callable[[Vector], Vector], b: Vector, steps: int) -> Vector:
    """x with `product(x)` near b, of a symmetric positive definite matrix (Hestenes & Stiefel 1952), `[N]`."""
    x, residual, direction = th.zeros_like(b), b, b
    size = residual @ residual
    for _ in range(steps):
        along = product(direction)
        # once it is exact, nothing changes any more
        x_share = size / (direction @ along).clamp(min=LEAST)
        x, residual = x + x_share * direction, residual - x_share * along
        before, size = size, residual @ residual
        direction = residual + size / before.clamp(min=LEAST) * direction
    return x.detach()


def flat(tensors: Any) -> Vector:
    """All their numbers, side by side."""
    return th.cat([x.reshape(-1) for x in tensors])


def put(weights: list[th.Tensor], numbers: Vector) -> None:
    """Write numbers into weights, in the order of `flat`."""
    parts = numbers.split([weight.numel() for weight in weights])
    for weight, part in zip(weights, parts, strict=True):
        weight.copy_(part.view_as(weight))
