"""The networks of QTRAN-base and QTRAN-alt (Son et al. 2019): joint action values and a state value."""

import numpy as np
import torch as th
import torch.nn as nn

from modules.fast_linear import FastLinear
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
        self.embed_dim = args.mixing_embed_dim

        if args.network_size not in ("small", "big"):
            raise ValueError(f"network_size is 'small' or 'big', not '{args.network_size}'")

        encoding_dim = args.rnn_hidden_dim + self.n_actions
        self.Q = self._joint_network(encoding_dim)
        self.V = self._value_network(self.state_dim)
        self.action_encoding = nn.Sequential(
            FastLinear(encoding_dim, encoding_dim), nn.ReLU(), FastLinear(encoding_dim, encoding_dim)
        )

    def _joint_network(self, encoding_dim: int) -> nn.Sequential:
        self.arch = self.args.qtran_arch
        if self.arch not in ("coma_critic", "qtran_paper"):
            raise ValueError(f"qtran_arch is 'qtran_paper' or 'coma_critic', not '{self.arch}'")
        of_actions = encoding_dim if self.arch == "qtran_paper" else self.n_agents * self.n_actions
        return self._value_network(self.state_dim + of_actions)

    def _value_network(self, in_dim: int, out_dim: int = 1) -> nn.Sequential:
        layers = [FastLinear(in_dim, self.embed_dim), nn.ReLU()]
        for _ in range({"small": 1, "big": 2}[self.args.network_size]):
            layers += [FastLinear(self.embed_dim, self.embed_dim), nn.ReLU()]
        return nn.Sequential(*layers, FastLinear(self.embed_dim, out_dim))

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
        return self._encodings(hidden_states, actions).sum(dim=1)

    def _encodings(self, hidden_states: th.Tensor, actions: th.Tensor) -> th.Tensor:
        """Of each agent's hidden state `[N, n, H]` and action: `[N, n, H + A]`."""
        actions = actions.reshape(-1, self.n_agents, self.n_actions)
        return self.action_encoding(th.cat([hidden_states, actions], dim=2))


class QTranAlt(QTranBase):
    """The networks of QTRAN-alt (section 4.3): Q_jt(s, ., u_-i) of each agent i, all its actions beside the others'.

    An agent's joint values see the state, its own hidden state and number, and the sum of the others' encodings.
    """

    def _joint_network(self, encoding_dim: int) -> nn.Sequential:
        in_dim = self.state_dim + encoding_dim + self.args.rnn_hidden_dim + self.n_agents
        return self._value_network(in_dim, self.n_actions)

    def forward(self, batch, hidden_states: th.Tensor, actions: th.Tensor | None = None):
        """As `QTranBase.forward`; returns the joint values `[B * T, n, A]` and V_jt `[B * T, 1]`."""
        rows = batch.batch_size * batch.max_seq_length
        states = batch["state"].reshape(rows, self.state_dim)
        actions = batch["actions_onehot"] if actions is None else actions
        hidden_states = hidden_states.reshape(rows, self.n_agents, -1)
        encodings = self._encodings(hidden_states, actions)
        others = encodings.sum(dim=1, keepdim=True) - encodings
        numbers = th.eye(self.n_agents, device=states.device).expand(rows, -1, -1)
        seen = states.unsqueeze(1).expand(-1, self.n_agents, -1)
        return self.Q(th.cat([seen, others, hidden_states, numbers], dim=2)), self.V(states)
