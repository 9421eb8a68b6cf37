"""PAC: Pareto actor-critic (Christianos et al. 2023), for games in which all agents want the same."""

from types import SimpleNamespace

import torch as th

from learners.base import BaseLearner
from learners.figures import Figure, figure
from learners.n_step import n_step_targets
from learners.q_targets import gather_actions, masked_mean, policies
from learners.standardisation import Standardisation
from modules.critics import REGISTRY as critic_REGISTRY
from modules.policies.distributions import LEAST_PROBABILITY
from utils.numbers.schedules import Schedule
from utils.rl_utils import terminations, valid_transitions
from utils.tensors.optimisers import build_optimiser
from utils.timing import timed


class PACLearner(BaseLearner):
    """Policies that expect of the others what is best for all: advantages are the largest values of an agent's action
    over the others' actions, less the value of the state (eq. 7). Critic and state value learn the same returns."""

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        args = self.args
        self.critic, self.target_critic = self.add_network("critic", critic_REGISTRY[args.critic](scheme, args))
        self.state_value = self.networks["state_value"] = critic_REGISTRY[args.value_critic](scheme, args)
        self.agent_optimiser = build_optimiser(list(mac.parameters()), args.lr, args)
        self.optimisers = {"agent_opt": self.agent_optimiser, **self._critic_optimisers()}
        self.standardised = Standardisation(scheme, self._standardisation_args(), args.n_agents)
        self.networks |= self.standardised.networks
        coefficients = [(0, args.initial_entropy_coef), (args.t_max * args.entropy_end_ratio, args.final_entropy_coef)]
        self.entropy_coef = Schedule(coefficients)

    def _standardisation_args(self) -> SimpleNamespace:
        if not self.args.standardise_swapped:
            return self.args
        swapped = {"standardise_rewards": False, "standardise_returns": self.args.standardise_rewards}
        return SimpleNamespace(**vars(self.args) | swapped)

    def _critic_optimisers(self) -> dict[str, th.optim.Optimizer]:
        parameters = [*self.critic.parameters(), *self.state_value.parameters()]
        return {"critic_opt": build_optimiser(parameters, self.args.critic_lr, self.args)}

    def train(self, batch, t_env: int, episode_num: int) -> None:
        """A step of the critic and the state value, then one of the policy by the values before that."""
        mask = valid_transitions(batch, by_agent=True).expand(-1, -1, self.args.n_agents)
        with timed("critic"):
            advantages, stats = self._train_critic(batch, mask)

        pi = policies(self, batch[:, :-1])
        log_pi = pi.clamp(min=LEAST_PROBABILITY).log()
        entropy = -(pi * log_pi).sum(dim=-1)
        entropy_coef = self.entropy_coef.eval(t_env)
        gain = advantages * gather_actions(log_pi, batch["actions"][:, :-1]) + entropy_coef * entropy
        pg_loss = -masked_mean(gain, mask)
        grad_norm = self._step(self.agent_optimiser, pg_loss)
        self._update_targets_by(self.args.target_update_interval_or_tau, self.args.target_update_every)

        if self._log_due(t_env):
            stats |= {
                "entropy_coef": entropy_coef,
                "entropy": figure(masked_mean(entropy, mask)),
                "advantage_mean": figure(masked_mean(advantages, mask)),
                "pg_loss": figure(pg_loss),
                "agent_grad_norm": grad_norm,
                "pi_max": figure(masked_mean(pi.amax(dim=-1), mask)),
            }
            self._log(stats, t_env)

    def _train_critic(self, batch, mask: th.Tensor) -> tuple[th.Tensor, dict[str, Figure]]:
        """Advantages `[B, T - 1, n]`, without gradients and by the networks from before their step; statistics."""
        rewards = self.standardised.rewards(batch, mask)
        with th.no_grad():
            following = self._forward(self.target_critic.best_of_own, batch)
            returns = self._returns(self.standardised, batch, rewards, mask, following)
            best = self._forward(self.critic.best_of_own, batch)[:, :-1]
        q_taken = self._forward(self.critic.of_taken, batch)[:, :-1]
        values = self._state_values(self.state_value, batch)[:, :-1]
        td_error = returns - q_taken
        loss = masked_mean(td_error**2 + (returns - values) ** 2, mask)
        grad_norm = self._step(self.optimisers["critic_opt"], loss)
        return best - values.detach(), {
            "critic_loss": figure(loss),
            "critic_grad_norm": grad_norm,
            "td_error_abs": figure(masked_mean(td_error.abs(), mask)),
            "q_taken_mean": figure(masked_mean(q_taken, mask)),
            "target_mean": figure(masked_mean(returns, mask)),
        }

    def _state_values(self, network, batch) -> th.Tensor:
        """`[B, T, n]`."""
        return self._forward(network, batch).squeeze(3)

    def _returns(self, standardised, batch, rewards: th.Tensor, mask: th.Tensor, outputs: th.Tensor) -> th.Tensor:
        """n-step returns of `rewards` that end with a network's outputs `[B, T, n]`, in the units of these."""
        ended = terminations(batch, by_agent=True)
        returns = n_step_targets(rewards, ended, mask, standardised.values(outputs), self.args)
        return standardised.returns(returns, mask)
