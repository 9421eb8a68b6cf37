"""State values of each agent from entities, those that it sees and those of the state, whatever their number."""

from collections.abc import Callable

import torch as th

from modules.critics.values import ValueCritic
from modules.pooling import EntityPooling
from modules.seen_entities import SeenEntities
from modules.state_entities import StateEntities
from utils.meanings import AGENT
from utils.tensors.schemes import as_seen, seen_shape

READER = "critic=state_entities"


class StateEntitiesCritic(ValueCritic):
    """V of what an agent sees, its row of the state, and the state's entities; entities are pooled (`EntityPooling`,
    `critic_pool_dim`).

    With `critic_agent_id=False`, its weights fit any number of agents and other entities.

    Raises:
        ConfigError: as `SeenEntities` and `StateEntities`.
    """

    sees = ("seen", "agent", "entities")

    def _add_parts(self) -> dict[str, int]:
        shapes = {key: seen_shape(self._scheme[key]) for key in self._own}
        self.seen = SeenEntities(READER, shapes, self.args, masked=True)
        self.entities = StateEntities(READER, self.args)
        size = self.args.critic_pool_dim
        self.seen_pool = EntityPooling(self.seen.features, size)
        self.pool = EntityPooling(self.entities.features, size)
        self._read |= {"seen": self._own, "agent": ["state"], "entities": ["state"]}
        self._of_agent |= {"seen", "agent", *(() if self.args.share_critic_params else ("entities",))}
        own = self.seen.own + self.seen_pool.outputs
        return {"seen": own, "agent": self.entities.features[AGENT], "entities": self.pool.outputs}

    def _numbers(self, part: str, field: Callable[[str], th.Tensor], lead: int) -> th.Tensor:
        if part not in self.sees:
            return super()._numbers(part, field, lead)
        return self._of_what_is_seen(field, lead) if part == "seen" else self._of_state(part, field("state"), lead)

    def _of_what_is_seen(self, field: Callable[[str], th.Tensor], lead: int) -> th.Tensor:
        seen = {key: as_seen(self._scheme[key], field(key)) for key in self._own}
        steps = next(iter(seen.values())).shape[:lead]
        own, entities = self.seen.split({key: x.flatten(0, lead - 1) for key, x in seen.items()})
        pooled, _ = self.seen_pool(entities, self.seen.there(own, entities)[:, 1:])
        return th.cat([own, pooled], 1).unflatten(0, steps)

    def _of_state(self, part: str, state: th.Tensor, lead: int) -> th.Tensor:
        of_each = part in self._of_agent
        steps: tuple[int, ...] = tuple(state.shape[: lead - of_each])
        entities, there = self.entities(state.flatten(0, len(steps) - 1))
        if part == "agent":
            return entities[AGENT].transpose(0, 1).unflatten(0, steps)
        if of_each:  # each agent pools by weights of its own
            entities = {kind: x.repeat_interleave(self.n_agents, 1) for kind, x in entities.items()}
            there, steps = there.repeat_interleave(self.n_agents, 0), (*steps, self.n_agents)
        return self.pool(entities, there)[0].unflatten(0, steps)
