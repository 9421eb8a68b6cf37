"""Networks of EOI (Jiang & Lu 2021): who sees an observation, and what it is worth to be known by it."""

from typing import Any

import torch as th
import torch.nn as nn
import torch.nn.functional as F


class ObservationNet(nn.Module):
    """Three layers: `[..., size]` -> `[..., outputs]`."""

    def __init__(self, size: int, width: int, outputs: int):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(size, width), nn.Linear(width, width), nn.Linear(width, outputs)

    def forward(self, seen: Any) -> th.Tensor:
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(seen)))))
