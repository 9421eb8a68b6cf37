"""ICQ: implicit constraint Q-learning for teams (Yang et al. 2021): values and policies of the data's actions only."""

import torch as th

from learners.coma_learner import advantages_of, policy_gradient_loss
from learners.decomposed import DecomposedActorCritic
from learners.figures import Figure, figure
from learners.q_targets import SMALLEST, gather_actions, masked_mean, mix, policies
from utils.rl_utils import rewards_of, terminations, valid_transitions


class ICQLearner(DecomposedActorCritic):
    """`DecomposedActorCritic` that weighs what the data have by its value, and asks for no other action's.

    The critic learns y = r + gamma rho(s', u') Q'_tot(s', u') with the joint action u' of the data, and rho in
    proportion to exp(Q'_tot / icq_value_temperature), 1 in the mean (eq. 9). Policies clone the actions of the data,
    weighed in proportion to exp(A_i / icq_advantage_temperature), 1 in the mean of each agent, and by k_i(s) (eq. 14).
    Means are over the sample's transitions. What follows an episode's last step has no action: it is worth what the
    present policies make of it.
    """

    def train(self, batch, t_env: int, episode_num: int) -> None:
        """A step of the critic, and one of the policies; now and then, a new target critic."""
        mask, pi = valid_transitions(batch), policies(self, batch)
        values = self._forward(self.critic, batch)[:, :-1]
        taken = gather_actions(values, batch["actions"][:, :-1])
        q_tot = mix(self, self.mixer, taken, batch["state"][:, :-1])
        targets = self._targets(batch, mask, pi.detach())
        loss = masked_mean((q_tot - targets) ** 2, mask)
        policy_loss, of_policies = self._policy_loss(batch, mask, pi[:, :-1], values.detach())
        stats: dict[str, Figure] = {
            "critic_loss": figure(loss),
            "critic_grad_norm": self._step(self.critic_optimiser, loss),
            "td_error_abs": figure(masked_mean((q_tot - targets).abs(), mask)),
            "q_taken_mean": figure(masked_mean(q_tot, mask)),
            "target_mean": figure(masked_mean(targets, mask)),
        }
        stats |= {**of_policies, "agent_grad_norm": self._step(self.agent_optimiser, policy_loss)}
        self.critic_training_steps += 1
        interval_or_tau, every = self.args.target_update_interval_or_tau, self.args.target_update_every
        self._update_targets_by(interval_or_tau, every, self.args.target_update_interval, self.critic_training_steps)
        if self._log_due(t_env):
            self._log(stats, t_env)

    @th.no_grad()
    def _targets(self, batch, mask: th.Tensor, pi: th.Tensor) -> th.Tensor:
        """`[B, T - 1, 1]`, of a batch of T steps."""
        values = self._forward(self.target_critic, batch)
        taken = mix(self, self.target_mixer, gather_actions(values, batch["actions"]), batch["state"])[:, 1:]
        expected = mix(self, self.target_mixer, (pi * values).sum(dim=-1), batch["state"])[:, 1:]
        # whether the data have an action in the step that follows
        acted = th.cat([mask[:, 1:], th.zeros_like(mask[:, :1])], dim=1)
        following = th.where(acted > 0, taken, expected)
        counts = mask * (1 - terminations(batch))
        weights = mean_one(following / self.args.icq_value_temperature, counts)
        return rewards_of(batch) + self.args.gamma * (1 - terminations(batch)) * weights * following

    def _policy_loss(
        self, batch, mask: th.Tensor, pi: th.Tensor, values: th.Tensor
    ) -> tuple[th.Tensor, dict[str, Figure]]:
        """-<k_i(s) w_i log pi_i(u_i)>, and its statistics."""
        actions, mask = batch["actions"][:, :-1], mask.expand(-1, -1, self.args.n_agents)
        with th.no_grad():
            counts = self._forward(self.mixer.k, batch["state"][:, :-1])
            advantages = advantages_of(pi, values, actions)
            weights = mean_one(advantages / self.args.icq_advantage_temperature, mask)
        loss = policy_gradient_loss(pi, counts * weights, actions, mask)
        return loss, {
            "advantage_mean": figure(masked_mean(advantages, mask)),
            "pg_loss": figure(loss),
            "pi_max": figure(masked_mean(pi.amax(dim=-1), mask)),
        }


def mean_one(x: th.Tensor, mask: th.Tensor) -> th.Tensor:
    """exp(x) `[B, T, n]` in units of its mean over episodes and steps where the mask is 1; 0 elsewhere."""
    powers = (x.masked_fill(mask == 0, -th.inf) - x.masked_fill(mask == 0, -th.inf).amax((0, 1))).exp()
    powers = powers.nan_to_num(0.0)  # where nothing counts
    return powers * mask.sum((0, 1)) / powers.sum((0, 1)).clamp(min=SMALLEST)
