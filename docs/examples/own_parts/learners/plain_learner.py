"""A complete learner: double Q-learning of the team's value, for any mixer of chosen values."""

import copy

import torch as th

from controllers.unroll import unroll_mac
from learners.base import BaseLearner
from learners.q_targets import gather_actions, legal_values, masked_mean, mix
from learners.targets import last_update
from modules.mixers import build_mixer
from utils.rl_utils import valid_transitions
from utils.tensors.optimisers import build_optimiser


class PlainLearner(BaseLearner):
    """Minimises (r + gamma Q_tot'(s', argmax_a Q(s', a)) - Q_tot(s, a))^2."""

    last_target_update_episode = last_update()  # PyMARL's name for a count of `targets`

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        # saved as mixer.th, moved to the GPU, copied to its target
        self.mixer, self.target_mixer = self.add_network("mixer", build_mixer(self.args.mixer, self.args))
        self.target_mac = copy.deepcopy(mac)
        self.params = [*mac.parameters(), *self.mixer.parameters()]
        # saved as opt.th
        self.optimiser = self.optimisers["opt"] = build_optimiser(self.params, self.args.lr, self.args)

    def train(self, batch, t_env, episode_num):
        mask = valid_transitions(batch)  # [B, T, 1]
        values = self._forward(unroll_mac, self.mac, batch)[0]  # [B, T + 1, n, A]
        chosen = gather_actions(values, batch["actions"])  # [B, T + 1, n]
        team = mix(self, self.mixer, chosen[:, :-1], batch["state"][:, :-1])  # [B, T, 1]
        error = team - self._targets(batch, values.detach())
        loss = masked_mean(error**2, mask)
        grad_norm = self._step(self.optimiser, loss)  # backward, clipping, the optimiser's step
        self._update_targets_every(self.args.target_update_interval, episode_num)
        if self._log_due(t_env):
            self._log({"loss": float(loss.detach()), "grad_norm": grad_norm}, t_env)

    @th.no_grad()
    def _targets(self, batch, values):
        following = legal_values(self._forward(unroll_mac, self.target_mac, batch)[0], batch["avail_actions"])
        deciding = legal_values(values, batch["avail_actions"]) if self.args.double_q else following
        best = gather_actions(following, deciding.argmax(dim=-1, keepdim=True))
        team = mix(self, self.target_mixer, best[:, 1:], batch["state"][:, 1:])
        # a truncated episode bootstraps: only `terminated` ends it
        return batch["reward"][:, :-1] + self.args.gamma * (1 - batch["terminated"][:, :-1].float()) * team
