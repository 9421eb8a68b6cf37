"""What a data set says of its steps: their fields, as environments declare them, and where they come from."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from math import prod
from typing import Any

import numpy as np

from envs.contract.fields import AGENTS, ENDS, KINDS, EnvSpec, FieldSpec
from utils.errors import ConfigError
from utils.nearest import did_you_mean
from utils.plain_values import quoted

# the array with the number of each step's episode
EPISODE = "episode"
# numbers of one step, of all fields; agents of a group; steps of an episode
LARGEST_STEP, LARGEST_GROUP, LONGEST = 10**8, 10**6, 10**9


@dataclass(frozen=True)
class Description:
    """The fields of a data set.

    Args:
        spec: as of an environment.
        decisions: what came with decisions beside the actions, such as log-probabilities; kind "record".
        env, env_args: the environment; "" if the data do not say.
    """

    spec: EnvSpec
    decisions: Mapping[str, FieldSpec]
    env: str = ""
    env_args: Mapping[str, Any] | None = None

    @property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        """Every array of the data but the episodes' numbers, with its shape at one step."""
        ends = dict.fromkeys(ENDS, (1,))
        return {path: self._shape(one) for path, one in {**self.spec.fields, **self.decisions}.items()} | ends

    def _shape(self, field: FieldSpec) -> tuple[int, ...]:
        agents = () if field.group is None else (self.spec.groups[field.group],)
        return (*agents, *(field.entry_shape or (1,)))

    def as_json(self) -> dict[str, Any]:
        """Plain values, of which `described` makes a description."""
        return {
            "groups": dict(self.spec.groups),
            "episode_limit": self.spec.episode_limit,
            "declared": self.spec.declared,
            "sizes": {key: value for key, value in self.spec.env_info.items() if _is_size(value)},
            "fields": {path: _plain(one) for path, one in self.spec.fields.items()},
            "decisions": {path: _plain(one) for path, one in self.decisions.items()},
        }


def described(
    where: str, said: Mapping[str, Any], env: str = "", env_args: Mapping[str, Any] | None = None
) -> Description:
    """The description that `as_json` gave; `where` names the file in messages.

    Raises:
        ConfigError: something else stands there.
    """
    groups, limit = said.get("groups"), said.get("episode_limit", 0)
    if not isinstance(groups, Mapping) or not all(_is_count(n, LARGEST_GROUP) for n in groups.values()):
        raise ConfigError(f"{where}: groups={quoted(groups)} is not a mapping of names to numbers of agents.")
    if not _is_count(limit, LONGEST):
        raise ConfigError(f"{where}: episode_limit={quoted(limit)} is not a number of steps.")
    own = {}
    for key in ("fields", "decisions"):
        entries = said.get(key)
        if not isinstance(entries, Mapping):
            raise ConfigError(f"{where}: {key}={quoted(entries)} is not a mapping of fields.")
        own[key] = {
            str(path): _field(f"{where}: {key}: {quoted(path)}", entry, groups) for path, entry in entries.items()
        }
    sizes: Any = said.get("sizes")
    plain = sizes.items() if isinstance(sizes, Mapping) else ()
    info = {key: tuple(value) if isinstance(value, list) else value for key, value in plain if _is_size(value)}
    spec = EnvSpec(own["fields"], dict(groups), limit, bool(said.get("declared")), info)
    return bounded(where, Description(spec, own["decisions"], env, env_args))


def bounded(where: str, made: Description) -> Description:
    """Refuse a description of steps larger than any environment's, before anything is allocated.

    Raises:
        ConfigError: names the file, `where`.
    """
    if sum(map(prod, made.arrays.values())) > LARGEST_STEP:
        raise ConfigError(f"{where}: a step has more than {LARGEST_STEP} numbers.")
    return made


def _plain(field: FieldSpec) -> dict[str, Any]:
    """A field without what is usual."""
    usual = asdict(FieldSpec(field.kind))
    return {"kind": field.kind} | {
        key: _finite(value) for key, value in asdict(field).items() if key != "kind" and value != usual[key]
    }


def _field(where: str, entry: Any, groups: Mapping[str, int]) -> FieldSpec:
    if not isinstance(entry, Mapping) or entry.get("kind") not in KINDS:
        raise ConfigError(f"{where}: it needs a kind, one of {', '.join(KINDS)}.")
    known = [one.name for one in fields(FieldSpec)]
    for key in entry:
        if key not in known:
            raise ConfigError(f"{where}: there is no entry {quoted(key)}.{did_you_mean(key, known)}")
    shape, group = entry.get("shape", ()), entry.get("group", AGENTS)
    capacity = entry.get("capacity")
    if not isinstance(shape, list | tuple) or not all(_is_count(size, LARGEST_STEP) for size in shape):
        raise ConfigError(f"{where}: shape={quoted(shape)} is not a list of sizes.")
    if capacity is not None and not _is_count(capacity, LARGEST_STEP):
        raise ConfigError(f"{where}: capacity={quoted(capacity)} is not a number of rows.")
    if group is not None and group not in groups:
        raise ConfigError(f"{where}: group={quoted(group)}: there are {', '.join(map(quoted, groups))}.")
    if entry.get("n") is not None and not _is_count(entry["n"], LARGEST_STEP):
        raise ConfigError(f"{where}: n={quoted(entry['n'])} is not a number of choices.")
    try:
        np.dtype(entry.get("dtype", "float32"))
    except TypeError:
        raise ConfigError(f"{where}: dtype={quoted(entry['dtype'])}: NumPy has no such type.") from None
    read = {key: _numbers(entry[key]) for key in ("low", "high") if key in entry}
    about = entry.get("about", {})
    if not isinstance(about, Mapping) or not isinstance(entry.get("of", ""), str):
        raise ConfigError(f"{where}: about is a mapping, and of a name.")
    return FieldSpec(**{**entry, **read, "shape": tuple(shape), "about": dict(about)})


def _is_count(value: Any, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most


def _is_size(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return bool(value) and all(_is_count(size, LARGEST_STEP) for size in value)
    return _is_count(value, LARGEST_STEP)


def _finite(value: Any) -> Any:
    """JSON has no infinite numbers: "inf" and "-inf"."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _finite(one) for key, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, list | tuple) else value


def _numbers(value: Any) -> Any:
    return (
        tuple(float(one) for one in value)
        if isinstance(value, list | tuple)
        else None
        if value is None
        else float(value)
    )
