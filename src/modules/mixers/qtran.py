"""The networks of QTRAN-base (Son et al. 2019): a joint action value and a state value."""

import numpy as np
import torch as th
import torch.nn as nn

from modules.mixers import REGISTRY
from utils.config.merging import with_defaults


class QTranBase(nn.Module):
    """Q_jt(s, u) and V_jt(s).

    `qtran_arch` "qtran_paper": Q_jt sees the state and the sum of the agents' encoded hidden states and actions;
    "coma_critic": the state and the joint action. `network_size` "small": two hidden layers, "big": three.
    """

    def __init__(self, args):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self.n_agents = args.n_agents
        self.n_actions = args.n_actions
        self.state_dim = int(np.prod(args.state_shape))
        self.arch = args.qtran_arch
        self.embed_dim = args.mixing_embed_dim

        encoding_dim = args.rnn_hidden_dim + self.n_actions
        if self.arch == "coma_critic":
            q_input_size = self.state_dim + self.n_agents * self.n_actions
        elif self.arch == "qtran_paper":
            q_input_size = self.state_dim + encoding_dim
        else:
            raise ValueError(f"qtran_arch is 'qtran_paper' or 'coma_critic', not '{self.arch}'")
        if args.network_size not in ("small", "big"):
            raise ValueError(f"network_size is 'small' or 'big', not '{args.network_size}'")

        self.Q = self._value_network(q_input_size)
        self.V = self._value_network(self.state_dim)
        self.action_encoding = nn.Sequential(
            nn.Linear(encoding_dim, encoding_dim), nn.ReLU(), nn.Linear(encoding_dim, encoding_dim)
        )

    def _value_network(self, in_dim: int) -> nn.Sequential:
        layers = [nn.Linear(in_dim, self.embed_dim), nn.ReLU()]
        for _ in range({"small": 1, "big": 2}[self.args.network_size]):
            layers += [nn.Linear(self.embed_dim, self.embed_dim), nn.ReLU()]
        return nn.Sequential(*layers, nn.Linear(self.embed_dim, 1))

    def forward(self, batch, hidden_states: th.Tensor, actions: th.Tensor | None = None):
        """Values of the joint actions of `batch`, or of `actions`.

        Args:
            batch: EpisodeBatch with B episodes of T steps.
            hidden_states: of the agents, `[B, T, n_agents, H]`.
            actions: one-hot `[B, T, n_agents, n_actions]`; None: those taken.

        Returns:
            Q_jt and V_jt, each `[B * T, 1]`.
        """
        rows = batch.batch_size * batch.max_seq_length
        states = batch["state"].reshape(rows, self.state_dim)
        actions = batch["actions_onehot"] if actions is None else actions
        if self.arch == "coma_critic":
            joint = actions.reshape(rows, self.n_agents * self.n_actions)
        else:
            joint = self._encode(hidden_states.reshape(rows, self.n_agents, -1), actions)
        return self.Q(th.cat([states, joint], dim=1)), self.V(states)

    def _encode(self, hidden_states: th.Tensor, actions: th.Tensor) -> th.Tensor:
        actions = actions.reshape(-1, self.n_agents, self.n_actions)
        return self.action_encoding(th.cat([hidden_states, actions], dim=2)).sum(dim=1)
