import copy

import torch as th
from torch import nn
from torch.nn import functional as F

from controllers.unroll import unroll_mac
from learners import REGISTRY as LEARNERS
from learners.base import BaseLearner
from learners.q_targets import gather_actions, legal_values, masked_mean, mix
from modules.mixers import REGISTRY as MIXERS
from modules.mixers import build_mixer
from utils.rl_utils import valid_transitions
from utils.tensors.optimisers import build_optimiser


class WeightedSum(nn.Module):
    """The team's value: a sum of the agents' values, with weights >= 0 that depend on the state, and a value of it."""

    def __init__(self, args):
        super().__init__()
        self.weights = nn.Linear(args.state_shape, args.n_agents)
        self.value = nn.Sequential(nn.Linear(args.state_shape, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, agent_qs, states):  # [B, T, n] and [B, T, state_shape] -> [B, T, 1]
        return (F.softplus(self.weights(states)) * agent_qs).sum(-1, keepdim=True) + self.value(states)


class HuberLearner(BaseLearner):
    """Q-learning of the team's value with the Huber loss, which is linear in large errors."""

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        self.mixer, self.target_mixer = self.add_network("mixer", build_mixer(args.mixer, args))
        self.target_mac = copy.deepcopy(mac)
        self.params = [*mac.parameters(), *self.mixer.parameters()]
        self.optimiser = self.optimisers["opt"] = build_optimiser(self.params, args.lr, args)

    def train(self, batch, t_env, episode_num):
        values = unroll_mac(self.mac, batch)[0]  # of every agent, step and action: [B, T + 1, n, A]
        chosen = gather_actions(values, batch["actions"])[:, :-1]  # [B, T, n]
        error = F.huber_loss(
            mix(self, self.mixer, chosen, batch["state"][:, :-1]), self._targets(batch), reduction="none"
        )
        loss = masked_mean(error, valid_transitions(batch))  # without the padding of short episodes
        grad_norm = self._step(self.optimiser, loss)
        self._update_targets_every(self.args.target_update_interval, episode_num)
        if self._log_due(t_env):
            self._log({"loss": float(loss.detach()), "grad_norm": grad_norm}, t_env)

    @th.no_grad()
    def _targets(self, batch):
        best = legal_values(unroll_mac(self.target_mac, batch)[0], batch["avail_actions"]).amax(-1)[:, 1:]
        following = mix(self, self.target_mixer, best, batch["state"][:, 1:])
        return batch["reward"][:, :-1] + self.args.gamma * (1 - batch["terminated"][:, :-1].float()) * following


MIXERS["weighted_sum"] = WeightedSum
LEARNERS["huber_learner"] = HuberLearner
