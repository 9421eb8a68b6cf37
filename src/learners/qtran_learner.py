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
        steps = valid_transitions(batch).reshape(-1, 1)
        mac_out, hidden_states = self._forward(self._unrolled, self.mac, batch)
        chosen_action_qvals = gather_actions(mac_out[:, :-1], batch["actions"][:, :-1])
        max_qvals, greedy = legal_values(mac_out, batch["avail_actions"]).max(dim=3, keepdim=True)
        now, memory = batch[:, :-1], hidden_states[:, :-1]

        # L_td: the joint value of the chosen actions against a one-step target
        qs, vs = self._forward(self.mixer, now, memory)
        joint_qs = self._joint(qs, batch["actions"][:, :-1])
        mask = steps.expand_as(joint_qs)
        targets = self._targets(batch, greedy)
        td_error = joint_qs - targets
        td_loss = masked_mean(td_error**2, mask)

        # L_opt: at the agents' greedy actions their sum equals the joint value
        with th.no_grad():
            max_qs, _ = self._forward(self.mixer, now, memory, self._onehot(greedy[:, :-1]))
        max_joint_qs = self._joint(max_qs, greedy[:, :-1])
        opt_error = max_qvals[:, :-1].sum(dim=2).reshape(-1, 1) - max_joint_qs + vs
        opt_loss = masked_mean(opt_error**2, mask)

        # L_nopt: anywhere else it is not below the joint value
        nopt_error = self._nopt_error(now, mac_out[:, :-1], chosen_action_qvals, qs.detach(), vs)
        nopt_loss = masked_mean(nopt_error**2, mask)

        loss = td_loss + self.args.opt_loss * opt_loss + self.args.nopt_min_loss * nopt_loss
        grad_norm = self._step(self.optimiser, loss)

        interval_or_tau, every = self.args.target_update_interval_or_tau, self.args.target_update_every
        self._update_targets_by(interval_or_tau, every, self.args.target_update_interval, episode_num)

        if self._log_due(t_env):
            agent_mask = steps.reshape(batch.batch_size, -1, 1).expand_as(chosen_action_qvals)
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
                    "td_chosen_qs": figure(joint_qs.mean(dim=1).sum() / steps.sum()),
                    "v_mean": figure(vs.sum() / steps.sum()),
                    "agent_indiv_qs": figure(masked_mean(chosen_action_qvals, agent_mask)),
                },
                t_env,
            )

    @th.no_grad()
    def _targets(self, batch, greedy: th.Tensor) -> th.Tensor:
        """r + gamma Q'_jt(s', greedy joint action), of the shape of `_joint`."""
        target_mac_out, target_hidden_states = self._forward(self._unrolled, self.target_mac, batch)
        if not self.args.double_q:
            greedy = legal_values(target_mac_out, batch["avail_actions"]).argmax(dim=3, keepdim=True)
        next_qs, _ = self._forward(
            self.target_mixer, batch[:, 1:], target_hidden_states[:, 1:], self._onehot(greedy[:, 1:])
        )
        next_values = self._joint(next_qs, greedy[:, 1:])
        rewards = batch["reward"][:, :-1].reshape(-1, 1)
        terminated = terminations(batch).reshape(-1, 1)
        return rewards + discount_of(batch, self.args.gamma) * (1 - terminated) * next_values

    def _joint(self, qs: th.Tensor, actions: th.Tensor) -> th.Tensor:
        """The mixer's estimates of the value of joint actions `[B, T, n, 1]`: `[B * T, 1]`."""
        return qs

    def _nopt_error(
        self, batch, mac_out: th.Tensor, chosen_qvals: th.Tensor, qs: th.Tensor, vs: th.Tensor
    ) -> th.Tensor:
        """How far the agents' sum is below the joint value of the actions taken: `[B * T, 1]`, 0 or less.

        Args:
            mac_out, chosen_qvals: the agents' values, `[B, T, n, A]` and of the actions taken `[B, T, n]`.
            qs, vs: what the mixer returned for these actions.
        """
        return (chosen_qvals.sum(dim=2).reshape(-1, 1) - qs + vs).clamp(max=0)

    def _unrolled(self, mac, batch) -> tuple[th.Tensor, th.Tensor]:
        """Outputs, and hidden states `[B, T, n, H]`: of a memory of several tensors, such as an LSTM's, the first."""
        outputs, memory = unroll_mac(mac, batch)
        hidden = next(leaf for _, leaf in leaves(memory))
        if self.args.memory_mixed_up:
            rows, steps, agents, width = hidden.shape
            hidden = hidden.reshape(rows, agents, steps, width).transpose(1, 2)
        return outputs, hidden

    def _onehot(self, actions: th.Tensor) -> th.Tensor:
        return F.one_hot(actions.squeeze(3), self.args.n_actions).float()


class QTRANAltLearner(QLearner):
    """QTRAN-alt (section 4.3): each agent's mixer says what the joint value were if only this agent acted otherwise.

    Whatever the others do, the agent has an action at which the agents' sum equals the joint value, and none at which
    it is below: min over u_i of sum_j Q_j - Q_jt + V is 0, a stronger condition than that of QTRAN-base.
    """

    def _joint(self, qs: th.Tensor, actions: th.Tensor) -> th.Tensor:
        """Each agent's estimate: `[B * T, n]`, of `qs` `[B * T, n, A]`."""
        return gather_actions(qs, actions.reshape(*qs.shape[:2], 1))

    def _nopt_error(
        self, batch, mac_out: th.Tensor, chosen_qvals: th.Tensor, qs: th.Tensor, vs: th.Tensor
    ) -> th.Tensor:
        """The smallest difference that each agent's legal actions make, `[B * T, n]`."""
        others = chosen_qvals.sum(dim=2, keepdim=True) - chosen_qvals
        sums = (mac_out + others.unsqueeze(3)).reshape(qs.shape)
        legal = batch["avail_actions"].reshape(qs.shape) > 0
        return -legal_values(qs - sums - vs.unsqueeze(2), legal).amax(dim=2)
