"""State values by the recurrent network of MAPPO's code (Yu et al. 2022)."""

from collections.abc import Callable
from typing import Any

import torch as th
import torch.nn as nn

from modules.critics.values import ValueCritic
from modules.initialisation import orthogonal
from modules.layer_norms import normalised_layer


class MAPPOCritic(ValueCritic):
    """V of the environment's state by a network like `MAPPOAgent`: what the critic sees is normalised first."""

    sees = ("state",)

    fc1: Any
    fc2: Any

    def _build_layers(self, inputs: int, width: int) -> None:
        self.feature_norm = nn.LayerNorm(inputs)
        self.fc1, self.fc2 = normalised_layer(inputs, width), normalised_layer(width, width)
        self.rnn = nn.GRUCell(width, width)
        self.after_rnn_norm = nn.LayerNorm(width)
        self.v_out = nn.Linear(width, 1)

    def _initialise(self) -> None:
        orthogonal(self, self.args.critic_gain)

    def of_hidden(self, hidden: th.Tensor) -> th.Tensor:
        return self.v_out(self.after_rnn_norm(hidden)).squeeze(-1)

    def _encoded(self, field: Callable[[str], th.Tensor], lead: int) -> th.Tensor:
        parts = []
        for part in self._parts:
            x = self._joined(field, self._read[part], lead + (part in self._of_agent))
            parts.append(x if part in self._of_agent else x.unsqueeze(-2))
        if self._agent_id:
            parts.append(th.eye(self.n_agents, device=parts[0].device))
        sizes = [*parts[0].shape[:-2], self.n_agents, -1]
        return self.fc2(self.fc1(self.feature_norm(th.cat([x.expand(sizes) for x in parts], dim=-1))))
