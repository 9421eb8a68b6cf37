"""Observations in the forms that callers have them, as the fields of a batch, and actions back in the same form."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.contract.fields import EnvSpec, FieldSpec
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import quoted

# what PettingZoo's environments have in an agent's observation
OBSERVATION, MASK = "observation", "action_mask"
Array = NDArray[Any]


@dataclass
class Form:
    """The form in which observations came.

    Attributes:
        copies: B, of environments.
        actions: brings actions by field, `[B, n, ...]`, into that form.
    """

    copies: int
    actions: Callable[[Mapping[str, Array]], Any]


class Reader:
    """Reads what callers have of an environment's fields.

    Args:
        spec: of the environment.
    """

    def __init__(self, spec: EnvSpec):
        self.spec = spec
        # what networks may look at, but for the state, which is for training only
        seen = {path: field for path, field in spec.of_kind("observation", "mask").items() if path != "state"}
        self._seen = {path: field for path, field in seen.items() if not field.of}
        self._own = [path for path, field in seen.items() if field.kind == "observation" and field.group is not None]
        self._required = [*self._own, *(path for path, field in seen.items() if field.group is None)]
        self._masks = {path: field for path, field in spec.of_kind("mask").items() if field.of}
        self._alone = sum(spec.groups.values()) == 1
        self._agents: list[str] = []  # in the order of the first observations of an episode

    def read(self, obs: Any, legal: Any, copies: int) -> tuple[dict[str, Array], Form]:
        """Every field that a policy may look at, `[B, ...]`, and the form of the actions.

        Args:
            obs, legal: see `muster.policy.Policy.act`.
            copies: of the observations before, 0 at the start.

        Raises:
            ConfigError: a field is missing, unknown, or has another shape.
        """
        if isinstance(obs, Mapping) and not {*obs} & {*self.spec.fields}:
            return self._by_agent(obs, legal, copies)
        given = dict(obs) if isinstance(obs, Mapping) else {self._only(self._own, "obs"): obs}
        if isinstance(legal, Mapping):
            of_actions = {field.of: path for path, field in self._masks.items()}
            given |= {of_actions.get(name, name): mask for name, mask in legal.items()}
        elif legal is not None:
            given[self._only(list(self._masks), "legal")] = legal
        arrays = {path: _numbers(path, value) for path, value in given.items()}
        one = self._is_one(arrays)
        values = {path: self._shaped(path, array, one) for path, array in arrays.items()}
        return self._completed(values, copies), Form(len(next(iter(values.values()))), lambda a: self._as_given(a, one))

    def _only(self, paths: list[str], what: str) -> str:
        if len(paths) != 1:
            raise ConfigError(
                f"act: {what} must be a mapping from names to arrays, as the environment has several: "
                f"{', '.join(paths) or 'none'}."
            )
        return paths[0]

    def _field(self, path: str) -> FieldSpec:
        if path not in self.spec.fields:
            raise ConfigError(f"act: there is no field '{quoted(path)}'.{suggestion(path, self.spec.fields)}")
        return self.spec.fields[path]

    def _shape(self, path: str) -> tuple[int, ...]:
        """Of one environment, as callers have it."""
        self._field(path)
        shape = self.spec.array_shape(path, 1)[1:]
        return shape[1:] if self._alone and self.spec.fields[path].group is not None else shape

    def _is_one(self, arrays: Mapping[str, Array]) -> bool:
        """Whether these are of one environment, without an axis of such."""
        path, array = next(iter(arrays.items()))
        return array.ndim <= len(self._shape(path))

    def _shaped(self, path: str, array: Array, one: bool) -> Array:
        """`[B, n, ...]`."""
        shape = self._shape(path)
        found = array[None] if one else array
        whole = self.spec.array_shape(path, len(found) if found.ndim else 0)
        if self._alone and found.shape == whole:  # with the axis of agents, which it may have
            return found
        if found.shape[1:] != shape:
            shown = ", ".join(map(str, shape))
            raise ConfigError(
                f"act: '{path}' has the shape {array.shape}; it must be ({shown}) of one environment, or (B, {shown}) "
                "of B environments."
            )
        return found.reshape(whole)

    def _completed(self, values: dict[str, Array], copies: int) -> dict[str, Array]:
        """With everything legal where nothing is said, and zeros for what agents do not see."""
        sizes = {len(value) for value in values.values()}
        if len(sizes) > 1:
            raise ConfigError(f"act: the fields are of {' and '.join(map(str, sorted(sizes)))} environments.")
        (size,) = sizes
        if not size:
            raise ConfigError("act: there are observations of no environment.")
        if copies and size != copies:
            raise ConfigError(
                f"act: {size} environments, and the memory is of {copies}. Call reset() where other episodes begin."
            )
        if missing := [path for path in self._required if path not in values]:
            raise ConfigError(f"act: '{missing[0]}' is missing. The policy sees {', '.join(self._required)}.")
        for path in self.spec.of_kind("mask"):
            if path not in values:
                values[path] = np.ones(self.spec.array_shape(path, size), np.uint8)
        return values

    def _as_given(self, actions: Mapping[str, Array], one: bool) -> Any:
        plain = {}
        for path, value in actions.items():
            value = value[:, 0] if self._alone else value
            plain[path] = value[0] if one else value
        return next(iter(plain.values())) if len(plain) == 1 else plain

    def _by_agent(self, obs: Mapping[str, Any], legal: Any, copies: int) -> tuple[dict[str, Array], Form]:
        """Of one environment, by agent; agents that have left see zeros, and their only choice is the first."""
        if copies == 0:
            self._agents = list(obs)
        n_agents = sum(self.spec.groups.values())
        if len(self._agents) != n_agents:
            raise ConfigError(
                f"act: observations of {len(self._agents)} agents at the start of an episode; the policy has "
                f"{n_agents}, and the fields {', '.join(self.spec.fields)}."
            )
        if unknown := [agent for agent in obs if agent not in self._agents]:
            raise ConfigError(f"act: there is no agent '{quoted(unknown[0])}'.{suggestion(unknown[0], self._agents)}")
        if legal is not None and not isinstance(legal, Mapping):
            raise ConfigError("act: observations are by agent, so legal must be a mapping from agents, too.")
        if unknown := [agent for agent in legal or () if agent not in self._agents]:
            raise ConfigError(f"act: legal has no agent '{quoted(unknown[0])}'.{suggestion(unknown[0], self._agents)}")
        values = self._completed(self._of_agents(obs, legal or {}), copies)

        def by_agent(actions: Mapping[str, Array]) -> dict[str, Any]:
            return {agent: self._action_of(agent, actions) for agent in obs}

        return values, Form(1, by_agent)

    def _of_agents(self, obs: Mapping[str, Any], legal: Mapping[str, Any]) -> dict[str, Array]:
        values: dict[str, Array] = {}
        for path, field in {**self._seen, **self._masks}.items():
            rows = np.zeros(self.spec.array_shape(path, 1), field.dtype)
            if field.group is None:
                seen = [self._value(path, agent, obs, legal) for agent in [*obs][:1]]
                values[path] = _numbers(path, seen[0])[None] if seen else rows
                continue
            if path in self._masks:
                rows[..., 0] = 1
            for row, agent in enumerate(self._agents_of(field.group)):
                value = self._value(path, agent, obs, legal)
                if value is None:
                    continue
                value = _numbers(f"{path}' of '{agent}", value)
                if value.shape != rows.shape[2:] and (value.ndim or rows.shape[2:] != (1,)):
                    raise ConfigError(
                        f"act: '{path}' of '{agent}' has the shape {value.shape}; it must be {rows.shape[2:]}."
                    )
                rows[0, row] = value
            values[path] = rows
        return values

    def _value(self, path: str, agent: str, obs: Mapping[str, Any], legal: Mapping[str, Any]) -> Any:
        """What an agent sees of a field; None: it is not there."""
        if agent not in obs:
            return None
        seen = obs[agent]
        parts = seen if isinstance(seen, Mapping) else {OBSERVATION: seen}
        if path in self._masks:
            mask = legal.get(agent, parts.get(MASK))
            mask = mask.get(self._masks[path].of, mask.get(path)) if isinstance(mask, Mapping) else mask
            return np.ones(self.spec.array_shape(path, 1)[2:], np.uint8) if mask is None else mask
        inner = parts.get(OBSERVATION, parts)
        if not isinstance(inner, Mapping):
            return inner
        if path not in inner:
            raise ConfigError(f"act: '{path}' of {agent} is missing; there is {', '.join(inner) or 'nothing'}.")
        return inner[path]

    def _action_of(self, agent: str, actions: Mapping[str, Array]) -> Any:
        own: dict[str, Any] = {}
        for path, value in actions.items():
            group = self._agents_of(str(self.spec.fields[path].group))
            if agent in group:
                own[path] = value[0, group.index(agent)]
        return next(iter(own.values())) if len(own) == 1 else own

    def _agents_of(self, group: str) -> list[str]:
        """By their names, `<group>_<i>`; others stand in the order of the groups."""
        named = [f"{group}_{i}" for i in range(self.spec.groups[group])]
        if {*named} <= {*self._agents}:
            return named
        first = 0
        for name, size in self.spec.groups.items():
            if name == group:
                return self._agents[first : first + size]
            first += size
        return []


def _numbers(path: str, value: Any) -> Array:
    """What a caller has of a field, as an array of numbers; of torch's tensors, too."""
    try:
        array = np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)
    except ValueError:
        raise ConfigError(f"act: the rows of '{path}' have unequal lengths.") from None
    if array.dtype.kind not in "biuf":
        raise ConfigError(f"act: '{path}' must be numbers, found {quoted(repr(value))}.")
    return array
