"""LICA: learning implicit credit assignment (Zhou et al. 2020)."""

import torch as th

from learners.action_evaluation import entropy_bonus
from learners.base import BaseLearner
from learners.figures import Figure, figure
from learners.networks import at_rest
from learners.q_targets import lambda_returns, masked_mean, policies
from learners.targets import last_update
from modules.critics import REGISTRY as critic_REGISTRY
from modules.policies.distributions import LEAST_PROBABILITY
from utils.numbers.schedules import Schedule
from utils.rl_utils import valid_transitions
from utils.tensors.optimisers import build_optimiser
from utils.timing import timed


class LICALearner(BaseLearner):
    """Policies up the gradient of one critic of the state and of all agents' probabilities: Q(s, pi_1, ..., pi_n).

    What an agent has done for the team's value is in this gradient, and never written down. The critic learns
    TD(lambda) returns of the actions taken. The entropy's weight is divided by the entropy: its gradient stays of one
    size while policies become certain (adaptive entropy regularisation).
    """

    last_target_update_step = last_update()

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        critics = self._build_critics(scheme)
        self.agent_optimiser = build_optimiser(list(mac.parameters()), self.args.lr, self.args)
        self.critic_optimiser = build_optimiser(critics, self.args.critic_lr, self.args)
        self.optimisers = {"agent_opt": self.agent_optimiser, "critic_opt": self.critic_optimiser}
        self.entropy_coef = Schedule.of(self.args.entropy_coef)
        self.critic_training_steps = 0

    def _build_critics(self, scheme) -> list[th.nn.Parameter]:
        """Make the networks of values; returns their weights."""
        self.critic, self.target_critic = self.add_network(
            "critic", critic_REGISTRY[self.args.critic](scheme, self.args)
        )
        return list(self.critic.parameters())

    def train(self, batch, t_env: int, episode_num: int) -> None:
        """A step of the critic, then one of the policies up the new critic; now and then, a new target critic."""
        mask = valid_transitions(batch)
        with timed("critic"):
            stats = self._train_critic(batch, mask, self.args.td_lambda)
        stats |= self._train_policies(batch, mask, self.entropy_coef.eval(t_env))
        self._follow(episode_num)
        if self._log_due(t_env):
            self._log(stats, t_env)

    def _follow(self, episode_num: int) -> None:
        interval_or_tau, every = self.args.target_update_interval_or_tau, self.args.target_update_every
        self._update_targets_by(interval_or_tau, every, self.args.target_update_interval, self.critic_training_steps)

    def _value(self, policies: th.Tensor, batch, target: bool = False) -> th.Tensor:
        """Of the team, `[B, T, 1]`, where its policies are `[B, T, n, A]`; by the target network, if so."""
        return self._forward(self.target_critic if target else self.critic, policies, batch["state"])

    def _resting(self) -> tuple[th.nn.Module, ...]:
        """The networks of values, of which the policies' step needs no gradients."""
        return (self.critic,)

    def _train_critic(self, batch, mask: th.Tensor, td_lambda: float) -> dict[str, Figure]:
        """(G - Q(s, u))^2 with the TD(lambda) returns G of the target critic; returns its statistics."""
        actions = batch["actions_onehot"].float()
        with th.no_grad():
            values = self._value(actions, batch, target=True)
            targets = lambda_returns(batch, mask, values[:, 1:], self.args.gamma, td_lambda)
        q_taken = self._value(actions[:, :-1], batch[:, :-1])
        td_error = q_taken - targets
        loss = masked_mean(td_error**2, mask) * (0.5 if self.args.halve_central_loss else 1.0)
        grad_norm = self._step(self.critic_optimiser, loss)
        self.critic_training_steps += 1
        return {
            "critic_loss": figure(loss),
            "critic_grad_norm": grad_norm,
            "td_error_abs": figure(masked_mean(td_error.abs(), mask)),
            "q_taken_mean": figure(masked_mean(q_taken, mask)),
            "target_mean": figure(masked_mean(targets, mask)),
        }

    def _train_policies(self, batch, mask: th.Tensor, entropy_coef: float) -> dict[str, Figure]:
        """-Q(s, pi) - entropy_coef H / |H|, H the mean entropy, |H| without gradient; returns its statistics."""
        pi = policies(self, batch[:, :-1])
        entropies = -(pi * pi.clamp(min=LEAST_PROBABILITY).log()).sum(dim=-1)
        entropy = masked_mean(entropies.mean(dim=-1, keepdim=True), mask)
        with at_rest(*self._resting()):
            value = masked_mean(self._value(pi, batch[:, :-1]), mask)
            loss = -value - entropy_bonus(entropy, entropy_coef, adaptive=True)
            grad_norm = self._step(self.agent_optimiser, loss)
        return {
            "pg_loss": figure(loss if self.args.entropy_in_pg_loss else -value),
            "agent_grad_norm": grad_norm,
            "entropy": figure(entropy),
            "pi_max": figure(masked_mean(pi.amax(dim=-1), mask.expand(-1, -1, pi.size(2)))),
        }
