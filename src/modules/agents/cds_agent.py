"""Agents whose values are a common part and one of their own (CDS, Li et al. 2021)."""

from collections.abc import Mapping
from typing import Any

import torch as th
import torch.nn as nn

from modules.agents.rnn_agent import RNNAgent
from modules.unshared import AgentLinear
from utils.errors import ConfigError


class CDSAgent(RNNAgent):
    """`RNNAgent`, to whose values each agent i adds a linear layer's of its own, on the same memory (section 3.3).

    Q_i(tau, u) = Q_S(tau, u) + Q_i^I(tau, u)
    """

    def __init__(self, input_shape: int, args: Any):
        super().__init__(input_shape, args)
        size, actions = self.args.rnn_hidden_dim, self.args.n_actions
        self.mlp = AgentLinear([nn.Linear(size, actions) for _ in range(self.args.n_agents)])

    def own_values(self, hidden: th.Tensor) -> th.Tensor:
        """The agents' own parts, `[..., n, A]`, of memories `[..., n, H]`."""
        return self.mlp(self._normed(hidden))

    def _values(self, hidden: th.Tensor) -> th.Tensor:
        features = self._normed(hidden)
        return self.fc2(features) + self.mlp(features)


def check(config: Mapping[str, Any]) -> None:
    """Raises ConfigError: weights of each agent's own, beside which there is nothing in common."""
    if not config["share_params"]:
        raise ConfigError(
            "agent=rnn_cds has weights that all agents share, and some of their own. Use share_params=True."
        )
