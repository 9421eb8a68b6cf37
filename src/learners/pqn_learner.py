"""PQN: Q-learning without replay and target networks (Gallici et al. 2024), for teams."""

from collections import defaultdict

import torch as th

from components.sampling.minibatches import passes, rows
from controllers.unroll import BatchUnroll
from learners.base import BaseLearner
from learners.figures import Figure, figure
from learners.mixing import Mixing
from learners.q_targets import legal_values, masked_mean
from modules.mixers import build_mixer
from utils.numbers.schedules import Schedule
from utils.rl_utils import rewards_of, td_lambda_returns, terminations, valid_transitions
from utils.tensors.devices import to_device
from utils.tensors.optimisers import build_optimiser


class PQNLearner(BaseLearner):
    """Q(lambda) returns of the newest rollout of many environments, fitted for a few epochs of minibatches.

    Each agent alone (`mixer: null`) or the mixed team value. Nothing but the normalised network keeps it stable, so
    its agent should have layer normalisation. Recurrent agents are unrolled from the hidden states they acted with.
    """

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        self.params = list(mac.parameters())
        self.mixer = None
        if self.args.mixer is not None:
            self.mixer = self.networks["mixer"] = build_mixer(self.args.mixer, self.args)
            self.params += list(self.mixer.parameters())
        self.mixing = Mixing(self, self.args.mixer)
        self.optimiser = self.optimisers["opt"] = build_optimiser(self.params, self.args.lr, self.args)

    @property
    def lr_schedule(self) -> Schedule:
        """By the present config, which may change while the run is under way."""
        lr_finish = self.args.lr if self.args.lr_finish is None else self.args.lr_finish
        return Schedule([(0, self.args.lr), (self.args.t_max, lr_finish)])

    def train(self, batch, t_env: int, episode_num: int) -> None:
        """`epochs` passes over the rollout `batch`, each in `minibatches` updates on some of its environments."""
        for group in self.optimiser.param_groups:
            group["lr"] = self.lr_schedule.eval(t_env)
        mask = valid_transitions(batch, by_agent=self.mixer is None)
        targets = self._targets(batch, mask)
        stats, due = defaultdict(list), self._log_due(t_env)
        for part in passes(rows(batch), self.args.epochs, self.args.minibatches):
            there = to_device(part, targets.device)
            found = self.captured(self._update, batch[part], targets[there], mask[there], due)
            for key, value in found.items():
                stats[key].append(value)
        if due:
            self._log({key: sum(values) / len(values) for key, values in stats.items()}, t_env)

    @th.no_grad()
    def _targets(self, batch, mask: th.Tensor) -> th.Tensor:
        """Q(lambda) returns (section 4.1), values being those of the present network: `[B, T - 1, n]`, mixed 1 for n.

        G[t] = r[t] + gamma (lambda G[t+1] + (1 - lambda) max_a Q(s[t+1], a)), without the bracket at a terminal step.
        """
        unroll = BatchUnroll(batch, self.mac)
        qvals = legal_values(self._forward(unroll.outputs, self.mac), unroll.avail_actions)
        best = qvals.argmax(dim=-1, keepdim=True)
        next_values = self.mixing(self.mixer, unroll, slice(1, None), best, qvals)
        rewards, terminated = rewards_of(batch), terminations(batch, by_agent=self.mixer is None)
        return td_lambda_returns(rewards, terminated, mask, next_values, self.args.gamma, self.args.td_lambda)

    def _update(self, batch, targets: th.Tensor, mask: th.Tensor, with_statistics: bool = True) -> dict[str, Figure]:
        """One gradient step on the squared error to `targets`; returns its statistics, if they are logged."""
        unroll = BatchUnroll(batch, self.mac)
        mac_out = self._forward(unroll.outputs, self.mac)
        chosen_action_qvals = self.mixing(self.mixer, unroll, slice(None, -1), unroll.take(batch["actions"]), mac_out)
        td_error = chosen_action_qvals - targets
        mask = mask.expand_as(td_error)
        loss = masked_mean(td_error**2, mask)
        grad_norm = self._step(self.optimiser, loss)
        if not with_statistics:
            return {}
        n_agents = self.args.n_agents
        return {
            "loss": figure(loss),
            "grad_norm": grad_norm,
            "td_error_abs": figure(masked_mean(td_error.detach().abs(), mask)),
            # per agent, as the other learners of action values log them
            "q_taken_mean": figure(masked_mean(chosen_action_qvals.detach(), mask)) / n_agents,
            "target_mean": figure(masked_mean(targets, mask)) / n_agents,
        }
