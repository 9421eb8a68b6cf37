"""Weighted QMIX (Rashid et al. 2020): OW-QMIX and CW-QMIX."""

import copy

import torch as th
import torch.nn as nn

from controllers import REGISTRY as controllers
from controllers.unroll import BatchUnroll
from learners.base import BaseLearner
from learners.figures import figure
from learners.mixing import Mixing
from learners.q_targets import lambda_returns, legal_values, masked_mean
from learners.targets import last_update
from modules.mixers import build_mixer
from modules.mixers.central import CentralMixer
from utils.rl_utils import valid_transitions
from utils.tensors.optimisers import build_optimiser
from utils.timing import timed


class WQMIXLearner(BaseLearner):
    """QMIX that cares less for joint actions which are not the best, and a central value that shows which are.

    Q_tot, monotonic, and Q*, of agents and a mixer of its own and not monotonic, learn the same targets, those of Q* at
    the agents' greedy actions (eq. 4 and 5). Q_tot's loss has weights (section 4): 1 where Q_tot is too small, in
    OW-QMIX, or where the action is greedy or better than it, in CW-QMIX; elsewhere `w`.
    """

    last_target_update_episode = last_update()

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        self.mixer, self.target_mixer = self.add_network("mixer", build_mixer(self.args.mixer, self.args))
        self.mixing = Mixing(self, self.args.mixer)
        self.target_mac = copy.deepcopy(mac)
        self.central_mac = controllers[self.args.mac](scheme, {"agents": self.args.n_agents}, self.args)
        self.target_central_mac = copy.deepcopy(self.central_mac)
        self.networks["central_agent"] = self.central_mac.agent
        self.target_networks["central_agent"] = self.target_central_mac.agent
        self.central_mixer, self.target_central_mixer = self.add_network("central_mixer", CentralMixer(self.args))
        self.central_mixing = Mixing(self, None, stepwise=True)
        # the agents', the mixer's, and those of both of the central value
        self.params = [*mac.parameters(), *(p for network in self.networks.values() for p in network.parameters())]
        self.optimiser = self.optimisers["opt"] = build_optimiser(self.params, self.args.lr, self.args)

    def train(self, batch, t_env: int, episode_num: int) -> None:
        """One gradient step on both losses of `batch`; now and then, new target networks."""
        mask = valid_transitions(batch)
        unroll = BatchUnroll(batch, self.mac, packed=not self.args.weights_of_padding)
        actions, before_last = unroll.take(batch["actions"]), slice(None, -1)
        mac_out = self._forward(unroll.outputs, self.mac)
        chosen_action_qvals = self.mixing(self.mixer, unroll, before_last, actions, mac_out)
        central_out = self._forward(unroll.outputs, self.central_mac)
        central_qvals = self.central_mixing(self.central_mixer, unroll, before_last, actions, central_out)
        greedy = legal_values(mac_out.detach(), unroll.avail_actions).argmax(dim=-1, keepdim=True)
        with timed("targets"):
            targets, greedy_qvals = self._targets(unroll, greedy, mask)

        td_error = chosen_action_qvals - targets
        weights = self._weights(unroll, actions == greedy, td_error.detach(), targets, greedy_qvals)
        qmix_loss = masked_mean(weights * td_error**2, mask)
        central_loss = masked_mean((central_qvals - targets) ** 2, mask)
        if self.args.halve_central_loss:
            central_loss = 0.5 * central_loss
        loss = self.args.qmix_loss * qmix_loss + self.args.central_loss * central_loss
        grad_norm = self._step(self.optimiser, loss)

        interval_or_tau, every = self.args.target_update_interval_or_tau, self.args.target_update_every
        self._update_targets_by(interval_or_tau, every, self.args.target_update_interval, episode_num)

        if self._log_due(t_env):
            n_agents = self.args.n_agents
            counted = th.ones_like(mask) if self.args.weights_of_padding else mask
            self._log(
                {
                    "loss": figure(loss),
                    "qmix_loss": figure(qmix_loss),
                    "central_loss": figure(central_loss),
                    "grad_norm": grad_norm,
                    "agent_norm": self._norm_before_clipping(self.mac.parameters(), grad_norm),
                    "mixer_norm": self._norm_before_clipping(self.mixer.parameters(), grad_norm),
                    "td_error_abs": figure(masked_mean(td_error.abs(), mask)),
                    "q_taken_mean": figure(masked_mean(chosen_action_qvals, mask)) / n_agents,
                    "target_mean": figure(masked_mean(targets, mask)) / n_agents,
                    "w_to_use": figure(masked_mean(weights, counted)),
                },
                t_env,
            )

    @th.no_grad()
    def _targets(self, unroll: BatchUnroll, greedy: th.Tensor, mask: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """TD(lambda) returns with Q* of the agents' greedy actions, and these values: `[B, T - 1, 1]` each."""
        batch = unroll.batch
        central = legal_values(self._forward(unroll.outputs, self.target_central_mac), unroll.avail_actions)
        values = self.central_mixing(self.target_central_mixer, unroll, slice(None), greedy, central)
        return lambda_returns(batch, mask, values[:, 1:], self.args.gamma, self.args.td_lambda), values[:, :-1]

    def _weights(
        self, unroll: BatchUnroll, hits: th.Tensor, td_error: th.Tensor, targets: th.Tensor, greedy_qvals: th.Tensor
    ) -> th.Tensor:
        """1, or `w` where the joint action does not matter: `[B, T - 1, 1]`. `hits`: `[*steps, n, 1]`."""
        if self.args.hysteretic_qmix:
            matters = td_error < 0
        else:
            matters = unroll.spread(hits.all(dim=-2))[:, :-1] | (targets > greedy_qvals)
        return th.where(matters, 1.0, self.args.w)

    def _norm_before_clipping(self, parameters, grad_norm) -> float | th.Tensor:
        """The norm of some parameters' gradients, which the step has scaled by the clip over the norm of all."""
        norm = nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
        scaled_by = th.as_tensor(grad_norm, device=norm.device) / self.args.grad_norm_clip
        return figure(norm * scaled_by.clamp(min=1))
