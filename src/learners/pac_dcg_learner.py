"""PAC with a deep coordination graph as its critic, for many agents (Christianos et al. 2023, section 4.2)."""

import copy

import torch as th

from learners.figures import Figure, figure
from learners.pac_learner import PACLearner
from learners.q_targets import masked_mean
from learners.standardisation import Standardisation
from utils.tensors.optimisers import build_optimiser


class PACDCGLearner(PACLearner):
    """A critic of joint actions finds the others' best ones by messages, not by trying all. The state value learns the
    returns of its own target network."""

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        self.target_networks["state_value"] = copy.deepcopy(self.state_value)
        self.value_standardised = Standardisation(scheme, self._standardisation_args(), self.args.n_agents)
        if "return_norm" in self.value_standardised.networks:
            self.networks["value_return_norm"] = self.value_standardised.networks["return_norm"]

    def _critic_optimisers(self) -> dict[str, th.optim.Optimizer]:
        parts = {"critic_opt": self.critic, "value_opt": self.state_value}
        return {
            name: build_optimiser(list(part.parameters()), self.args.critic_lr, self.args)
            for name, part in parts.items()
        }

    def _train_critic(self, batch, mask: th.Tensor) -> tuple[th.Tensor, dict[str, Figure]]:
        """As `PACLearner`'s; the graph's errors of all agents' returns are added."""
        team = mask.amax(dim=2, keepdim=True)
        rewards = self.standardised.rewards(batch, mask)
        with th.no_grad():
            following = self._forward(self.target_critic.best_of_own, batch)
            returns = self._returns(self.standardised, batch, rewards, mask, following)
            network = self.state_value if self.args.online_value_target else self.target_networks["state_value"]
            following = self._state_values(network, batch)
            value_returns = self._returns(self.value_standardised, batch, rewards, mask, following)
            best = self._forward(self.critic.best_of_own, batch)[:, :-1]
        q_taken = self._forward(self.critic.of_taken, batch)[:, :-1]
        values = self._state_values(self.state_value, batch)[:, :-1]
        td_error = returns - q_taken
        loss = masked_mean((td_error**2).sum(dim=2, keepdim=True), team)
        value_loss = masked_mean((value_returns - values) ** 2, mask)
        losses = {self.optimisers["critic_opt"]: loss, self.optimisers["value_opt"]: value_loss}
        grad_norm, _ = self._steps(losses)
        times = self.args.n_agents if self.args.means_times_agents else 1
        return best - values.detach(), {
            "critic_loss": figure(loss),
            "critic_grad_norm": grad_norm,
            "value_loss": figure(value_loss),
            "td_error_abs": times * figure(masked_mean(td_error.abs(), mask)),
            "q_taken_mean": times * figure(masked_mean(q_taken, team)),
            "target_mean": times * figure(masked_mean(returns, mask)),
        }
