"""Where `acting_device: auto` acts when the learner is on a GPU: on the CPU, if a decision is small."""

import logging
from collections.abc import Mapping
from types import SimpleNamespace

from checks.parts import ChosenParts
from controllers.actor_controller import ActorMAC
from controllers.prepared import acts_prepared
from experiment.teams import Member
from modules.agents.iqn_agent import IQNAgent
from utils.tensors.devices import AUTO, CPU

# Agents of all copies up to which the CPU decides for them. On an H200 with 16 cores, deciding for 64 agents on the CPU
# made runs of qmix_fast 1.7 times as fast as on the card, where launches take longer; for 320, ippo was as fast
# either way.
SMALL = 256
# parts that may count on acting and learning being on one device, unless they are Muster's own
TOGETHER = ("runner", "collection", "mac", "agent", "action_selector", "buffer", "learner")


def acting_place(
    args: SimpleNamespace, teams: list[Member], scheme: Mapping[str, dict], console: logging.Logger
) -> str:
    """The device of `acting_device: auto`, which the console is told if the learner is on a GPU.

    Args:
        args: the run's, with the sizes of the environment.
        teams: with their controllers.
        scheme: of the run's batches, derived fields included.
    """
    if args.acting_device != AUTO or args.device == CPU:
        return args.device
    agents = sum(team.args.batch_size_run * sum(team.spec.groups.values()) for team in teams)
    if reason := _reason_to_stay(teams, scheme, agents):
        console.info(f"Acting on {args.device}, too (acting_device=auto): {reason}.")
        return args.device
    console.info(
        f"Acting on the CPU, learning on {args.device} (acting_device=auto): a decision for {agents} agents takes less "
        "time there."
    )
    return CPU


def _reason_to_stay(teams: list[Member], scheme: Mapping[str, dict], agents: int) -> str:
    """Why acting is better off on the learner's device, in words; empty if it is not."""
    if agents > SMALL:
        return f"a decision is for {agents} agents, more than {SMALL}"
    for team in teams:
        for key in TOGETHER:
            entry = ChosenParts(vars(team.args)).entry(key)
            if entry is not None and not entry.declared:
                return f"{key}={vars(team.args)[key]} is your own, and may count on it"
        if isinstance(team.mac, ActorMAC):
            return f"the weights of mac={team.args.mac} change too often to be copied to the CPU"
        if not acts_prepared(team.mac, team.scheme(scheme)):
            return f"mac={team.args.mac} with agent={team.args.agent} has no fast way of acting on the CPU"
        if isinstance(team.mac.agent, IQNAgent) and team.mac.agent.implicit:
            return f"agent={team.args.agent} looks at {team.args.acting_quantiles} fractions for each agent"
    return ""
