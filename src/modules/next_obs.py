"""What an agent observes next, by what it remembers, observes and does (CDS, Li et al. 2021)."""

import torch as th
import torch.nn as nn
import torch.nn.functional as F


class NextObservation(nn.Module):
    """Two hidden layers of `width` units with rectifiers: the mean of a Gaussian of unit variance, up to a factor.

    Args:
        size: numbers that it sees.
        observed: numbers of an observation.
        identities: numbers of an agent's identity, which the second layer sees, too; 0: it does not know who acts.
    """

    def __init__(self, size: int, width: int, observed: int, identities: int = 0):
        super().__init__()
        self.identities = identities
        self.linear1 = nn.Linear(size + identities, width)
        self.linear2 = nn.Linear(width + identities, width)
        self.last_fc = nn.Linear(width, observed)
        for layer in (self.linear1, self.linear2, self.last_fc):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, seen: th.Tensor) -> th.Tensor:
        """`[..., size + identities]`, the identity last -> `[..., observed]`."""
        hidden = F.relu(self.linear1(seen))
        if self.identities:
            hidden = th.cat([hidden, seen[..., -self.identities :]], dim=-1)
        return self.last_fc(F.relu(self.linear2(hidden)))

    def errors(self, seen: th.Tensor, observed: th.Tensor) -> th.Tensor:
        """Squared distances from what is observed, `[...]`: minus a log-probability."""
        return (self(seen) - observed).square().sum(dim=-1)
