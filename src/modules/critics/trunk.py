"""Values from the network that acts: one trunk for both (Mnih et al. 2016)."""

import torch as th
import torch.nn as nn


class TrunkValues(nn.Module):
    """The last output of the agents' network, which the controller adds (`PolicyMAC`); it has no weights."""

    def __init__(self, scheme, args):
        super().__init__()

    def of_outputs(self, outputs: th.Tensor) -> th.Tensor:
        """Outputs `[..., n, size + 1]` -> values `[..., n]`."""
        return outputs[..., -1]
