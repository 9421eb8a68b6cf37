"""Which agents of an environment belong together."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from envs.contract.fields import AGENTS
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import shown

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
            f"env_args.groups is {shown(groups)}; it must be null, {AUTO}, or a mapping of groups to their agents."
        )
    found = {str(name): _members(agents, str(name), members) for name, members in groups.items()}
    for agent in agents:
        homes = [name for name, members in found.items() if agent in members]
        if len(homes) != 1:
            where = f"in the groups {' and '.join(homes)}" if homes else "in no group"
            raise ConfigError(f"env_args.groups: the agent {agent} is {where}; every agent belongs to one.")
    return found


def kind_of(agent: str) -> str:
    """Its name without its number."""
    return NUMBER.sub("", agent) or agent


def _of_kind(agents: Sequence[str], kind: str) -> list[str]:
    return [agent for agent in agents if kind_of(agent) == kind]


def _members(agents: Sequence[str], name: str, members: Any) -> list[str]:
    if not name or "/" in name:
        raise ConfigError(f"env_args.groups: '{shown(name)}' cannot be a group's name: it is empty or has a '/'.")
    if isinstance(members, str):
        chosen = _of_kind(agents, members)
        if not chosen:
            raise ConfigError(
                f"env_args.groups.{name}: no agent is called '{shown(members)}' and a number."
                f"{suggestion(members, {*map(kind_of, agents)})}"
            )
        return chosen
    if not isinstance(members, list) or not members:
        raise ConfigError(f"env_args.groups.{name} is {shown(members)}; it must be a list of agents.")
    for member in members:
        if member not in agents:
            raise ConfigError(
                f"env_args.groups.{name}: there is no agent '{shown(member)}'.{suggestion(member, agents)}"
            )
    return [agent for agent in agents if agent in members]
