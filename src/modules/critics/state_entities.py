"""State values of each agent from the entities of the state, whatever their number."""

from collections.abc import Callable

import torch as th

from modules.critics.values import ValueCritic
from modules.pooling import EntityPooling
from modules.state_entities import StateEntities
from utils.meanings import AGENT


class StateEntitiesCritic(ValueCritic):
    """V of the agent's own row of the state, and of the state's entities, pooled (`EntityPooling`, `critic_pool_dim`).

    With `critic_agent_id=False`, its weights fit any number of agents and other entities.

    Raises:
        ConfigError: as `StateEntities`.
    """

    sees = ("agent", "entities")

    def _add_parts(self) -> dict[str, int]:
        self.entities = StateEntities("critic=state_entities", self.args)
        self.pool = EntityPooling(self.entities.features, self.args.critic_pool_dim)
        self._read |= {part: ["state"] for part in self.sees}
        self._of_agent = {*self._of_agent, "agent", *(() if self.args.share_critic_params else ("entities",))}
        return {"agent": self.entities.features[AGENT], "entities": self.pool.outputs}

    def _numbers(self, part: str, field: Callable[[str], th.Tensor], lead: int) -> th.Tensor:
        if part not in self.sees:
            return super()._numbers(part, field, lead)
        of_each, state = part in self._of_agent, field("state")
        steps = state.shape[: lead - of_each]
        entities, there = self.entities(state.flatten(0, len(steps) - 1))
        if part == "agent":
            return entities[AGENT].transpose(0, 1).unflatten(0, steps)
        if of_each:  # each agent pools by weights of its own
            entities = {kind: x.repeat_interleave(self.n_agents, 1) for kind, x in entities.items()}
            there, steps = there.repeat_interleave(self.n_agents, 0), (*steps, self.n_agents)
        return self.pool(entities, there)[0].unflatten(0, steps)
