"""Critics of policies: LICA's, of all agents' (Zhou et al. 2020), and RIIT's, of each agent's (Hu et al. 2021)."""

from math import prod

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.critics import REGISTRY
from modules.fast_linear import FastLinear
from modules.mixers.heads import mlp
from utils.config.merging import with_defaults
from utils.tensors.schemes import shape_of


class JointPoliciesCritic(nn.Module):
    """Q(s, pi) = relu(pi W1(s) + b1(s)) W_final(s) + b2(s), of the probabilities pi of all agents' actions.

    E = `lica_mixing_embed_dim`. Weights have any sign: unlike QMIX's, this value need not be monotonic. Actions that
    were taken are policies, too: one-hot. The weights' names are PyMARL2's.
    """

    def __init__(self, scheme, args):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        state, hidden, embed = prod(shape_of(scheme["state"])), args.hypernet_embed_dim, args.lica_mixing_embed_dim
        self.hyper_w_1 = mlp(state, hidden, 2, embed * args.n_agents * args.n_actions)
        self.hyper_w_final = mlp(state, hidden, 2, embed)
        self.hyper_b_1 = FastLinear(state, embed)
        self.hyper_b_2 = mlp(state, hidden, 2, 1)

    def forward(self, policies: th.Tensor, states: th.Tensor) -> th.Tensor:
        """Probabilities `[B, T, n, A]` and states `[B, T, *S]` -> values `[B, T, 1]`."""
        states, policies = states.flatten(2), policies.flatten(2).unsqueeze(-2)
        w_1 = self.hyper_w_1(states).unflatten(-1, (policies.size(-1), -1))
        hidden = F.relu((policies @ w_1).squeeze(-2) + self.hyper_b_1(states))
        return (hidden * self.hyper_w_final(states)).sum(dim=-1, keepdim=True) + self.hyper_b_2(states)


class OwnPoliciesCritic(nn.Module):
    """Q_a(o_a, pi_a) of each agent by two hidden layers of `critic_hidden_dim` units, for a mixer.

    Inputs: observation, the agent's one-hot number with `critic_agent_id`, the probabilities of its actions.
    """

    def __init__(self, scheme, args):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        seen = prod(shape_of(scheme["obs"])) + args.n_agents * args.critic_agent_id
        self.fc1 = FastLinear(seen + args.n_actions, args.critic_hidden_dim)
        self.fc2 = FastLinear(args.critic_hidden_dim, args.critic_hidden_dim)
        self.fc3 = FastLinear(args.critic_hidden_dim, 1)

    def forward(self, policies: th.Tensor, obs: th.Tensor) -> th.Tensor:
        """Probabilities `[B, T, n, A]` and observations `[B, T, n, *O]` -> values `[B, T, n]`."""
        seen = [obs.flatten(3).float()]
        if self.args.critic_agent_id:
            ids = th.eye(self.args.n_agents, device=obs.device)
            seen.append(ids.expand(*policies.shape[:2], -1, -1))
        x = F.relu(self.fc1(th.cat([*seen, policies], -1)))
        return self.fc3(F.relu(self.fc2(x))).squeeze(-1)
