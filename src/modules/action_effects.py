"""Vectors of actions by what these do, and clusters of such vectors (RODE, Wang et al. 2021)."""

from typing import Any

import torch as th
import torch.nn as nn
import torch.nn.functional as F


class ActionEffects(nn.Module):
    """What an action does: what the agent observes next and the reward, by a vector of the action (RODE, section 3.1).

    A = `n_actions`, n agents, O numbers observed, D = `action_latent_dim`, S = `state_latent_dim`.
    """

    others: th.Tensor

    def __init__(self, obs_size: int, args: Any):
        super().__init__()
        n_agents, actions, hidden = args.n_agents, args.n_actions, args.state_latent_dim
        self.n_actions = actions
        others = [[j for j in range(n_agents) if j != i] for i in range(n_agents)]
        self.register_buffer("others", th.tensor(others, dtype=th.long), persistent=False)
        self.vectors = nn.Sequential(
            nn.Linear(actions, 2 * hidden), nn.ReLU(), nn.Linear(2 * hidden, args.action_latent_dim)
        )
        seen = obs_size + actions * (n_agents - 1)
        self.seen = nn.Sequential(nn.Linear(seen, 2 * hidden), nn.ReLU(), nn.Linear(2 * hidden, hidden))
        size = hidden + args.action_latent_dim
        self.next_obs = nn.Sequential(nn.Linear(size, hidden), nn.ReLU(), nn.Linear(hidden, obs_size))
        self.reward = nn.Sequential(nn.Linear(size, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, obs: th.Tensor, actions: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """Of observations `[..., n, O]` and one-hot actions `[..., n, A]`: the next ones, and rewards `[..., n, 1]`."""
        of_others = actions[..., self.others, :].flatten(-2)
        known = th.cat([self.seen(th.cat([obs, of_others], dim=-1)), self.vectors(actions)], dim=-1)
        return self.next_obs(known), self.reward(known)

    def action_vectors(self) -> th.Tensor:
        """Of all actions, `[A, D]`."""
        return self.vectors(th.eye(self.n_actions, device=self.others.device))


@th.no_grad()
def clusters(points: th.Tensor, number: int, rounds: int = 100) -> th.Tensor:
    """The cluster of each point `[N, D]` by k-means, int64 `[N]`; the same for the same points.

    The first centre is the point farthest from the mean, each next one that farthest from those before.
    """
    centres = points[(points - points.mean(dim=0)).norm(dim=1).argmax()].unsqueeze(0)
    for _ in range(number - 1):
        farthest = th.cdist(points, centres).amin(dim=1).argmax()
        centres = th.cat([centres, points[farthest].unsqueeze(0)])
    for _ in range(rounds):
        nearest = th.cdist(points, centres).argmin(dim=1)
        members = F.one_hot(nearest, number).to(points.dtype).T
        counts = members.sum(dim=1, keepdim=True)
        centres = th.where(counts > 0, members @ points / counts.clamp(min=1), centres)
    return th.cdist(points, centres).argmin(dim=1)
