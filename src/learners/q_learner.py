"""Q-learning for teams: IQL, VDN (Sunehag et al. 2018) and QMIX (Rashid et al. 2018)."""

import copy

import torch as th

from controllers.unroll import unroll_mac
from learners.base import BaseLearner
from learners.q_targets import gather_actions, legal_values, masked_mean
from modules.mixers import REGISTRY as mixer_REGISTRY
from utils.optimisers import build_optimiser
from utils.rl_utils import td_lambda_returns, valid_transitions


class QLearner(BaseLearner):
    """(Double) deep Q-learning on episodes, of each agent alone (`mixer: null`) or of the mixed team value."""

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        self.params = list(mac.parameters())
        self.mixer = self.target_mixer = None
        if self.args.mixer is not None:
            self.mixer, self.target_mixer = self.add_network("mixer", mixer_REGISTRY[self.args.mixer](self.args))
            self.params += list(self.mixer.parameters())
        self.optimiser = self.optimisers["opt"] = build_optimiser(self.params, self.args.lr, self.args)
        self.target_mac = copy.deepcopy(mac)
        self.last_target_update_episode = 0

    def train(self, batch, t_env: int, episode_num: int) -> None:
        """One gradient step on the squared TD error of `batch`; now and then, new target networks."""
        mask = valid_transitions(batch)
        mac_out, _ = unroll_mac(self.mac, batch)
        chosen_action_qvals = gather_actions(mac_out[:, :-1], batch["actions"][:, :-1])
        if self.mixer is not None:
            chosen_action_qvals = self.mixer(chosen_action_qvals, batch["state"][:, :-1])
        targets = self._targets(batch, mac_out.detach(), mask)

        td_error = chosen_action_qvals - targets
        mask = mask.expand_as(td_error)
        loss = self._loss(td_error, mask)
        grad_norm = self._step(self.optimiser, loss, self.params)

        if episode_num - self.last_target_update_episode >= self.args.target_update_interval:
            self._update_targets()
            self.last_target_update_episode = episode_num

        if self._log_due(t_env):
            # values are told per agent, as PyMARL tells them; without a mixer it divides by n_agents all the same
            n_agents = self.args.n_agents
            self._log(
                {
                    "loss": loss.item(),
                    "grad_norm": grad_norm,
                    "td_error_abs": masked_mean(td_error.abs(), mask).item(),
                    "q_taken_mean": masked_mean(chosen_action_qvals, mask).item() / n_agents,
                    "target_mean": masked_mean(targets, mask).item() / n_agents,
                },
                t_env,
            )

    def _loss(self, td_error: th.Tensor, mask: th.Tensor) -> th.Tensor:
        """Mean squared error over the transitions that were really taken."""
        return masked_mean(td_error**2, mask)

    @th.no_grad()
    def _targets(self, batch, mac_out: th.Tensor, mask: th.Tensor) -> th.Tensor:
        """r + gamma max_a Q'(s', a), or its TD(lambda) form: `[B, T - 1, n]`, or `[B, T - 1, 1]` when mixed."""
        avail_actions = batch["avail_actions"][:, 1:]
        target_mac_out, _ = unroll_mac(self.target_mac, batch)
        target_values = legal_values(target_mac_out[:, 1:], avail_actions)
        if self.args.double_q:
            best = legal_values(mac_out[:, 1:], avail_actions).argmax(dim=3, keepdim=True)
            next_values = gather_actions(target_values, best)
        else:
            next_values = target_values.amax(dim=3)
        if self.target_mixer is not None:
            next_values = self.target_mixer(next_values, batch["state"][:, 1:])

        rewards = batch["reward"][:, :-1]
        terminated = batch["terminated"][:, :-1].float()
        if self.args.td_lambda == 0:
            return rewards + self.args.gamma * (1 - terminated) * next_values
        return td_lambda_returns(rewards, terminated, mask, next_values, self.args.gamma, self.args.td_lambda)
