"""MADDPG for choices, from episodes (Lowe et al. 2017, as EPyMARL has it; Papoudakis et al. 2021)."""

import copy

import torch as th

from controllers.unroll import BatchUnroll, unroll_mac
from learners.base import BaseLearner
from learners.figures import Figure, figure
from learners.networks import at_rest
from learners.q_targets import masked_mean
from learners.standardisation import Standardisation
from learners.targets import last_update
from modules.critics import REGISTRY as critic_REGISTRY
from modules.policies.distributions import ILLEGAL, gumbel_softmax, one_hot_best
from utils.rl_utils import terminations, valid_transitions
from utils.tensors.optimisers import build_optimiser

NOW, NEXT = slice(None, -1), slice(1, None)


class MADDPGLearner(BaseLearner):
    """Policies of their own observations, recurrent or not, up the gradients of critics of all agents' actions.

    Actions are drawn by Gumbel-softmax, one-hot with the softmax's gradient (section 5); where an agent's policy
    learns, the others act by theirs. Target policies take their best actions. Random numbers are torch's, as EPyMARL's.
    """

    last_target_update_episode = last_update()

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        self.critic, self.target_critic = self.add_network(
            "critic", critic_REGISTRY[self.args.critic](scheme, self.args)
        )
        parameters = list(mac.parameters())
        self.agent_optimiser = self.optimisers["agent_opt"] = build_optimiser(parameters, self.args.lr, self.args)
        self.critic_optimiser = self.optimisers["critic_opt"] = build_optimiser(
            list(self.critic.parameters()), self.args.critic_lr, self.args
        )
        self.standardised = Standardisation(scheme, self.args, self.args.n_agents)
        self.networks |= self.standardised.networks
        self.target_mac = copy.deepcopy(mac)

    def train(self, batch, t_env: int, episode_num: int) -> None:
        """A step of the critic, then one of the policy up the new critic; now and then, new target networks."""
        mask = valid_transitions(batch, by_agent=True).expand(-1, -1, self.args.n_agents)
        if self.args.train_on_padding:
            mask = 1 - terminations(batch).expand_as(mask)
        unroll = BatchUnroll(batch, self.mac, packed=not self.args.train_on_padding)
        # what losses are means over
        counted = th.ones_like(mask) if self.args.train_on_padding else mask
        stats = self._train_critic(unroll, mask, counted) | self._train_policy(unroll, mask, counted)

        interval_or_tau, every = self.args.target_update_interval_or_tau, self.args.target_update_every
        jumps = interval_or_tau > 1
        self._update_targets_by(None if jumps else interval_or_tau, every, interval_or_tau, episode_num)
        if self._log_due(t_env):
            self._log(stats, t_env)

    def _train_critic(self, unroll: BatchUnroll, mask: th.Tensor, counted: th.Tensor) -> dict[str, Figure]:
        """(r + gamma Q'(s', mu'(o')) - Q(s, u))^2; returns its statistics."""
        batch, gamma = unroll.batch, self.args.gamma
        with th.no_grad():
            following = self._forward(self.target_critic, batch, NEXT, self._target_actions(unroll))
            values = self.standardised.values(following)
            ended = terminations(batch, by_agent=True)
            targets = self.standardised.rewards(batch, mask) + gamma * (1 - ended) * values
            targets = self.standardised.returns(targets, mask)
        q_taken = self._forward(self.critic, batch, NOW, batch["actions_onehot"][:, NOW].float())
        td_error = q_taken - targets
        loss = (td_error**2 * mask).sum() / counted.sum().clamp(min=1)
        grad_norm = self._step(self.critic_optimiser, loss)
        steps = mask.sum().clamp(min=1)
        return {
            "critic_loss": figure(loss),
            "critic_grad_norm": grad_norm,
            "td_error_abs": figure(masked_mean(td_error.abs(), mask)),
            "q_taken_mean": figure((q_taken * counted).sum() / steps),
            "target_mean": figure((targets * counted).sum() / steps),
        }

    def _target_actions(self, unroll: BatchUnroll) -> th.Tensor:
        """The target policies' best actions in the states that follow, one-hot `[B, T - 1, n, A]`."""
        batch, mac = unroll.batch, self.target_mac
        if self.args.target_memory_from_start:
            logits = unroll.spread(self._forward(unroll.outputs, mac))[:, NEXT]
        elif not mac.inputs.sees_actions:  # steps see nothing of those before them but by memory
            logits, _ = self._forward(unroll_mac, mac, batch[:, NEXT])
        else:
            mac.init_hidden(batch.batch_size)
            later = range(1, batch.max_seq_length)
            logits = th.stack([self._forward(mac.forward, batch, t) for t in later], dim=1)
        return one_hot_best(logits.masked_fill(batch["avail_actions"][:, NEXT] == 0, ILLEGAL))

    def _train_policy(self, unroll: BatchUnroll, mask: th.Tensor, counted: th.Tensor) -> dict[str, Figure]:
        """-Q(s, mu(o)) + reg |logits|^2; returns its statistics."""
        logits = unroll.spread(self._forward(unroll.outputs, self.mac))[:, NOW]
        logits = logits.masked_fill(unroll.batch["avail_actions"][:, NOW] == 0, ILLEGAL)
        actions = gumbel_softmax(logits, self._uniform(logits))
        with at_rest(self.critic):
            values = self._forward(self.critic, unroll.batch, NOW, actions.detach(), actions)
            size = logits.masked_fill(logits == ILLEGAL, 0.0).square().mean(dim=-1)
            loss = ((self.args.reg * size - values * mask) * counted).sum() / counted.sum().clamp(min=1)
            grad_norm = self._step(self.agent_optimiser, loss)
        return {"pg_loss": figure(loss), "agent_grad_norm": grad_norm}

    def _uniform(self, like: th.Tensor) -> th.Tensor:
        """Random numbers between 0 and 1 for logits `[B, T, n, A]`, drawn step by step."""
        steps_first = like.size(1), like.size(0), *like.shape[2:]
        return self.made(lambda: th.rand(steps_first).numpy(), like.device).transpose(0, 1)
