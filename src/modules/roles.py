"""Roles as random vectors: Gaussians, and what keeps them identifiable and apart (ROMA, Wang et al. 2020)."""

import math
from typing import Any, NamedTuple

import torch as th
import torch.nn as nn
import torch.nn.functional as F

# the least logarithm of a density that counts; smaller ones are as improbable
LEAST = -13.8


class Gaussian(NamedTuple):
    """Independent normal numbers `[..., R]` by their means and variances."""

    mean: th.Tensor
    variance: th.Tensor

    @classmethod
    def of(cls, outputs: th.Tensor, floor: float) -> "Gaussian":
        """From a network's outputs `[..., 2 R]`, means and logarithms of variances, which are at least `floor`."""
        mean, log_variance = outputs.chunk(2, dim=-1)
        return cls(mean, log_variance.exp().clamp(min=floor))

    def drawn(self) -> th.Tensor:
        """A sample, with gradients."""
        return self.mean + self.variance.sqrt() * th.randn_like(self.mean)

    def log_prob(self, x: th.Tensor) -> th.Tensor:
        """The logarithm of each number's density, `[..., R]`."""
        return -0.5 * ((x - self.mean) ** 2 / self.variance + self.variance.log() + math.log(2 * math.pi))

    def kl_to(self, other: "Gaussian") -> th.Tensor:
        """The divergence of `other` from it in nats, `[...]`."""
        ratio = self.variance / other.variance
        return 0.5 * (ratio - 1 - ratio.log() + (self.mean - other.mean) ** 2 / other.variance).sum(dim=-1)


class RoleRegularisers(nn.Module):
    """What trajectories say of roles, q_xi(role | trajectory), and how unlike two trajectories are, d_phi.

    R = `latent_dim`, K = `role_hidden_dim`. A trajectory is the memory after a step, `[..., n, H]`; no gradient goes
    through it.
    """

    def __init__(self, args: Any):
        super().__init__()
        self.floor = args.var_floor
        size, hidden = args.rnn_hidden_dim, args.role_hidden_dim
        self.inference = nn.Sequential(nn.Linear(size, hidden), nn.LeakyReLU(), nn.Linear(hidden, 2 * args.latent_dim))
        self.one, self.other = nn.Linear(size, hidden), nn.Linear(size, hidden, bias=False)
        self.unlike = nn.Linear(hidden, 1)

    def forward(self, role: Gaussian, drawn: th.Tensor, memory: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """Both regularisers of each step, `[...]`.

        Args:
            role: of each agent by what it observes, `[..., n, R]`.
            drawn: a sample of it.
            memory: `[..., n, H]`.

        Returns:
            the mean divergence of roles by trajectories from those by observations (eq. 6), and the dissimilarity loss
            (eq. 9 with U = 1): the Frobenius norm of D less the sum over pairs of min(I + d, 1), by the number of
            agents. I, the log-density of an agent's role by another one's trajectory, goes from 0 (`LEAST`) to 1 (the
            largest).
        """
        memory = memory.detach()
        by_memory = Gaussian.of(self.inference(memory), self.floor)
        n_agents = memory.size(-2)
        identified = role.kl_to(by_memory).mean(dim=-1)
        # of agent i's role by agent j's trajectory, [..., i, j]
        of_other = Gaussian(*(x.unsqueeze(-3) for x in by_memory)).log_prob(drawn.unsqueeze(-2)).mean(dim=-1)
        largest = -0.5 * math.log(2 * math.pi * self.floor)
        shared = (of_other.clamp(min=LEAST) - LEAST) / (max(largest, 0.0) - LEAST)
        pairs = self.one(memory).unsqueeze(-2) + self.other(memory).unsqueeze(-3)
        unlike = self.unlike(F.leaky_relu(pairs)).squeeze(-1).abs()
        apart = 1 - th.eye(n_agents, device=memory.device)
        norm = (unlike.square() * apart).sum(dim=(-2, -1)).clamp(min=1e-12).sqrt()
        gained = ((shared + unlike).clamp(max=1) * apart).sum(dim=(-2, -1))
        return identified, (norm - gained) / n_agents
