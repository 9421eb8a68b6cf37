"""SHAQ: Shapley Q-learning (Wang et al. 2022)."""

import numpy as np
import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.mixers import REGISTRY
from modules.mixers.heads import mlp
from utils.config.merging import with_defaults
from utils.tensors.devices import to_device


class SHAQMixer(nn.Module):
    """Q_tot(s, u) = sum_i delta_i(s, u_i) Q_i, where Q_i is the agent's Shapley value of the team's.

    delta_i is 1 of a greedy action, and alpha_i(s, u_i) of another one (eq. 8), an estimate over `shaq_samples` random
    orders of the agents (eq. 9): alpha_i = 1 + mean |f_s(mean of the Q_j before i in the order, Q_i)|, where f_s is
    monotonic, with weights that hypernetworks make of the state. Targets have greedy actions, hence the sum of the
    agents' largest values, with `double_q: False`. Values within alpha_i are constants: they learn by the sum.

    S = state size, n = agents. Orders are drawn from NumPy's generator, the same for all states of a call.
    """

    def __init__(self, args):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self.n_agents, self.state_dim = args.n_agents, int(np.prod(args.state_shape))
        self.hyper_w_1 = mlp(self.state_dim, args.hypernet_embed, 2, 2 * args.mixing_embed_dim)
        self.hyper_b_1 = nn.Linear(self.state_dim, args.mixing_embed_dim)
        self.hyper_w_2 = mlp(self.state_dim, args.hypernet_embed, 2, args.mixing_embed_dim)
        self.hyper_b_2 = mlp(self.state_dim, args.hypernet_embed, 2, 1)

    def forward(self, agent_qs: th.Tensor, states: th.Tensor, greedy_qvals: th.Tensor) -> th.Tensor:
        """Q_tot `[B, T, 1]`.

        Args:
            agent_qs: the agents' values of their actions, `[B, T, n]`.
            states: `[B, T, S]`.
            greedy_qvals: the agents' values of their best legal actions, `[B, T, n]`.
        """
        values, states = agent_qs.reshape(-1, self.n_agents), states.reshape(-1, self.state_dim)
        greedy = values.detach() >= greedy_qvals.reshape(-1, self.n_agents)
        weights = th.where(greedy, 1.0, self._alpha(values.detach(), states))
        return (weights * values).sum(dim=1).view(len(agent_qs), -1, 1)

    def _alpha(self, values: th.Tensor, states: th.Tensor) -> th.Tensor:
        """Of agents' values `[N, n]` in states `[N, S]`: `[N, n]`."""
        shares = to_device(th.from_numpy(self._coalitions()), values.device)
        coalitions = th.einsum("mij,bj->bmi", shares, values)
        x = th.stack([coalitions, values.unsqueeze(1).expand_as(coalitions)], dim=-1)
        width = self.args.mixing_embed_dim
        w_1, b_1 = self.hyper_w_1(states).abs().view(-1, 1, 2, width), self.hyper_b_1(states).view(-1, 1, 1, width)
        w_2, b_2 = self.hyper_w_2(states).abs().view(-1, 1, width, 1), self.hyper_b_2(states).view(-1, 1, 1)
        hidden = F.elu(x @ w_1 + b_1)
        return 1 + ((hidden @ w_2).squeeze(-1) + b_2).abs().mean(dim=1)

    def _coalitions(self) -> np.ndarray:
        """For each order and agent, the shares by which those before it count in their mean, `[orders, n, n]`."""
        places = np.random.random((self.args.shaq_samples, self.n_agents))
        before = (places[:, None, :] < places[:, :, None]).astype(np.float32)
        return before / np.maximum(before.sum(axis=-1, keepdims=True), 1)
