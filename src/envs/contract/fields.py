"""The fields of every step of an environment, declared once: scheme, buffers and checks follow from them.

Environments written for PyMARL declare nothing and have the fields of `pymarl_spec`. Any other one offers

    groups: dict[str, int]                  its groups of agents and their sizes
    episode_limit: int
    fields() -> dict[str, FieldSpec]        by path, such as "obs/camera" or "red/obs"
    reset()
    observe() -> dict[str, array]           every observation, mask and record, of all agents of its group
    step(actions: dict[str, array]) -> (outcomes: dict[str, array], terminated: bool, truncated: bool, info: dict)

Its ends are disjoint: `terminated` because of what happened, `truncated` because time was up.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

# an observation is what networks see, a mask what is allowed or there, a record what is kept beside them and no network
# sees, an action what agents do, an outcome what a step returns
KINDS = ("observation", "mask", "record", "action", "outcome")
OBSERVED = ("observation", "mask", "record")  # the kinds that `observe` returns
# every step of every environment has these besides
ENDS = ("terminated", "truncated")
AGENTS = "agents"
# a record of agents, whether they may explore; where it is False, controllers of values are greedy
EXPLORES = "explores"
# one for all numbers of an entry, or one for each in C order, or None
Bound = float | tuple[float, ...] | None


@dataclass(frozen=True)
class FieldSpec:
    """One field of an environment: an array with an entry for the environment, or one for each agent of a group.

    Args:
        kind: one of `KINDS`.
        shape: of one entry; () is one number.
        dtype: NumPy's name: float32, float64, uint8, int64, bool ...
        group: of the agents that have an entry each; None: the environment has one.
        n: of a categorical action, the number of choices 0 .. n - 1; a continuous action has none.
        low, high: bounds of a continuous action or of an observation, if there are; infinite where a number has none.
        capacity: of a ragged field, the most rows of `shape` that an entry has; their number is the field
            `<path>/count`. None: an entry is one array of `shape`.
        of: of a mask, the path of the categorical action whose legal choices it marks.
        storage: torch's name of a smaller type in which replay buffers keep it; "": as it is.
        about: what parts that know such an environment need beside, in plain values: the names of features, say; and
            `categories`, how many of each kind the last axis of an observation of whole numbers has: networks see them
            one-hot.
    """

    kind: str
    shape: tuple[int, ...] = ()
    dtype: str = "float32"
    group: str | None = AGENTS
    n: int | None = None
    low: Bound = None
    high: Bound = None
    capacity: int | None = None
    of: str = ""
    storage: str = ""
    about: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def entry_shape(self) -> tuple[int, ...]:
        """Shape of one entry as it is stored."""
        return self.shape if self.capacity is None else (self.capacity, *self.shape)

    @property
    def categorical(self) -> bool:
        return self.kind == "action" and self.n is not None

    def bounds(self, lowest: float, highest: float, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
        """Both bounds, each of `shape` or one number; `lowest` and `highest` where there is none."""
        low: Any = lowest if self.low is None else self.low
        high: Any = highest if self.high is None else self.high
        return (
            np.reshape(low, self.shape if np.ndim(low) else ()).astype(dtype),
            np.reshape(high, self.shape if np.ndim(high) else ()).astype(dtype),
        )


@dataclass(frozen=True)
class EnvSpec:
    """Everything that an environment declares.

    Args:
        fields: by path; of a ragged field also its count.
        groups: names of groups of agents and their sizes.
        episode_limit: the most steps of an episode.
        declared: whether the environment has the methods above; else it is PyMARL's `MultiAgentEnv`.
        env_info: what `get_env_info()` returned or would return.
    """

    fields: Mapping[str, FieldSpec]
    groups: Mapping[str, int]
    episode_limit: int
    declared: bool = False
    env_info: Mapping[str, Any] = field(default_factory=dict)

    def of_kind(self, *kinds: str) -> dict[str, FieldSpec]:
        """The fields of these kinds, in the order of their declaration."""
        return {path: spec for path, spec in self.fields.items() if spec.kind in kinds}

    def array_shape(self, path: str, environments: int) -> tuple[int, ...]:
        """Shape of the array of a field for a number of environments."""
        spec = self.fields[path]
        agents = () if spec.group is None else (self.groups[spec.group],)
        return (environments, *agents, *spec.entry_shape)

    def layout(self, environments: int) -> dict[str, tuple[tuple[int, ...], np.dtype]]:
        """Shape and dtype of every array of one step for a number of environments, the two ends included."""
        arrays = {
            path: (self.array_shape(path, environments), np.dtype(spec.dtype)) for path, spec in self.fields.items()
        }
        return arrays | {end: ((environments,), np.dtype(bool)) for end in ENDS}

    def nbytes(self, environments: int) -> int:
        return sum(prod(shape) * dtype.itemsize for shape, dtype in self.layout(environments).values())

    @cached_property
    def _numbers(self) -> dict[str, bool]:
        """Of each action, whether it is one number for each agent."""
        return {path: not spec.shape for path, spec in self.of_kind("action").items()}

    @cached_property
    def _limits(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """The bounds of continuous actions, each of the shape of one action, or one number."""
        return {
            path: spec.bounds(-np.inf, np.inf, np.float32)
            for path, spec in self.of_kind("action").items()
            if not spec.categorical and (spec.low, spec.high) != (None, None)
        }

    def actions_of(self, decisions: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The actions among a controller's decisions, in which each has a last axis, in the shapes declared here.

        Continuous ones beyond their bounds are clipped.
        """
        actions = {
            path: decisions[path][..., 0] if number else decisions[path] for path, number in self._numbers.items()
        }
        for path, (low, high) in self._limits.items():
            actions[path] = np.clip(actions[path], low, high)
        return actions

    def rewards(self) -> list[str]:
        """The outcomes that are rewards: "reward", or those of groups, such as "red/reward"."""
        return [path for path in self.of_kind("outcome") if path.rsplit("/", 1)[-1] == "reward"]


def pymarl_spec(env_info: Mapping[str, Any]) -> EnvSpec:
    """The fields of an environment that announces these sizes: obs, state, avail_actions, actions, reward."""
    n_actions = int(env_info["n_actions"])
    fields = {
        "obs": FieldSpec("observation", vshape(env_info["obs_shape"])),
        "state": FieldSpec("observation", vshape(env_info["state_shape"]), group=None),
        "avail_actions": FieldSpec("mask", (n_actions,), "uint8", of="actions"),
        "actions": FieldSpec("action", (), "int64", n=n_actions),
        "reward": FieldSpec("outcome", (), "float64", group=None),
    }
    groups = {AGENTS: int(env_info["n_agents"])}
    return EnvSpec(fields, groups, int(env_info.get("episode_limit", 0)), env_info=env_info)


def declared_spec(env: Any) -> EnvSpec:
    """The declaration of an environment with `fields()`, with counts of ragged fields added."""
    fields: dict[str, FieldSpec] = {}
    for path, spec in env.fields().items():
        fields[path] = spec
        if spec.capacity is not None:
            fields[count_of(path)] = FieldSpec(spec.kind, (), "int64", spec.group)
    return with_env_info(EnvSpec(fields, dict(env.groups), int(env.episode_limit), declared=True))


def count_of(path: str) -> str:
    """The field with the number of rows that a ragged field has."""
    return f"{path}/count"


def vshape(shape: int | tuple[int, ...] | list[int]) -> tuple[int, ...]:
    """A size of PyMARL's, which is a number or a shape, as a shape."""
    return tuple(int(size) for size in shape) if isinstance(shape, tuple | list) else (int(shape),)


def with_env_info(spec: EnvSpec) -> EnvSpec:
    """The same with PyMARL's sizes, as far as they have an honest answer; parts that need another cannot be used."""
    info: dict[str, Any] = {"n_agents": sum(spec.groups.values()), "episode_limit": spec.episode_limit}
    actions = list(spec.of_kind("action").values())
    if len(actions) == 1 and actions[0].categorical:
        info["n_actions"] = actions[0].n
    for key, path in (("obs_shape", "obs"), ("state_shape", "state")):
        if path in spec.fields:
            shape = spec.fields[path].entry_shape
            info[key] = shape[0] if len(shape) == 1 else shape
    return replace(spec, env_info=info)
