"""Value decomposition networks (Sunehag et al. 2018)."""

import torch as th
import torch.nn as nn


class VDNMixer(nn.Module):
    """Q_tot = sum of the agents' values; it has no parameters."""

    def __init__(self, args=None):
        super().__init__()

    def forward(self, agent_qs: th.Tensor, batch: th.Tensor) -> th.Tensor:
        """Values `[B, T, n_agents]` (and states, unused) -> `[B, T, 1]`."""
        return th.sum(agent_qs, dim=2, keepdim=True)
