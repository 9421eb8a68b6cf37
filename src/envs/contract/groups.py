"""Groups of agents: what a team sees that controls some of them, and groups whose agents are streams.

A path that starts with the name of a group belongs to that group: `red/obs`, `red/reward`. Any other one, `state`, is
common to all. A team knows its own fields without the group's name, and its agents as "agents": `obs`, `reward`, and
of ends by agent `agents/terminated`.

Agents that are streams ask when they like, end by themselves, and may begin again at once. Their group declares, beside
`present` (who asks now), a record `begins` (whose stream begins now), a record `closing...` for each observation
`obs...` (what agents saw at their end, of those that ended in the step before), and the outcomes `terminated` and
`truncated` by agent. A reward comes with the step in which it is known.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

from envs.contract.fields import AGENTS, ENDS, EnvSpec, FieldSpec, with_env_info
from utils.errors import ConfigError


def owner(path: str, groups: Collection[str]) -> str | None:
    """The group whose field it is; None: all of them."""
    head, slash, _ = path.partition("/")
    return head if slash and head in groups else None


def own_path(path: str, group: str | None) -> str:
    """The field's name for the team of its group."""
    if group is None:
        return path
    rest = path.removeprefix(f"{group}/")
    return f"{AGENTS}/{rest}" if rest in ENDS else rest


def has_teams(spec: EnvSpec) -> bool:
    """Whether the environment's agents are other than the one group of PyMARL's environments."""
    return list(spec.groups) != [AGENTS]


def team_spec(spec: EnvSpec, groups: Sequence[str]) -> EnvSpec:
    """The part of an environment that the team of these groups sees.

    One controller acts for several groups, each like a single one: all must have the same size and the same fields.

    Raises:
        ConfigError: they differ.
    """
    first, *others = (_own_fields(spec, group) for group in groups)
    for group, fields in zip(groups[1:], others, strict=True):
        if fields != first or spec.groups[group] != spec.groups[groups[0]]:
            raise ConfigError(
                f"The groups {groups[0]} and {group} differ in {_difference(spec, groups[0], group)}: one team "
                "cannot control both. Give each its own team with the key teams."
            )
    return with_env_info(EnvSpec(first, {AGENTS: spec.groups[groups[0]]}, spec.episode_limit, declared=True))


def _own_fields(spec: EnvSpec, group: str) -> dict[str, FieldSpec]:
    fields = {}
    for path, field in spec.fields.items():
        whose = owner(path, spec.groups)
        if whose not in (None, group):
            continue
        mask_of = own_path(field.of, owner(field.of, spec.groups)) if field.of else ""
        agents = None if field.group is None else AGENTS
        fields[own_path(path, whose)] = replace(field, group=agents, of=mask_of)
    return fields


def _difference(spec: EnvSpec, one: str, other: str) -> str:
    if spec.groups[one] != spec.groups[other]:
        return f"size ({spec.groups[one]} and {spec.groups[other]} agents)"
    mine, theirs = _own_fields(spec, one), _own_fields(spec, other)
    return "the field " + next(path for path in {**mine, **theirs} if mine.get(path) != theirs.get(path))


BEGINS, CLOSING, OBS, PRESENT = "begins", "closing", "obs", "present"


class StreamGroup(NamedTuple):
    """The paths of a group of streams.

    Args:
        name: of the group.
        prefix: of its fields.
        closings: by the observation.
    """

    name: str
    prefix: str
    closings: dict[str, str]


def stream_groups(spec: EnvSpec) -> list[StreamGroup]:
    found = []
    for name in spec.groups:
        prefix = f"{name}/" if f"{name}/{PRESENT}" in spec.fields else ""
        if f"{prefix}{BEGINS}" not in spec.fields:
            continue
        observations = [
            path for path, field in spec.of_kind("observation").items() if path.startswith(f"{prefix}{OBS}")
        ]
        closings = {path: f"{prefix}{CLOSING}{path.removeprefix(prefix + OBS)}" for path in observations}
        found.append(StreamGroup(name, prefix, closings))
    return found
