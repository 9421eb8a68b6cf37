"""What a simulator's behaviours are as groups of the data model."""

import re
from collections.abc import Iterable

from dots_simulator.groups import GroupSpec
from envs.contract.fields import AGENTS, FieldSpec
from utils.errors import MusterError

CLOSING = "closing"


def group_names(behaviours: Iterable[str]) -> dict[str, str]:
    """A group's name for each behaviour: letters, digits, "_", "-" and "."; a sole one is called "agents". Raises
    MusterError: two have the same."""
    names = {behaviour: re.sub(r"[^A-Za-z0-9._-]", "_", behaviour) for behaviour in behaviours}
    if len(names) == 1:
        return dict.fromkeys(names, AGENTS)
    if len(set(names.values())) < len(names):
        raise MusterError(
            f"The behaviours {', '.join(names)} cannot be told apart as groups: {', '.join(names.values())}."
        )
    return names


class GroupFields:
    """The fields of one group.

    `<prefix>obs`, or `<prefix>obs/0` ... of several; `present`: who asks; `begins`: whose stream begins;
    `closing/obs` ...: what agents saw at their end, of those that ended in the step before; `avail_actions` or
    `avail/<branch>`; `actions`, or `actions/continuous` and `actions/0` ...; `reward`, `terminated`, `truncated` by
    agent.

    Args:
        name: of the group.
        spec: of the behaviour.
        masked: whether the simulator can mark choices that are not available.
    """

    def __init__(self, name: str, spec: GroupSpec, masked: bool):
        self.name, self.spec = name, spec
        self.prefix = prefix = "" if name == AGENTS else f"{name}/"
        several = len(spec.observations) > 1
        self.obs = [f"{prefix}obs/{i}" if several else f"{prefix}obs" for i in range(len(spec.observations))]
        self.closing = [f"{prefix}{CLOSING}/{i}" if several else f"{prefix}{CLOSING}" for i in range(len(self.obs))]
        self.present, self.begins = f"{prefix}present", f"{prefix}begins"
        self.reward, self.terminated, self.truncated = (
            f"{prefix}reward",
            f"{name}/terminated",
            f"{name}/truncated",
        )
        one = len(spec.branches) + (spec.continuous > 0) == 1
        self.floats = (f"{prefix}actions" if one else f"{prefix}actions/continuous") if spec.continuous else None
        self.choices = [f"{prefix}actions" if one else f"{prefix}actions/{i}" for i in range(len(spec.branches))]
        self.masks = [f"{prefix}avail_actions" if one else f"{prefix}avail/{i}" for i in range(len(spec.branches))]
        self.masked = masked

    def fields(self) -> dict[str, FieldSpec]:
        spec, name = self.spec, self.name
        fields = {}
        for path, closing, seen in zip(self.obs, self.closing, spec.observations, strict=True):
            fields[path] = FieldSpec("observation", seen.shape, "float32", name)
            fields[closing] = FieldSpec("record", seen.shape, "float32", name)
        fields[self.present] = FieldSpec("mask", (), "bool", name)
        fields[self.begins] = FieldSpec("record", (), "bool", name)
        for mask, choice, n in zip(self.masks, self.choices, spec.branches, strict=True):
            fields[mask] = FieldSpec("mask", (n,), "uint8", name, of=choice)
        if self.floats:
            fields[self.floats] = FieldSpec("action", (spec.continuous,), "float32", name, low=-1.0, high=1.0)
        for choice, n in zip(self.choices, spec.branches, strict=True):
            fields[choice] = FieldSpec("action", (), "int64", name, n=n)
        fields[self.reward] = FieldSpec("outcome", (), "float64", name)
        return fields | {end: FieldSpec("outcome", (), "bool", name) for end in (self.terminated, self.truncated)}
