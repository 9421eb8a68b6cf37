"""COMA: counterfactual multi-agent policy gradients (Foerster et al. 2018)."""

import torch as th

from learners.base import BaseLearner
from learners.figures import figure
from learners.n_step import n_step_targets
from learners.q_targets import gather_actions, masked_mean, policies
from learners.standardisation import Standardisation
from learners.targets import last_update
from modules.critics import REGISTRY as critic_REGISTRY
from modules.policies.distributions import LEAST_PROBABILITY
from utils.numbers.schedules import Schedule
from utils.rl_utils import build_td_lambda_targets, terminations, valid_transitions
from utils.tensors.optimisers import build_optimiser
from utils.timing import timed

# of a critic's step
STATS = ("critic_loss", "critic_grad_norm", "td_error_abs", "target_mean", "q_taken_mean")


class COMALearner(BaseLearner):
    """An actor for all agents and a centralised critic, each with its own optimiser."""

    last_target_update_step = last_update()

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        self.n_agents = self.args.n_agents
        self.n_actions = self.args.n_actions
        self.critic, self.target_critic = self.add_network(
            "critic", critic_REGISTRY[self.args.critic](scheme, self.args)
        )
        self.agent_params = list(mac.parameters())
        self.critic_params = list(self.critic.parameters())
        self.params = self.agent_params + self.critic_params
        self.agent_optimiser = build_optimiser(self.agent_params, self.args.lr, self.args)
        self.critic_optimiser = build_optimiser(self.critic_params, self.args.critic_lr, self.args)
        self.optimisers = {"agent_opt": self.agent_optimiser, "critic_opt": self.critic_optimiser}
        self.critic_training_steps = 0
        self.standardised = Standardisation(scheme, self.args, self.n_agents)
        self.networks |= self.standardised.networks
        self.entropy_coef = Schedule.of(self.args.entropy_coef)

    def train(self, batch, t_env: int, episode_num: int) -> None:
        """The critic's steps, then one of the actor."""
        mask = valid_transitions(batch, by_agent=True)
        actions, avail_actions = batch["actions"], batch["avail_actions"][:, :-1]
        rewards, terminated = self.standardised.rewards(batch, mask), terminations(batch, by_agent=True)
        sizes = batch.batch_size, batch.max_seq_length
        with timed("critic"):
            q_vals, critic_stats = self._train_critic(batch, rewards, terminated, actions, avail_actions, mask, *sizes)

        pi = policies(self, batch[:, :-1])
        agent_mask = mask.expand(-1, -1, self.n_agents)
        # the others' actions kept (eq. 4)
        advantages = advantages_of(pi, q_vals, actions[:, :-1])
        loss = coma_loss = policy_gradient_loss(pi, advantages, actions[:, :-1], agent_mask)
        if entropy_coef := self.entropy_coef.eval(t_env):
            entropies = -(pi * pi.clamp(min=LEAST_PROBABILITY).log()).sum(-1)
            loss = coma_loss - entropy_coef * masked_mean(entropies, agent_mask)
        grad_norm = self._step(self.agent_optimiser, loss)

        interval_or_tau, every = self.args.target_update_interval_or_tau, self.args.target_update_every
        self._update_targets_by(interval_or_tau, every, self.args.target_update_interval, self.critic_training_steps)

        if self._log_due(t_env):
            stats = {key: sum(values) / len(values) for key, values in critic_stats.items() if values}
            stats["advantage_mean"] = figure(masked_mean(advantages, agent_mask))
            stats["coma_loss"] = figure(loss if self.args.entropy_in_pg_loss else coma_loss)
            stats["agent_grad_norm"] = grad_norm
            stats["pi_max"] = figure(masked_mean(pi.amax(dim=-1), agent_mask))
            self._log(stats, t_env)

    def _train_critic(
        self,
        batch,
        rewards: th.Tensor,
        terminated: th.Tensor,
        actions: th.Tensor,
        avail_actions: th.Tensor,
        mask: th.Tensor,
        bs: int,
        max_t: int,
    ) -> tuple[th.Tensor, dict[str, list]]:
        """One gradient step for each time step, from the last to the first, or one for all.

        Args:
            batch, bs, max_t: B episodes of T steps.
            rewards, terminated, mask: `[B, T - 1, 1 or n]`.
            actions: `[B, T, n, 1]`; avail_actions: `[B, T - 1, n, A]`, which only PyMARL's subclasses read.

        Returns:
            The critic's values `[B, T - 1, n, A]`, each from before its own step; statistics of every step.
        """
        targets = self._targets(batch, rewards, terminated, actions, mask)
        length = max_t - 1
        q_vals = targets.new_zeros(bs, length, self.n_agents, self.n_actions)
        stats: dict[str, list] = {key: [] for key in STATS}
        at_once = self.args.critic_steps == "batch"
        known = mask if mask.device.type == "cpu" else valid_transitions(batch.course(), by_agent=True)
        for t in (None,) if at_once else reversed(range(length)):
            part = slice(length) if t is None else slice(t, t + 1)
            if known[:, part].sum() == 0:
                continue
            mask_t = mask[:, part].expand(-1, -1, self.n_agents)
            q_t = self._forward(self.critic, batch, t)[:, :length]
            q_vals[:, part] = q_t.detach()
            q_taken = gather_actions(q_t, actions[:, part])
            td_error = q_taken - targets[:, part]
            # EPyMARL adds the errors of a step's agents
            seen = (td_error**2, td_error.abs(), targets[:, part], q_taken)
            loss, *means = [masked_mean(x, mask_t) * (self.n_agents if at_once else 1) for x in seen]
            grad_norm = self._step(self.critic_optimiser, loss)
            self.critic_training_steps += 1
            for key, value in zip(STATS, (figure(loss), grad_norm, *(figure(x) for x in means)), strict=True):
                stats[key].append(value)
        return q_vals, stats

    @th.no_grad()
    def _targets(
        self, batch, rewards: th.Tensor, terminated: th.Tensor, actions: th.Tensor, mask: th.Tensor
    ) -> th.Tensor:
        """TD(lambda) or n-step targets of the actions taken, `[B, T - 1, n]`."""
        values = self.standardised.values(gather_actions(self._forward(self.target_critic, batch), actions))
        if self.args.q_nstep:
            targets = n_step_targets(rewards, terminated, mask, values, self.args)
        else:
            targets = build_td_lambda_targets(
                rewards, terminated, mask, values, self.n_agents, self.args.gamma, self.args.td_lambda
            )
        return self.standardised.returns(targets, mask)


def advantages_of(pi: th.Tensor, q_vals: th.Tensor, actions: th.Tensor) -> th.Tensor:
    """How much better the actions taken `[..., n, 1]` are than a policy's average, `[..., n]`, without gradients.

    `pi`, `q_vals`: the policy's probabilities and the actions' values, `[..., n, A]`.
    """
    return (gather_actions(q_vals, actions) - (pi * q_vals).sum(-1)).detach()


def policy_gradient_loss(pi: th.Tensor, gains: th.Tensor, actions: th.Tensor, mask: th.Tensor) -> th.Tensor:
    """-<gain * log pi> of the actions taken `[..., n, 1]`, over the entries `[..., n]` where `mask` is 1."""
    taken = gather_actions(pi, actions).masked_fill(mask == 0, 1.0)
    return -masked_mean(gains * th.log(taken.clamp(min=LEAST_PROBABILITY)), mask)
