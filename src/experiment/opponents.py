"""The opponents of a run's teams (the key `opponents`)."""

from types import SimpleNamespace
from typing import Any

from collection.contract import Opponents
from collection.opponents import REGISTRY
from experiment.teams import Member
from records.logger import Logger
from runners.contract import Runner
from utils.errors import ConfigError


def opponents_of(
    args: SimpleNamespace, members: list[Member], mac: Any, acting_mac: Any, runner: Runner, logger: Logger
) -> Opponents | None:
    """The part that `args.opponents` names; None if the newest models play all groups.

    Raises:
        ConfigError: there are no opposed groups, or the runner cannot play them.
    """
    learning = {member.name: member.view.groups for member in members if not member.frozen and member.view is not None}
    if REGISTRY.entry(args.opponents).traits.get("needs_opposed"):
        if not runner.plays_matches or runner.spec is None:
            raise ConfigError(
                f"opponents={args.opponents} does not go with runner={args.runner}, which is not built in."
            )
        groups = [group for groups in learning.values() for group in groups]
        _require_opposed(args, members, groups, runner.spec.rewards())
    more = []
    if REGISTRY.entry(args.opponents).traits.get("needs_learners"):
        more.append({member.name: member.learner for member in members if member.name in learning})
    chosen = REGISTRY[args.opponents](args, mac, acting_mac, learning, logger, *more)
    runner.on_whole_episode = getattr(chosen, "take_episode", None)
    return chosen


def _require_opposed(args: SimpleNamespace, members: list[Member], groups: list[str], rewards: list[str]) -> None:
    if len(groups) < 2:
        idle = [f"the team {member.name} is frozen" for member in members if member.frozen]
        found = ", and ".join([f"there is {groups[0]} only" if groups else f"env={args.env} has one group", *idle])
        raise ConfigError(f"opponents={args.opponents} needs two groups or more that learn; {found}.")
    if shared := [group for group in groups if f"{group}/reward" not in rewards]:
        raise ConfigError(
            f"opponents={args.opponents} needs a reward of each group, and env={args.env} has none of {shared[0]}: its "
            f"rewards are {', '.join(rewards)}."
        )
