"""The state, split by entity, by what the environment declares (`meaning().state`)."""

from typing import Any

import numpy as np
import torch as th

from modules.group_columns import GroupColumns, Place, rows_there
from utils.errors import ConfigError
from utils.meanings import AGENT


class StateEntities(GroupColumns):
    """The entities of states: the agents, then those of other kinds. It has no weights.

    What agents did last is left out, because it has as many numbers as there are actions, and so is what is of no
    entity.

    Args:
        reader: who reads them, for messages: "mixer=transf".
        args: `meaning`, `n_agents`, `state_shape`.

    Attributes:
        features: of each kind, how many one entity has.
        size: E, how many entities there are.

    Raises:
        ConfigError: the environment declares no entities of its state, not each agent, or numbers that are not there.
    """

    def __init__(self, reader: str, args: Any):
        super().__init__()
        groups = () if args.meaning is None else args.meaning.entities
        if not groups or groups[0].kind != AGENT or groups[0].rows != args.n_agents:
            raise ConfigError(f"{reader}: the environment does not say which entities its state has {WHERE}.")
        size = int(np.prod(args.state_shape))
        if (last := max(column for group in groups for row in group.columns for column in row)) >= size:
            raise ConfigError(f"{reader}: meaning() names number {last} of a state of {size} numbers.")
        self._places: dict[str, list[Place]] = {}
        self.features: dict[str, int] = {}
        for group in groups:
            if self.features.setdefault(group.kind, len(group.features)) != len(group.features):
                raise ConfigError(f"{reader}: groups of the kind '{group.kind}' have different features.")
            self._places.setdefault(group.kind, []).append(self.place(group))
        self.size = sum(group.rows for group in groups)

    def forward(self, states: th.Tensor) -> tuple[dict[str, th.Tensor], th.Tensor]:
        """Of states `[N, S]`, the entities by kind, `[rows, N, features]`, and which are there, bool `[N, E]`."""
        flat = {"state": states}
        entities = {kind: self.rows_of(flat, places) for kind, places in self._places.items()}
        return entities, th.cat([rows_there(self._places[kind], x) for kind, x in entities.items()]).T


WHERE = "(meaning(), docs/fields.md)"
