"""QPLEX: duplex dueling multi-agent Q-learning (Wang et al. 2021)."""

import numpy as np
import torch as th
import torch.nn as nn

from modules.mixers import REGISTRY
from modules.mixers.heads import all_heads, mlp
from utils.config.merging import with_defaults

# so that no weight is 0, in which case an agent would have no say
SMALLEST = 1e-10


class QPLEXMixer(nn.Module):
    """Q_tot(s, u) = sum_i V_i + sum_i lambda_i(s, u) A_i: any value whose greedy action is that of the agents.

    In a state, an agent's value becomes w_i(s) Q_i + b_i(s) with w_i > 0, the sum of V_i(s) = w_i max Q_i + b_i and
    A_i(s, u_i) = w_i (Q_i - max Q_i) <= 0. The weights lambda_i(s, u) > 0 of the advantages come from `num_kernel`
    heads of attention. It is computed as sum_i (V_i + A_i) + sum_i (lambda_i - 1) A_i, where the last A_i is a
    constant: its gradient would push the maximum (section 3.2).

    S = state size, n = agents, A = actions. The names of weights are those of the authors' code and PyMARL2's.
    """

    def __init__(self, args):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self.state_dim = int(np.prod(args.state_shape))
        self._make_scale()
        self.si_weight = AdvantageWeights(args)

    def _make_scale(self) -> None:
        """The networks of w and b."""
        self.hyper_w_final = mlp(self.state_dim, self.args.hypernet_embed, 2, self.args.n_agents)
        self.V = mlp(self.state_dim, self.args.hypernet_embed, 2, self.args.n_agents)

    def forward(self, agent_qs: th.Tensor, states: th.Tensor, actions: th.Tensor, greedy_qvals: th.Tensor) -> th.Tensor:
        """Q_tot `[B, T, 1]` of a joint action in the state.

        Args:
            agent_qs: the agents' values of their actions, `[B, T, n]`.
            states: `[B, T, S]`.
            actions: one-hot, `[B, T, n, A]`.
            greedy_qvals: the agents' values of their best legal actions, `[B, T, n]`.
        """
        states = states.reshape(-1, self.state_dim)
        scale = (self.hyper_w_final(states).abs() + SMALLEST, self.V(states)) if self.args.weighted_head else None
        return self._joint(agent_qs, states, actions, greedy_qvals, scale)

    def _joint(
        self,
        agent_qs: th.Tensor,
        states: th.Tensor,
        actions: th.Tensor,
        greedy_qvals: th.Tensor,
        scale: tuple[th.Tensor, th.Tensor] | None,
    ) -> th.Tensor:
        """`forward` of N states `[N, S]` with w_i(s) `[N, n]` and b_i(s) `[N, n or 1]`; None: 1 and 0."""
        batch_size = agent_qs.size(0)
        agent_qs, greedy_qvals = agent_qs.reshape(len(states), -1), greedy_qvals.reshape(len(states), -1)
        advantages = (agent_qs - greedy_qvals).detach()
        values = agent_qs
        if scale is not None:
            weights, shift = scale
            values = weights * agent_qs + shift
            advantages = weights.detach() * advantages
        shares = self.si_weight(states, actions.reshape(len(states), -1))
        if self.args.is_minus_one:
            shares = shares - 1
        return (values + shares * advantages).sum(dim=1).view(batch_size, -1, 1)


class AdvantageWeights(nn.Module):
    """lambda_i(s, u) = sum_k |key_k(s)| sigmoid(agent_ki(s)) sigmoid(action_ki(s, u)) over the heads k."""

    def __init__(self, args):
        super().__init__()
        state_dim, n_agents = int(np.prod(args.state_shape)), args.n_agents
        joint_dim = state_dim + n_agents * args.n_actions

        def heads(in_dim: int, out_dim: int) -> nn.ModuleList:
            layers, hidden = args.adv_hypernet_layers, args.adv_hypernet_embed
            return nn.ModuleList(mlp(in_dim, hidden, layers, out_dim) for _ in range(args.num_kernel))

        self.key_extractors = heads(state_dim, 1)
        self.agents_extractors = heads(state_dim, n_agents)
        self.action_extractors = heads(joint_dim, n_agents)

    def forward(self, states: th.Tensor, actions: th.Tensor) -> th.Tensor:
        """States `[N, S]` and joint actions, one-hot, `[N, n * A]` -> `[N, n]`."""
        key = all_heads(self.key_extractors, states).abs() + SMALLEST
        agents = th.sigmoid(all_heads(self.agents_extractors, states))
        joint = th.sigmoid(all_heads(self.action_extractors, th.cat([states, actions], dim=1)))
        return (key * agents * joint).sum(dim=0)
