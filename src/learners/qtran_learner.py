"""QTRAN-base (Son et al. 2019): learn any joint value, and agents whose argmaxes agree with its own."""

import copy

import torch as th
import torch.nn.functional as F

from controllers.unroll import unroll_mac
from learners.base import BaseLearner
from learners.figures import figure
from learners.q_targets import gather_actions, legal_values, masked_mean
from learners.targets import last_update
from modules.mixers import build_mixer
from utils.rl_utils import discount_of, terminations, valid_transitions
from utils.tensors.optimisers import build_optimiser
from utils.tensors.tensor_trees import leaves


class QLearner(BaseLearner):
    """The three losses of QTRAN-base (eq. 4): L_td + opt_loss L_opt + nopt_min_loss L_nopt.

    The class has PyMARL's name; `learners.q_learner.QLearner` is another.
    """

    last_target_update_episode = last_update()

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        self.mixer, self.target_mixer = self.add_network("mixer", build_mixer(self.args.mixer, self.args))
        self.params = [*mac.parameters(), *self.mixer.parameters()]
        self.optimiser = self.optimisers["opt"] = build_optimiser(self.params, self.args.lr, self.args)
        self.target_mac = copy.deepcopy(mac)

    def train(self, batch, t_env: int, episode_num: int) -> None:
        """One gradient step on the three losses of `batch`; now and then, new target networks."""
        mask = valid_transitions(batch).reshape(-1, 1)
        mac_out, hidden_states = self._forward(_unrolled, self.mac, batch)
        chosen_action_qvals = gather_actions(mac_out[:, :-1], batch["actions"][:, :-1])
        max_qvals, greedy = legal_values(mac_out, batch["avail_actions"]).max(dim=3, keepdim=True)

        # L_td: the joint value of the chosen actions against a one-step target
        joint_qs, vs = self._forward(self.mixer, batch[:, :-1], hidden_states[:, :-1])
        targets = self._targets(batch, greedy)
        td_error = joint_qs - targets
        td_loss = masked_mean(td_error**2, mask)

        # L_opt: at the agents' greedy actions their sum equals the joint value
        greedy_onehot = self._onehot(greedy[:, :-1])
        with th.no_grad():
            max_joint_qs, _ = self._forward(self.mixer, batch[:, :-1], hidden_states[:, :-1], greedy_onehot)
        opt_error = max_qvals[:, :-1].sum(dim=2).reshape(-1, 1) - max_joint_qs + vs
        opt_loss = masked_mean(opt_error**2, mask)

        # L_nopt: anywhere else it is not below the joint value
        nopt_error = (chosen_action_qvals.sum(dim=2).reshape(-1, 1) - joint_qs.detach() + vs).clamp(max=0)
        nopt_loss = masked_mean(nopt_error**2, mask)

        loss = td_loss + self.args.opt_loss * opt_loss + self.args.nopt_min_loss * nopt_loss
        grad_norm = self._step(self.optimiser, loss)

        interval_or_tau, every = self.args.target_update_interval_or_tau, self.args.target_update_every
        self._update_targets_by(interval_or_tau, every, self.args.target_update_interval, episode_num)

        if self._log_due(t_env):
            steps = mask.sum()
            agent_mask = mask.reshape(batch.batch_size, -1, 1).expand_as(chosen_action_qvals)
            self._log(
                {
                    "loss": figure(loss),
                    "td_loss": figure(td_loss),
                    "opt_loss": figure(opt_loss),
                    "nopt_loss": figure(nopt_loss),
                    "grad_norm": grad_norm,
                    "td_error_abs": figure(masked_mean(td_error.abs(), mask)),
                    # PyMARL's figures: "td_targets" is the mean error, and the next two also sum over padding
                    "td_targets": figure(masked_mean(td_error, mask)),
                    "td_chosen_qs": figure(joint_qs.sum() / steps),
                    "v_mean": figure(vs.sum() / steps),
                    "agent_indiv_qs": figure(masked_mean(chosen_action_qvals, agent_mask)),
                },
                t_env,
            )

    @th.no_grad()
    def _targets(self, batch, greedy: th.Tensor) -> th.Tensor:
        """r + gamma Q'_jt(s', greedy joint action): `[B * (T - 1), 1]`."""
        target_mac_out, target_hidden_states = self._forward(_unrolled, self.target_mac, batch)
        if not self.args.double_q:
            greedy = legal_values(target_mac_out, batch["avail_actions"]).argmax(dim=3, keepdim=True)
        next_values, _ = self._forward(
            self.target_mixer, batch[:, 1:], target_hidden_states[:, 1:], self._onehot(greedy[:, 1:])
        )
        rewards = batch["reward"][:, :-1].reshape(-1, 1)
        terminated = terminations(batch).reshape(-1, 1)
        return rewards + discount_of(batch, self.args.gamma) * (1 - terminated) * next_values

    def _onehot(self, actions: th.Tensor) -> th.Tensor:
        return F.one_hot(actions.squeeze(3), self.args.n_actions).float()


def _unrolled(mac, batch) -> tuple[th.Tensor, th.Tensor]:
    """Outputs, and hidden states `[B, T, n, H]`: of a memory of several tensors, such as an LSTM's, the first."""
    outputs, memory = unroll_mac(mac, batch)
    return outputs, next(leaf for _, leaf in leaves(memory))
