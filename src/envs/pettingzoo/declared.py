"""PettingZoo environments with any actions, in groups of agents that are alike."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from envs.fields import AGENTS, FieldSpec
from envs.pettingzoo import modules
from envs.pettingzoo.game import ParallelGame, Step, plain_observation
from envs.pettingzoo.groups import grouped
from envs.pettingzoo.team import REWARDS
from envs.space_values import acted, observed
from utils.errors import ConfigError

EACH = "each"


class PettingZooGroups(ParallelGame):
    """Any `parallel_env`, with the agents' spaces as fields: `<group>/obs`, `<group>/actions`, `<group>/reward`.

    A sole group is called "agents", and its paths have no prefix. `envs.space_values` has the fields of spaces. One
    choice has `<group>/avail_actions`, from an `action_mask` in the observation or the info if there is one. Agents
    that have died are not `<group>/present`, see zeros and can only do action 0, which is not passed on; their ends
    are `<group>/terminated` and `<group>/truncated`. `state` is the environment's own, or all observations side by
    side.

    Args:
        key, time_limit, kwargs, seed: see `PettingZooEnv`.
        reward: "sum" or "mean" of a group's rewards, or "each" for a reward for each agent.
        groups: see `groups.grouped`.

    Raises:
        ConfigError: as `PettingZooEnv`; agents of one group differ; or unknown agents.
    """

    def __init__(self, key: str, time_limit: int, kwargs: dict | None, reward: str, groups: Any, seed: int | None):
        modules.require_arguments(key, time_limit, kwargs)
        super().__init__(modules.made(key, time_limit, kwargs), time_limit, seed)
        members = grouped(self._agents, groups)
        self.groups = {name: len(agents) for name, agents in members.items()}
        self._reward = reward
        self._groups = [
            self._group(key, name, agents, alone=list(members) == [AGENTS]) for name, agents in members.items()
        ]
        self.reset()
        self._state_size = self._seen["state"].size
        self.forget_episode(seed)

    def _group(self, key: str, name: str, agents: list[str], alone: bool) -> "_Group":
        prefix = "" if alone else f"{name}/"
        parts = {
            agent: (
                observed(f"{prefix}obs", self.plain_space(agent)),
                acted(f"{prefix}actions", self._env.action_space(agent)),
            )
            for agent in agents
        }
        first = agents[0]
        for agent in agents[1:]:
            if [fields for fields, _ in parts[agent]] != [fields for fields, _ in parts[first]]:
                raise ConfigError(
                    f"env_args.key={key}: {first} and {agent} differ in what they see or do, so they are no group. Set "
                    "env_args.groups=auto, or a group for each kind of agents."
                )
        return _Group(name, prefix, agents, parts)

    def fields(self) -> dict[str, FieldSpec]:
        fields = {path: field for group in self._groups for path, field in group.fields(self._reward == EACH).items()}
        return fields | {"state": FieldSpec("observation", (self._state_size,), group=None)}

    def reset(self) -> None:
        obs, infos = self.begin()
        self._keep(obs, infos, self._env.agents)

    def observe(self) -> dict[str, np.ndarray]:
        return self._seen

    def step(self, actions: Mapping[str, np.ndarray]) -> tuple[dict[str, Any], bool, bool, dict[str, Any]]:
        step = self.play({agent: act for group in self._groups for agent, act in group.actions(actions).items()})
        self._keep(step.obs, step.infos, self.able(step))
        outcomes = {path: value for group in self._groups for path, value in self._outcomes(group, step).items()}
        return outcomes, step.ended and not step.truncated, step.truncated, {}

    def _outcomes(self, group: "_Group", step: Step) -> dict[str, Any]:
        rewards = np.array([step.rewards.get(agent, 0.0) for agent in group.agents], dtype=np.float64)
        terminated = np.array([bool(step.terminations.get(agent, False)) for agent in group.agents])
        truncated = np.array([agent in step.cut for agent in group.agents])
        reward = rewards if self._reward == EACH else REWARDS[self._reward](rewards)
        ends = {group.end("terminated"): terminated, group.end("truncated"): truncated}
        return {f"{group.prefix}reward": reward, **ends}

    def _keep(self, obs: dict, infos: dict, able: list[str]) -> None:
        self._seen = {path: x for group in self._groups for path, x in group.seen(obs, infos, able).items()}
        state = self.own_state()
        if state is None:
            paths = [path for group in self._groups for path in group.observations]
            state = np.concatenate([np.ravel(self._seen[path]) for path in paths])
        self._seen["state"] = np.asarray(state, dtype=np.float32).reshape(-1)


class _Group:
    """Agents that are alike.

    Args:
        parts: for each agent, what `observed` and `acted` return for its spaces.
    """

    def __init__(self, name: str, prefix: str, agents: list[str], parts: dict[str, tuple]):
        self.name, self.prefix, self.agents = name, prefix, agents
        (observations, _), (actions, _) = parts[agents[0]]
        self.observations = {path: replace(field, group=name) for path, field in observations.items()}
        self._actions = {path: replace(field, group=name) for path, field in actions.items()}
        self._show = {agent: show for agent, ((_, show), _) in parts.items()}
        self._act = {agent: act for agent, (_, (_, act)) in parts.items()}
        one = next(iter(self._actions.values()))
        # of several branches, no mask says which are legal
        self._choices = one.n if list(self._actions) == [f"{prefix}actions"] else None

    def end(self, kind: str) -> str:
        """The path of the agents' own ends."""
        return f"{self.name}/{kind}"

    def fields(self, rewards_by_agent: bool) -> dict[str, FieldSpec]:
        fields = {**self.observations, f"{self.prefix}present": FieldSpec("mask", (), "bool", self.name)}
        if self._choices:
            of = f"{self.prefix}actions"
            fields[f"{self.prefix}avail_actions"] = FieldSpec("mask", (self._choices,), "uint8", self.name, of=of)
        fields |= self._actions
        rewarded = self.name if rewards_by_agent else None
        fields[f"{self.prefix}reward"] = FieldSpec("outcome", (), "float64", rewarded)
        return fields | {
            self.end(kind): FieldSpec("outcome", (), "bool", self.name) for kind in ("terminated", "truncated")
        }

    def actions(self, chosen: Mapping[str, np.ndarray]) -> dict[str, Any]:
        return {agent: self._act[agent](chosen, i) for i, agent in enumerate(self.agents)}

    def seen(self, obs: dict, infos: dict, able: list[str]) -> dict[str, np.ndarray]:
        """Values of the observations and masks."""
        n = len(self.agents)
        values = {path: np.zeros((n, *field.shape), field.dtype) for path, field in self.observations.items()}
        legal = np.zeros((n, self._choices or 1), dtype=np.uint8)
        for i, agent in enumerate(self.agents):
            seen, mask = plain_observation(obs.get(agent), infos.get(agent, {}))
            if seen is not None:
                for path, value in self._show[agent](seen).items():
                    values[path][i] = value
            if agent not in able:
                legal[i, 0] = 1
            else:
                legal[i] = 1 if mask is None else np.asarray(mask) != 0
        values[f"{self.prefix}present"] = np.array([agent in able for agent in self.agents])
        if self._choices:
            values[f"{self.prefix}avail_actions"] = legal
        return values
