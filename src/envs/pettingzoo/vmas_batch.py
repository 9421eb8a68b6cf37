"""Many copies of a scenario of VMAS (Bettini et al. 2022) as the one batch of tensors that the package steps."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from envs.contract.fields import FieldSpec
from envs.contract.optional import require
from envs.families import is_there
from envs.pettingzoo import games
from envs.pettingzoo.game import REWARDS
from utils.errors import ConfigError


def is_batched(key: str) -> bool:
    """Whether a game's copies are one batch of VMAS's."""
    return key.startswith(games.VMAS) and is_there("vmas")


def vmas_batch(
    batch_size: int,
    key: str,
    time_limit: int,
    reward: str,
    kwargs: dict[str, Any],
    seed: Sequence[int] | None,
    one: Callable[[], Any],
) -> "VmasTeam | VmasFields":
    """B copies as one environment (`vector_envs.contract.BatchedEnv`), of the form that the single one has.

    Args:
        seed: of each copy; the first one seeds all; None: a random one.
        key, time_limit, reward, kwargs: see `Gymma`.
        one: makes the single one.
    """
    single = one()
    try:
        fields, groups = (single.fields(), single.groups) if hasattr(single, "fields") else (None, {})
    finally:
        single.close()
    copies = VmasCopies(batch_size, key, time_limit, kwargs, seed)
    if fields is None:
        return VmasTeam(copies, REWARDS[reward])
    return VmasFields(copies, fields, groups, REWARDS.get(reward))


class VmasCopies:
    """B copies that are stepped together. One whose episode has ended stays as it is for whoever looks, until it is
    reset.

    VMAS draws all copies from one generator of the process, so a copy's episodes are not those that a single one with
    its seed plays; the same seeds and actions give the same ones again.

    Attributes:
        n_agents: n.
        limit: steps of an episode.
        spaces: of each agent's actions.
        seen: float32 `[B, n, longest]`, observations with zeros behind.
        sizes: of each agent's observation.
        ended, truncated: bool `[B]`.
        infos: of each copy, what the scenario said at its episode's end: `<agent>/<key>`, numbers.
    """

    def __init__(
        self, batch_size: int, key: str, time_limit: int, kwargs: dict[str, Any], seed: Sequence[int] | None = None
    ):
        # VMAS is made of tensors; other environments do without
        self._torch = require("torch", f"env_args.key={key}")
        first = None if seed is None or seed[0] is None else int(seed[0]) % 2**31
        # numbers of VMAS's own limit: ours comes first
        self._env = games.vmas_made(key, {"max_steps": time_limit + 1, **kwargs}, num_envs=batch_size, seed=first)
        self.limit, self.n_agents = time_limit, int(self._env.n_agents)
        self.spaces = [self._env.action_space[i] for i in range(self.n_agents)]
        if any(hasattr(space, "spaces") for space in self._env.observation_space):
            raise ConfigError(f"env_args.key={key}: its observations have parts. Use batch_size_run=1.")
        self.sizes = [int(np.prod(space.shape)) for space in self._env.observation_space]
        self.seen = np.zeros((batch_size, self.n_agents, max(self.sizes)), np.float32)
        self.ended, self.truncated = np.zeros((2, batch_size), bool)
        self.infos: list[dict[str, float]] = [{} for _ in range(batch_size)]
        self._steps = np.zeros(batch_size, np.int64)

    def reset(self, which: np.ndarray | None = None) -> None:
        which = np.ones_like(self.ended) if which is None else np.asarray(which, bool)
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
        self.ended[which] = self.truncated[which] = False

    def step(self, actions: Sequence[np.ndarray]) -> np.ndarray:
        """The rewards, float64 `[B, n]`.

        Args:
            actions: of each agent, `[B, numbers]`, as its space has them; copies that have ended may have any.
        """
        playing = ~self.ended
        chosen = [np.where(playing[:, None], one, one.dtype.type(0)) for one in actions]
        seen, rewards, terminated, truncated, infos = self._env.step([self._torch.as_tensor(one) for one in chosen])
        self._steps[playing] += 1
        self._keep(seen, playing)
        over = terminated.numpy() & playing
        cut = playing & ~over & (truncated.numpy() | (self._steps >= self.limit))
        self.ended |= over | cut
        self.truncated |= cut
        for b in np.flatnonzero(over | cut).tolist():
            self.infos[b] = {
                f"{agent.name}/{key}": float(value[b])
                for agent, info in zip(self._env.agents, infos, strict=True)
                for key, value in info.items()
                if value[b].numel() == 1
            }
        return np.stack([reward.numpy().astype(np.float64) for reward in rewards], axis=1)

    def _keep(self, seen: list[Any], which: np.ndarray) -> None:
        for i, (size, one) in enumerate(zip(self.sizes, seen, strict=True)):
            self.seen[which, i, :size] = one.numpy().reshape(len(which), size)[which]


class VmasTeam:
    """A team with one reward and a choice for each agent, as `PettingZooEnv` has it."""

    def __init__(self, copies: VmasCopies, together: Callable[..., Any]):
        self._copies, self._together = copies, together
        self.reset = copies.reset
        self.n_agents, self.episode_limit = copies.n_agents, copies.limit
        self._legal = _legal(copies, max(int(space.n) for space in copies.spaces))

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        copies, chosen = self._copies, np.asarray(actions, np.int64)
        rewards = copies.step([chosen[:, i, None] for i in range(self.n_agents)])
        return self._together(rewards, axis=1), copies.ended, copies.truncated

    def observed(self) -> dict[str, np.ndarray]:
        seen = self._copies.seen
        return {"obs": seen, "state": seen.reshape(len(seen), -1), "avail_actions": self._legal}

    def info(self, b: int) -> dict[str, Any]:
        return {**self._copies.infos[b], "episode_limit": bool(self._copies.truncated[b])}

    def get_env_info(self) -> dict[str, Any]:
        """See `MultiAgentEnv`."""
        _, n, size = self._copies.seen.shape
        sizes = {"state_shape": size * n, "obs_shape": size, "n_actions": self._legal.shape[-1]}
        return {**sizes, "n_agents": n, "episode_limit": self.episode_limit}

    def close(self) -> None:
        """Nothing is held."""


class VmasFields:
    """Any actions, or a reward for each agent, with the fields of the single one.

    Args:
        fields: those of `PettingZooGroups` in one group, or of `RewardsByAgent`.
        together: the agents' rewards as one; None: each has its own.
    """

    def __init__(
        self,
        copies: VmasCopies,
        fields: Mapping[str, FieldSpec],
        groups: Mapping[str, int],
        together: Callable[..., Any] | None,
    ):
        self._copies, self._fields, self._together = copies, dict(fields), together
        self.groups, self.episode_limit, self.reset = dict(groups), copies.limit, copies.reset
        self._paths = [path for path, field in fields.items() if field.kind == "action"]
        self._ends = {end: path for path in fields for end in ("terminated", "truncated") if path.endswith(f"/{end}")}
        n = fields["avail_actions"].shape[0] if "avail_actions" in fields else 0
        self._legal = _legal(copies, n) if n else None

    def fields(self) -> dict[str, FieldSpec]:
        return self._fields

    def step(self, actions: Mapping[str, np.ndarray]) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
        copies, over = self._copies, self._copies.ended.copy()
        rewards = copies.step([self._of_agent(actions, i) for i in range(copies.n_agents)])
        outcomes: dict[str, Any] = {"reward": rewards}
        if self._together is not None:
            outcomes["reward"] = self._together(rewards, axis=1)
        now = copies.ended & ~over
        ends = {"terminated": now & ~copies.truncated, "truncated": now & copies.truncated}
        for end, path in self._ends.items():
            outcomes[path] = np.repeat(ends[end][:, None], copies.n_agents, axis=1)
        return outcomes, copies.ended & ~copies.truncated, copies.truncated

    def _of_agent(self, actions: Mapping[str, np.ndarray], i: int) -> np.ndarray:
        """The numbers `[B, numbers]` of agent i: whole ones of choices, others within their bounds."""
        space = self._copies.spaces[i]
        chosen = np.stack([actions[path][:, i] for path in self._paths], axis=1)
        if self._fields[self._paths[0]].categorical:
            return chosen.astype(np.int64)
        return np.clip(chosen[:, 0], space.low, space.high).astype(np.float32)

    def observed(self) -> dict[str, np.ndarray]:
        copies = self._copies
        values = {"obs": copies.seen, "state": copies.seen.reshape(len(copies.seen), -1)}
        gone = copies.ended & ~copies.truncated
        if "present" in self._fields:
            values["present"] = np.repeat(~gone[:, None], copies.n_agents, axis=1)
        if self._legal is not None:
            # whoever has terminated can only do the first
            first = np.arange(self._legal.shape[-1], dtype=np.uint8) == 0
            values["avail_actions"] = np.where(gone[:, None, None], first, self._legal)
        return values

    def info(self, b: int) -> dict[str, Any]:
        return self._copies.infos[b] if self._copies.ended[b] else {}

    def close(self) -> None:
        """Nothing is held."""


def _legal(copies: VmasCopies, most: int) -> np.ndarray:
    """Every choice that an agent has is legal: uint8 `[B, n, most]`."""
    legal = np.zeros((len(copies.seen), copies.n_agents, most), np.uint8)
    for i, space in enumerate(copies.spaces):
        legal[:, i, : int(space.n)] = 1
    return legal
