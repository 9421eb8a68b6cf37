"""PettingZoo environments with any actions, in groups of agents that are alike."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from envs.contract.fields import AGENTS, FieldSpec
from envs.pettingzoo import games
from envs.pettingzoo.agent import Agent
from envs.pettingzoo.game import OWN, ParallelGame, Step
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import quoted

EACH = "each"
# what agents of a group have in common
SAME = ("observations", "actions")


class UnlikeAgentsError(ConfigError):
    """The agents of a group see or do different things."""


class PettingZooGroups(ParallelGame):
    """Any `parallel_env`, with the agents' spaces as fields: `<group>/obs`, `<group>/actions`, `<group>/reward`.

    A sole group is called "agents", and its paths have no prefix; vectors that its agents see are padded with zeros to
    the longest. See `envs.contract.spaces` for fields of spaces. One choice has `<group>/avail_actions`, from an
    `action_mask` in the observation or the info if there is one; branches have `<group>/avail/<k>` if there is. Agents
    whose own end was before are not `<group>/present`, see zeros and can only do action 0; the ends are
    `<group>/terminated` and `<group>/truncated`. `state` is the environment's own, or all observations side by side.

    Args:
        key, time_limit, kwargs, seed, state: see `PettingZooEnv`.
        reward: "sum" or "mean" of a group's rewards, or "each" for a reward for each agent.
        groups: see `groups.grouped`.

    Raises:
        ConfigError: as `PettingZooEnv`; agents of one group differ; or unknown agents.
    """

    def __init__(
        self,
        key: str,
        time_limit: int,
        kwargs: dict | None,
        reward: str,
        groups: Any,
        seed: int | None,
        state: str = OWN,
    ):
        games.require_arguments(key, time_limit, kwargs)
        super().__init__(games.made(key, time_limit, kwargs), key, time_limit, seed, state)
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
        players = {agent: self.player(agent, prefix) for agent in agents}
        self.players |= players
        first = agents[0]
        # one team of all agents may be padded, as `PettingZooEnv` is, which takes those with one choice each
        padded = alone and _are_vectors(players.values(), f"{prefix}obs") and not _has_one_choice(players[first])
        same = SAME[1:] if padded else SAME
        for agent in agents[1:]:
            if any(getattr(players[agent], part) != getattr(players[first], part) for part in same):
                raise UnlikeAgentsError(
                    f"env_args.key={key}: {first} and {agent} differ in what they see or do, so they are no group. Set "
                    "env_args.groups=auto, or a group for each kind of agents (--env-config=pettingzoo)."
                )
        return _Group(name, prefix, players)

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
        self._keep(step.obs, step.infos, step.able)
        outcomes = {path: value for group in self._groups for path, value in self._outcomes(group, step).items()}
        return outcomes, step.ended and not step.truncated, step.truncated, self.info_of(step)

    def _outcomes(self, group: "_Group", step: Step) -> dict[str, Any]:
        rewards = np.array([step.rewards.get(agent, 0.0) for agent in group.agents], dtype=np.float64)
        terminated = np.array([bool(step.terminations.get(agent, False)) for agent in group.agents])
        truncated = np.array([agent in step.cut for agent in group.agents])
        reward = rewards if self._reward == EACH else self.together(rewards, self._reward)
        ends = {group.end("terminated"): terminated, group.end("truncated"): truncated}
        return {f"{group.prefix}reward": reward, **ends}

    def _keep(self, obs: dict, infos: dict, able: list[str]) -> None:
        observed = {agent: self.seen_by(agent, obs, infos, able) for agent in self.players}
        self._seen = {path: x for group in self._groups for path, x in group.seen(observed, able).items()}
        state = self.global_state()
        if state is None:
            paths = [path for group in self._groups for path in group.observations]
            state = np.concatenate([np.ravel(self._seen[path]) for path in paths])
        self._seen["state"] = np.asarray(state, dtype=np.float32).reshape(-1)


class _Group:
    """Agents that are alike."""

    def __init__(self, name: str, prefix: str, players: dict[str, Agent]):
        self.name, self.prefix, self.agents, self._players = name, prefix, list(players), players
        first = players[self.agents[0]]
        self.observations = {path: replace(field, group=name) for path, field in first.observations.items()}
        # shorter vectors have zeros behind
        for path, field in self.observations.items():
            kinds = {player.observations[path] for player in players.values()}
            if len(kinds) > 1:
                longest = max(kind.shape for kind in kinds)
                self.observations[path] = replace(field, shape=longest, dtype="float32", low=None, high=None)
        self._actions = {path: replace(field, group=name) for path, field in first.actions.items()}
        self._masks = {path: replace(field, group=name) for path, field in first.legal.fields().items()}

    @property
    def masks(self) -> dict[str, FieldSpec]:
        one = f"{self.prefix}avail_actions" in self._masks
        return self._masks if one or any(player.legal.offered for player in self._players.values()) else {}

    def end(self, kind: str) -> str:
        return f"{self.name}/{kind}"

    def fields(self, rewards_by_agent: bool) -> dict[str, FieldSpec]:
        fields = {**self.observations, f"{self.prefix}present": FieldSpec("mask", (), "bool", self.name)}
        fields |= self.masks | self._actions
        rewarded = self.name if rewards_by_agent else None
        fields[f"{self.prefix}reward"] = FieldSpec("outcome", (), "float64", rewarded)
        return fields | {
            self.end(kind): FieldSpec("outcome", (), "bool", self.name) for kind in ("terminated", "truncated")
        }

    def actions(self, chosen: Mapping[str, np.ndarray]) -> dict[str, Any]:
        return {agent: player.act(chosen, i) for i, (agent, player) in enumerate(self._players.items())}

    def seen(self, observed: Mapping[str, tuple[dict | None, dict]], able: list[str]) -> dict[str, np.ndarray]:
        """Values of the observations and masks.

        Args:
            observed: by agent, as `ParallelGame.seen_by` returns it.
        """
        fields = self.observations | self.masks
        values = {path: np.zeros((len(self.agents), *field.shape), field.dtype) for path, field in fields.items()}
        for i, agent in enumerate(self.agents):
            observations, legal = observed[agent]
            for path, value in {**(observations or {}), **legal}.items():
                if path in values:
                    place: Any = (i, *map(slice, np.shape(value)))
                    values[path][place] = value
        values[f"{self.prefix}present"] = np.array([agent in able for agent in self.agents])
        return values


def _are_vectors(players: Iterable[Agent], path: str) -> bool:
    """Whether all that each sees is one vector of numbers."""
    return all([*one.observations] == [path] and len(one.observations[path].shape) == 1 for one in players)


def _has_one_choice(player: Agent) -> bool:
    return len(player.actions) == 1 and next(iter(player.actions.values())).categorical


AUTO = "auto"
NUMBER = re.compile(r"_?\d+$")


def grouped(agents: Sequence[str], groups: Any) -> dict[str, list[str]]:
    """The agents of each group, in the order of `agents`.

    Args:
        agents: all names.
        groups: None: one group. "auto": a group for each name without its number, as `adversary` of `adversary_0` and
            `adversary_1`. Or by the group's name, a list of agents or one such name without number.

    Raises:
        ConfigError: an unknown agent, an agent in no group or in two, or an invalid name.
    """
    if groups is None:
        return {AGENTS: list(agents)}
    if groups == AUTO:
        kinds = list(dict.fromkeys(map(kind_of, agents)))
        return {kind: _of_kind(agents, kind) for kind in kinds} if len(kinds) > 1 else {AGENTS: list(agents)}
    if not isinstance(groups, Mapping) or not groups:
        raise ConfigError(
            f"env_args.groups is {quoted(groups)}; it must be null, {AUTO}, or a mapping of groups to their agents."
        )
    found = {str(name): _members(agents, str(name), members) for name, members in groups.items()}
    for agent in agents:
        homes = [name for name, members in found.items() if agent in members]
        if len(homes) != 1:
            where = f"in the groups {' and '.join(homes)}" if homes else "in no group"
            raise ConfigError(f"env_args.groups: the agent {agent} is {where}; every agent belongs to one.")
    return found


def kind_of(agent: str) -> str:
    return NUMBER.sub("", agent) or agent


def _of_kind(agents: Sequence[str], kind: str) -> list[str]:
    return [agent for agent in agents if kind_of(agent) == kind]


def _members(agents: Sequence[str], name: str, members: Any) -> list[str]:
    if not name or "/" in name:
        raise ConfigError(f"env_args.groups: '{quoted(name)}' cannot be a group's name: it is empty or has a '/'.")
    if isinstance(members, str):
        chosen = _of_kind(agents, members)
        if not chosen:
            raise ConfigError(
                f"env_args.groups.{name}: no agent is called '{quoted(members)}' and a number."
                f"{suggestion(members, {*map(kind_of, agents)})}"
            )
        return chosen
    if not isinstance(members, list) or not members:
        raise ConfigError(f"env_args.groups.{name} is {quoted(members)}; it must be a list of agents.")
    for member in members:
        if member not in agents:
            raise ConfigError(
                f"env_args.groups.{name}: there is no agent '{quoted(member)}'.{suggestion(member, agents)}"
            )
    return [agent for agent in agents if agent in members]
