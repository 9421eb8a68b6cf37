"""One copy of an environment of several agents as PettingZoo's `ParallelEnv`."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from envs.contract.fields import AGENTS, FieldSpec
from envs.contract.groups import own_path
from muster.copies import METADATA, Made, action_space_of, box, only, space_of
from muster.inputs import action_of
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import quoted

OBSERVATION, MASK = "observation", "action_mask"
OF_AGENTS: dict[str, Any] = {**METADATA, "name": "muster", "is_parallelizable": True}


class MadeParallelEnv(Made, ParallelEnv[str, Any, Any]):
    """All agents act at once, and the episode ends for all of them together.

    An observation is {"observation": array of the field's shape, or a dictionary of such by field, "action_mask": int8
    `[A]`, or by choice}. Agents are called `agent_<i>`, and of several groups `<group>_<i>`. Rewards are the team's, or
    each agent's own where the environment has such.
    """

    metadata = OF_AGENTS

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self._places: dict[str, tuple[str, int]] = {
            f"{'agent' if group == AGENTS else group}_{i}": (group, i)
            for group, size in self.env_spec.groups.items()
            for i in range(size)
        }
        self.possible_agents = list(self._places)
        self.agents: list[str] = []
        made = {
            group: (self._observations_of(group), action_space_of(self._of(group, self.actions)))
            for group in self.env_spec.groups
        }
        self.observation_spaces = {agent: made[group][0] for agent, (group, _) in self._places.items()}
        self.action_spaces = {agent: made[group][1] for agent, (group, _) in self._places.items()}

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The space of an agent's observations; the same object at every call."""
        return self.observation_spaces[self._known(agent)]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The space of an agent's actions; the same object at every call."""
        return self.action_spaces[self._known(agent)]

    @cached_property
    def state_space(self) -> spaces.Box:
        """Of `state()`."""
        return box(self._state_field())

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode; with a seed, the first one of that seed."""
        self.begin(seed)
        self.agents = list(self.possible_agents)
        return self._observations(), {agent: {} for agent in self.agents}

    def step(self, actions: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
        """All agents act: observations, rewards, terminations, truncations and infos by agent.

        Raises:
            ConfigError: an agent has no action, or with `illegal_actions="error"` an illegal one.
        """
        if missing := [agent for agent in self.agents if agent not in actions]:
            raise ConfigError(f"step: no action was given for {', '.join(missing)}.")
        if not self.agents:  # as after an episode's end
            return {}, {}, {}, {}, {}
        values, terminated, truncated = self.play(self._joined(actions))
        ended = bool(terminated[0]), bool(truncated[0])
        info = self._copies.info(0) if any(ended) else {}
        acted, observations = self.agents, self._observations()
        self.agents = [] if any(ended) else acted
        return (
            observations,
            {agent: self._reward(agent, values) for agent in acted},
            dict.fromkeys(acted, ended[0]),
            dict.fromkeys(acted, ended[1]),
            {agent: dict(info) for agent in acted},
        )

    def state(self) -> NDArray[Any]:
        """The global state.

        Raises:
            ConfigError: the environment has none.
        """
        self._state_field()
        return np.array(self._copies.observed()["state"][0])

    def render(self) -> Any:
        """A picture, uint8 `[height, width, 3]`, if `render_mode` asks for it."""
        return self.picture()

    def close(self) -> None:  # type: ignore[override] # PettingZoo's takes no arguments
        """Free the environment's resources."""
        super().close()

    def _of(self, group: str, fields: Mapping[str, FieldSpec]) -> dict[str, FieldSpec]:
        """The fields of a group, and those of the environment as a whole."""
        return {path: field for path, field in fields.items() if field.group in (group, None)}

    def _masks_of(self, group: str) -> dict[str, str]:
        return {path: mask for path, mask in self.masks.items() if self.env_spec.fields[mask].group == group}

    def _observations_of(self, group: str) -> spaces.Dict:
        masks: dict[str, spaces.Space[Any]] = {
            path: spaces.MultiBinary(self.env_spec.fields[mask].shape[0])
            for path, mask in self._masks_of(group).items()
        }
        shown: dict[str, spaces.Space[Any]] = {OBSERVATION: space_of(self._of(group, self.observed_fields))}
        if masks:
            shown[MASK] = next(iter(masks.values())) if len(masks) == 1 else spaces.Dict(masks)
        return spaces.Dict(shown)

    def _observations(self) -> dict[str, Any]:
        seen, shown = self.seen(), {}
        for agent in self.agents:
            group, i = self._places[agent]
            own = {
                path: np.asarray(seen[path][0] if field.group is None else seen[path][0, i])
                for path, field in self._of(group, self.observed_fields).items()
            }
            masks = {path: seen[mask][0, i].astype(np.int8) for path, mask in self._masks_of(group).items()}
            shown[agent] = {OBSERVATION: only(own), **({MASK: only(masks)} if masks else {})}
        return shown

    def _joined(self, actions: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
        """By field, `[1, n, ...]`."""
        joined = {}
        for path, field in self.actions.items():
            rows = np.zeros(self.env_spec.array_shape(path, 1), field.dtype)
            for agent, action in actions.items():
                group, i = self._places[self._known(agent)]
                if group == field.group:
                    given = action if isinstance(action, Mapping) else {path: action}
                    rows[0, i] = action_of(path, field, given, field.entry_shape, f" of {agent}")
            joined[path] = rows
        return joined

    def _reward(self, agent: str, values: Mapping[str, NDArray[Any]]) -> float:
        group, i = self._places[agent]
        for path in self.env_spec.rewards():
            field = self.env_spec.fields[path]
            if own_path(path, group) == "reward" and field.group in (group, None):
                return float(values[path][0] if field.group is None else values[path][0, i])
        return 0.0

    def _state_field(self) -> FieldSpec:
        if "state" not in self.env_spec.fields:
            raise ConfigError(f"env={self.name} has no state.")
        return self.env_spec.fields["state"]

    def _known(self, agent: str) -> str:
        if agent not in self._places:
            raise ConfigError(f"There is no agent '{quoted(agent)}'.{suggestion(agent, self._places)}")
        return agent
