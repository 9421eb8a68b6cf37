"""MAVEN: values by a latent variable of each episode, which a policy of its own draws (Mahajan et al. 2019)."""

from math import prod
from typing import Any, ClassVar

import torch as th
import torch.nn.functional as F
from torch.distributions import Categorical

from components.one_copy import moved
from controllers.unroll import BatchUnroll
from learners.figures import Figure, figure
from learners.q_learner import QLearner
from learners.q_targets import Learned, legal_values, masked_mean
from modules.discriminator import TrajectoryDiscriminator
from utils.rl_utils import rewards_of, valid_transitions
from utils.tensors.devices import to_device
from utils.tensors.schemes import shape_of


class MAVENLearner(QLearner):
    """Q-learning with values that know the latent z, a loss by which episodes tell their z, and a policy of z.

    L = L_td + mi_loss L_mi: a discriminator sees states and the softmax of each agent's values, and its cross-entropy
    is a bound of the mutual information of z and what agents would do (eq. 5). The policy of z, given the first state,
    climbs the returns of whole episodes (section 3), by REINFORCE on the `bandit_buffer` newest ones.
    """

    without_gradient: ClassVar = {"agent.latent_policy.*": "it learns from rollouts, not from samples"}

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        args = self.args
        states, latents = prod(shape_of(scheme["state"])), args.noise_dim
        size = states + args.n_agents * args.n_actions
        made = TrajectoryDiscriminator(size, args.rnn_agg_size, args.discrim_size, args.discrim_layers, latents)
        self.discriminator = self.networks["discriminator"] = made
        self.optimiser.add_param_group({"params": list(made.parameters())})
        policy = self.mac.agent.latent_policy
        self.latent_optimiser = self.optimisers["latent_opt"] = th.optim.Adam(policy.parameters(), lr=args.lr)
        # first state, latent and return of the newest episodes, the oldest of which is overwritten
        self.episodes, self.episodes_seen = th.zeros(args.bandit_buffer, states + latents + 1), 0

    def take_rollout(self, batch: Any, t_env: int) -> None:
        """`bandit_iters` steps of the policy of latents, after a rollout of B episodes."""
        first, latent = (batch[key][:, 0].flatten(1) for key in ("state", "noise"))
        returns = (rewards_of(batch) * valid_transitions(batch)).sum(dim=1)
        rows = th.cat([first, latent, returns], dim=1)[-len(self.episodes) :]
        places = (self.episodes_seen + th.arange(len(rows))) % len(self.episodes)
        self.episodes_seen += len(rows)
        known = min(self.episodes_seen, len(self.episodes))
        drawn = th.randint(known, (self.args.bandit_iters * self.args.bandit_batch,))
        device = self.args.device
        self.episodes = to_device(self.episodes, device)
        rows, places, drawn = moved([rows, places, drawn], device)
        self.episodes.index_copy_(0, places, rows)
        for part in self.episodes[drawn].chunk(self.args.bandit_iters):
            states, latents, returns = part.split([first.size(1), latent.size(1), 1], dim=1)
            policy = Categorical(logits=self.mac.agent.latent_policy(states), validate_args=False)
            self._step(self.latent_optimiser, self._policy_loss(policy, latents.argmax(dim=1), returns.squeeze(1)))
        if t_env - self.log_stats_t >= self.args.learner_log_interval:
            self._log({"explorer_entropy": figure(policy.entropy().mean())}, t_env)

    def _policy_loss(self, policy: Categorical, latents: th.Tensor, returns: th.Tensor) -> th.Tensor:
        """Of N episodes, `[N]` each."""
        log_probs, weight = policy.log_prob(latents), self.args.entropy_scaling
        if self.args.returns_as_they_are:
            return -(log_probs * (returns - weight)).sum()
        return -(log_probs * (returns - returns.mean())).mean() - weight * policy.entropy().mean()

    def _sees_padding(self) -> bool:
        return super()._sees_padding() or self.args.discriminate_padding

    def _more_loss(
        self, unroll: BatchUnroll, mac_out: th.Tensor, learned: Learned, mask: th.Tensor, seen: Any
    ) -> tuple[th.Tensor, dict[str, Figure]]:
        """The discriminator's cross-entropy, weighed, and its statistic."""
        policies = legal_values(mac_out, unroll.avail_actions).softmax(dim=-1)
        seen = th.cat([unroll.spread(policies.flatten(-2))[:, :-1], unroll.batch["state"][:, :-1]], dim=-1)
        steps = mask[..., 0].sum(dim=1).long()
        last = th.full_like(steps, seen.size(1) - 1) if self.args.discriminate_padding else (steps - 1).clamp(min=0)
        logits = self._forward(self.discriminator, seen, last)
        errors = F.cross_entropy(logits, unroll.batch["noise"][:, 0].argmax(dim=1), reduction="none")
        loss = masked_mean(errors, (steps > 0).float())
        return self.args.mi_loss * loss, {"discrim_loss": figure(loss)}
