"""Many copies of a scenario of VMAS (Bettini et al. 2022) as the one batch of tensors that the package steps."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from envs.contract.optional import require
from envs.families import is_there
from envs.pettingzoo import games
from envs.pettingzoo.game import REWARDS
from utils.errors import ConfigError


def is_batched(key: str, reward: str, kwargs: dict[str, Any]) -> bool:
    """Whether these can be a `VmasBatch`: a team with one reward, and one choice for each agent."""
    others = ("continuous_actions", "multidiscrete_actions")
    plain = key.startswith(games.VMAS) and reward in REWARDS and not any(kwargs.get(word) for word in others)
    return plain and is_there("vmas")


class VmasBatch:
    """B copies as one environment (`vector_envs.contract.BatchedEnv`), with the sizes of the single one.

    VMAS draws all copies from one generator of the process, so a copy's episodes are not those that a single one with
    its seed plays; the same seeds and actions give the same ones again. A copy whose episode has ended stays as it is
    for whoever looks, until it is reset.

    Args:
        batch_size: B.
        seed: of each copy; the first one seeds all; None: a random one.
        key, time_limit, reward, kwargs: see `Gymma`.
    """

    def __init__(
        self,
        batch_size: int,
        key: str,
        time_limit: int,
        reward: str,
        kwargs: dict[str, Any],
        seed: Sequence[int] | None = None,
    ):
        # VMAS is made of tensors; other environments do without
        self._torch, self._together = require("torch", f"env_args.key={key}"), REWARDS[reward]
        first = None if seed is None or seed[0] is None else int(seed[0]) % 2**31
        # numbers of VMAS's own limit: ours comes first
        self._env = games.vmas_made(key, {"max_steps": time_limit + 1, **kwargs}, num_envs=batch_size, seed=first)
        self.episode_limit, self.n_agents = time_limit, int(self._env.n_agents)
        self._n = [int(getattr(space, "n", 0)) for space in self._env.action_space]
        if not all(self._n):
            raise ConfigError(f"env_args.key={key}: its actions are {self._env.action_space}, and not one choice each.")
        self._sizes = [int(np.prod(space.shape)) for space in self._env.observation_space]
        self._obs = np.zeros((batch_size, self.n_agents, max(self._sizes)), np.float32)
        self._legal = np.zeros((batch_size, self.n_agents, max(self._n)), np.uint8)
        for i, n in enumerate(self._n):
            self._legal[:, i, :n] = 1
        self._steps = np.zeros(batch_size, np.int64)
        self._ended, self._truncated = np.zeros((2, batch_size), bool)

    def reset(self, which: np.ndarray | None = None) -> None:
        which = np.ones_like(self._ended) if which is None else np.asarray(which, bool)
        if which.all():
            seen = self._env.reset()
        else:
            for b in np.flatnonzero(which).tolist():
                self._env.reset_at(b, return_observations=False)
            seen = self._env.get_from_scenario(
                get_observations=True, get_rewards=False, get_infos=False, get_dones=False, dict_agent_names=False
            )[0]
        self._keep(seen, which)
        self._steps[which] = 0
        self._ended[which] = self._truncated[which] = False

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        playing = ~self._ended
        # a copy that has ended may have any actions
        chosen = self._torch.as_tensor(np.where(playing[:, None], np.asarray(actions), 0), dtype=self._torch.int64)
        seen, rewards, terminated, truncated, _ = self._env.step([chosen[:, i, None] for i in range(self.n_agents)])
        self._steps[playing] += 1
        self._keep(seen, playing)
        over = terminated.numpy() & playing
        cut = playing & ~over & (truncated.numpy() | (self._steps >= self.episode_limit))
        self._ended |= over | cut
        self._truncated |= cut
        each = np.stack([reward.numpy().astype(np.float64) for reward in rewards], axis=1)
        return self._together(each, axis=1), self._ended, self._truncated

    def _keep(self, seen: list[Any], which: np.ndarray) -> None:
        for i, (size, one) in enumerate(zip(self._sizes, seen, strict=True)):
            self._obs[which, i, :size] = one.numpy().reshape(len(which), size)[which]

    def observed(self) -> dict[str, np.ndarray]:
        return {"obs": self._obs, "state": self._obs.reshape(len(self._obs), -1), "avail_actions": self._legal}

    def info(self, b: int) -> dict[str, Any]:
        return {"episode_limit": bool(self._truncated[b])}

    def get_env_info(self) -> dict[str, Any]:
        """See `MultiAgentEnv`."""
        size = max(self._sizes)
        return {
            "state_shape": size * self.n_agents,
            "obs_shape": size,
            "n_actions": max(self._n),
            "n_agents": self.n_agents,
            "episode_limit": self.episode_limit,
        }

    def close(self) -> None:
        """Nothing is held."""
